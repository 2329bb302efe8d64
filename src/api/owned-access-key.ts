import type { Condition } from "./conditions.ts";
import type { Metadata } from "./object.ts";
import { isTrueAt, numberAt, parseConditions, recordAt, stringAt, stringsAt } from "./parse.ts";
import { parseRequestedMetadata } from "./requester.ts";
import { type ScopeLimit, parseScopeLimit } from "./scope.ts";
import { SecretText } from "./secret-text.ts";

/**
 * The identity, lifetime and scope of an OwnedAccessKey (specification, OwnedAccessKey); `ttl` in
 * seconds.
 */
export interface OwnedAccessKeySpec {
  readonly user?: string;
  readonly team?: string;
  readonly subject?: string;
  readonly disabled: boolean;
  readonly ttl?: number;
  readonly ttlAfterLastActivity: boolean;
  /** `spec.groups` and `spec.identity.groups`, each name once. */
  readonly groups: readonly string[];
  readonly scope: ScopeLimit;
}

/**
 * An OwnedAccessKey without its key; `status` is as the API server sent it, `lastActivity` is RFC
 * 3339.
 */
interface OwnedAccessKeyBase {
  readonly metadata: Metadata;
  readonly spec: OwnedAccessKeySpec;
  readonly status: Readonly<Record<string, unknown>>;
  readonly conditions: readonly Condition[];
  readonly lastActivity?: string;
}

/** An OwnedAccessKey; `key` is undefined when `spec.key` is absent or empty. */
interface OwnedAccessKey extends OwnedAccessKeyBase {
  readonly key: SecretText | undefined;
}

/**
 * An OwnedAccessKey in a cache, without its key. `keyDigest`, in lower-case hex, is the SHA-256 of
 * a plain key, or the digest bound to the subject that the key acts as: `<first 16 digits of the
 * SHA-256>.<SHA-256 of key, newline and subject>`; undefined without a key. The digest is only for
 * lookups in memory: it must not appear in a status, a log or a label.
 */
export interface ObservedAccessKey extends OwnedAccessKeyBase {
  readonly keyDigest: string | undefined;
  /** Whether `spec.key` is a digest that is not bound, or looks like one; it matches no key. */
  readonly isUnbound?: boolean;
}

/**
 * Parses an OwnedAccessKey from the API server; throws a TypeError that names the missing metadata
 * field.
 */
export function parseOwnedAccessKey(raw: unknown): OwnedAccessKey {
  const spec = recordAt(raw, "spec");
  const status = recordAt(raw, "status");
  const key = stringAt(spec, "key") ?? "";
  const lastActivity = stringAt(status, "lastActivity");
  return {
    metadata: parseRequestedMetadata(raw),
    spec: parseOwnedAccessKeySpec(spec),
    key: key === "" ? undefined : new SecretText(key),
    status,
    conditions: parseConditions(status),
    ...(lastActivity === undefined ? {} : { lastActivity }),
  };
}

/** Parses the identity, lifetime and scope of a key from its `spec`. */
export function parseOwnedAccessKeySpec(
  spec: Readonly<Record<string, unknown>>,
): OwnedAccessKeySpec {
  const ttl = numberAt(spec, "ttl");
  return {
    ...nonEmpty(spec, "user"),
    ...nonEmpty(spec, "team"),
    ...nonEmpty(spec, "subject"),
    disabled: isTrueAt(spec, "disabled"),
    ...(ttl === undefined ? {} : { ttl }),
    ttlAfterLastActivity: isTrueAt(spec, "ttlAfterLastActivity"),
    groups: groupsOf(spec),
    scope: parseScopeLimit(spec["scope"]),
  };
}

/** Shared by all keys without groups, to save memory. */
const noGroups: readonly string[] = [];

function groupsOf(spec: Readonly<Record<string, unknown>>): readonly string[] {
  const named = [
    ...stringsAt(spec, "groups"),
    ...stringsAt(recordAt(spec, "identity"), "groups"),
  ].filter((name) => name !== "");
  return named.length === 0 ? noGroups : [...new Set(named)];
}

function nonEmpty(
  spec: Readonly<Record<string, unknown>>,
  field: "user" | "team" | "subject",
): Record<string, string> {
  const text = stringAt(spec, field) ?? "";
  return text === "" ? {} : { [field]: text };
}

/** The text of `spec.key` of a raw object: a key or a digest; empty without one. */
export function specKeyOf(raw: unknown): string {
  return stringAt(recordAt(raw, "spec"), "key") ?? "";
}
