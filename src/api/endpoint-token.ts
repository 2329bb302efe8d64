import type { Condition } from "./conditions.ts";
import type { Metadata } from "./object.ts";
import { numberAt, parseConditions, recordAt, stringAt } from "./parse.ts";
import { parseRequestedMetadata } from "./requester.ts";
import { parseScopeLimit, type ScopeLimit } from "./scope.ts";
import { SecretText } from "./secret-text.ts";

/** A DirectClusterEndpointToken (specification, DirectClusterEndpointToken). */
export interface EndpointToken {
  readonly metadata: Metadata;
  readonly spec: {
    /** Seconds. */
    readonly ttl?: number;
    /**
     * JSON text of `spec.scope`; absent without a scope; `null` for an invalid scope, for which no
     * token is minted.
     */
    readonly scope?: string;
    /** The parsed scope. */
    readonly limit: ScopeLimit;
  };
  /** The status as the API server sent it, except `token`, which is a SecretText. */
  readonly status: Readonly<Record<string, unknown>>;
  readonly conditions: readonly Condition[];
  /** The SecretText of `status.token`; undefined if it is not set or empty. */
  readonly token: SecretText | undefined;
  /** The kid of the key that signed the last token. */
  readonly keyId: string | undefined;
  /** RFC 3339. */
  readonly expiresAt: string | undefined;
}

/**
 * Parses a DirectClusterEndpointToken from the API server; throws a TypeError that names the
 * missing metadata field.
 */
export function parseEndpointToken(raw: unknown): EndpointToken {
  const spec = recordAt(raw, "spec");
  const sent = recordAt(raw, "status");
  const text = stringAt(sent, "token");
  const token = text === undefined ? undefined : new SecretText(text);
  const ttl = numberAt(spec, "ttl");
  const scope = spec["scope"];
  const limit = parseScopeLimit(scope);
  return {
    metadata: parseRequestedMetadata(raw),
    spec: {
      ...(ttl === undefined ? {} : { ttl }),
      ...(scope === undefined
        ? {}
        : { scope: limit === "unreadable" ? "null" : JSON.stringify(scope) }),
      limit,
    },
    status: token === undefined ? sent : { ...sent, token },
    conditions: parseConditions(sent),
    token: token === undefined || token.isEmpty ? undefined : token,
    keyId: stringAt(sent, "keyID"),
    expiresAt: stringAt(sent, "expiresAt"),
  };
}
