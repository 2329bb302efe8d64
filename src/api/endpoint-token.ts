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
     * JSON text of `spec.scope`; absent only when the spec has none, and `null`, which no
     * credential is minted for, where it cannot be read.
     */
    readonly scope?: string;
    /** What that text limits the token to. */
    readonly limit: ScopeLimit;
  };
  /** As the API server sent it, but for `token`, which is a SecretText. */
  readonly status: Readonly<Record<string, unknown>>;
  readonly conditions: readonly Condition[];
  /** The SecretText of `status.token`; undefined when it is not set or empty. */
  readonly token: SecretText | undefined;
  /** The kid of the key that signed the last token. */
  readonly keyId: string | undefined;
  /** RFC 3339. */
  readonly expiresAt: string | undefined;
}

/**
 * A DirectClusterEndpointToken as the API server sends it; throws a TypeError that names the
 * missing field of metadata.
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
