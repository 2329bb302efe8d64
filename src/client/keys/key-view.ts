import { annotations } from "../../api/names.ts";
import { parseOwnedAccessKeySpec } from "../../api/owned-access-key.ts";
import {
  isTrueAt,
  numberAt,
  parseMetadata,
  recordAt,
  stringAt,
  stringMapAt,
} from "../../api/parse.ts";
import { boundSubjectOf } from "../../domain/access-key/key-digest.ts";
import { unscopedText } from "../../domain/access-key/unscoped-key.ts";
import { instantOf, lifetimeStart } from "../../domain/lifetime.ts";
import type { OwnColumns } from "../objects/listing.ts";
import type { Described } from "../objects/object-actions.ts";
import { endText } from "../output.ts";
import { scopeText } from "./scope-options.ts";

/** The columns of a list about what a key or token is for, who made it and what limits it. */
export function termColumns(
  replaces: readonly string[],
  name: string,
  cellOf: (object: unknown) => string | undefined,
): OwnColumns {
  return {
    replaces,
    names: [name, "REQUESTER", "SCOPE"],
    cellsOf: (object) => [cellOf(object) ?? "", requesterOf(object) ?? "", scopeOfStored(object)],
  };
}

/** The columns of `keys list`. */
export const keyColumns = termColumns(["USER", "TEAM", "SUBJECT"], "SUBJECT", (object) =>
  boundSubjectOf(parseOwnedAccessKeySpec(recordAt(object, "spec"))),
);

/** The recorded requester of a key or token. */
export function requesterOf(object: unknown): string | undefined {
  return stringMapAt(recordAt(object, "metadata"), "annotations")[annotations.requester];
}

/** The scope of a key or token in the width of a column. */
export function scopeOfStored(object: unknown): string {
  const { scope } = parseOwnedAccessKeySpec(recordAt(object, "spec"));
  return scopeText(scope, unscopedOf(object));
}

/** What a key or a token without a scope may do. */
export function unscopedOf(object: unknown): string {
  const given = stringMapAt(recordAt(object, "metadata"), "annotations");
  const terms = parseOwnedAccessKeySpec(recordAt(object, "spec"));
  const requester = given[annotations.requester];
  const isToken = boundSubjectOf(terms) === undefined && requester !== undefined;
  return unscopedText(isToken ? { user: requester } : terms, {
    hasParent: given[annotations.requesterKeyId] !== undefined,
  });
}

/** The lines of `keys describe`. */
export function keyLines(object: unknown): Described {
  const metadata = recordAt(object, "metadata");
  const spec = recordAt(object, "spec");
  const status = recordAt(object, "status");
  const given = stringMapAt(metadata, "annotations");
  return [
    ["Display name", stringAt(spec, "displayName")],
    ["Description", stringAt(spec, "description")],
    ["User", stringAt(spec, "user")],
    ["Team", stringAt(spec, "team")],
    ["Subject", stringAt(spec, "subject")],
    ["Issuer", given[annotations.issuer]],
    ["Claims", given[annotations.claims]?.trim().replaceAll("\n", ", ")],
    ...requestLines(object),
    ["Disabled", spec["disabled"] === true ? "yes" : "no"],
    ["Last used", stringAt(status, "lastActivity") ?? "never"],
    ["Key ID", stringAt(metadata, "uid")],
  ];
}

/**
 * The lines about what was asked for and until when it is valid, of a key or a token; `unsetTtl` is
 * the lifetime in seconds without `spec.ttl`, 0 if there is then no end.
 */
export function requestLines(object: unknown, unsetTtl = 0): Described {
  const spec = recordAt(object, "spec");
  const end = keyEnd({ ttl: unsetTtl, ...spec }, object);
  const isScoped = parseOwnedAccessKeySpec(spec).scope !== "none";
  const scope = isScoped ? JSON.stringify(spec["scope"]) : unscopedOf(object);
  return [
    ["Requester", requesterOf(object)],
    ["Scope", scope],
    ["Created", stringAt(recordAt(object, "metadata"), "creationTimestamp")],
    ["Expires", end.startsWith("ends ") ? end.slice("ends ".length) : "never"],
  ];
}

/**
 * When a key ends, as the predicate of a sentence; `object` is undefined if it could not be read.
 */
export function keyEnd(spec: Readonly<Record<string, unknown>>, object: unknown): string {
  const status = recordAt(object, "status");
  const isIdle = isTrueAt(spec, "ttlAfterLastActivity");
  const lastUse = isIdle ? instantOf(stringAt(status, "lastActivity")) : undefined;
  return endText({
    ttl: numberAt(spec, "ttl") ?? 0,
    isIdle,
    startsAt: lastUse ?? (object === undefined ? 0 : lifetimeStart(parseMetadata(object))),
    endsAt: instantOf(stringAt(status, "expiresAt")),
  });
}

/**
 * The name of a successor: that of the key without the suffix of an earlier rotation, and a time.
 */
export function successorName(name: string, now: number): string {
  const time = new Date(now)
    .toISOString()
    .replaceAll(/[^0-9]/g, "")
    .slice(2, 14);
  return `${name.replace(/-r\d{12}$/, "")}-r${time}`;
}

/** The fields of a spec that a successor takes over: not what is secret, and not `disabled`. */
export function successorSpec(
  spec: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const kept = Object.entries(spec).filter(
    ([field]) => !["key", "disabled", "oidcLogin", "identity", "identityRefresh"].includes(field),
  );
  return Object.fromEntries(kept);
}

/**
 * The `ttl` with which a key ends after an overlap, in whole seconds from its start; undefined if
 * it ends earlier anyway. Instants in milliseconds since the epoch, the overlap in seconds.
 */
export function endingTtl({
  now,
  overlap,
  startsAt,
  endsAt,
}: {
  readonly now: number;
  readonly overlap: number;
  readonly startsAt: number;
  readonly endsAt: number | undefined;
}): number | undefined {
  const end = now + overlap * 1000;
  if (endsAt !== undefined && endsAt <= end) return undefined;
  return Math.max(1, Math.ceil((end - startsAt) / 1000));
}
