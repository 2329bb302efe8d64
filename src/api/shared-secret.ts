import type { Condition } from "./conditions.ts";
import type { Metadata } from "./object.ts";
import { listAt, parseConditions, parseOwnMetadata, recordAt, stringAt, stringsAt } from "./parse.ts";
import { SecretText } from "./secret-text.ts";

/** An entry of `spec.access` (specification, SharedSecret); absent lists are empty. */
export interface AccessRule {
  readonly name?: string;
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
  readonly users: readonly string[];
  readonly teams: readonly string[];
}

/** Who owns the object: a user, a team, both or nobody. */
export interface Owner {
  readonly user?: string;
  readonly team?: string;
}

/** The base64 values of a SharedSecret or Secret, under cover. */
export type SecretData = Readonly<Record<string, SecretText>>;

/** A SharedSecret without its data; of its labels and annotations it has Latchkey's own. */
export interface SharedSecret {
  readonly metadata: Metadata;
  readonly owner: Owner;
  readonly access: readonly AccessRule[];
  readonly status: Readonly<Record<string, unknown>>;
  readonly conditions: readonly Condition[];
}

/** Reads a SharedSecret, its data included; throws a TypeError that names a missing metadata field. */
export function parseSharedSecret(raw: unknown): SharedSecret & { readonly data: SecretData } {
  const spec = recordAt(raw, "spec");
  const owner = recordAt(spec, "owner");
  const status = recordAt(raw, "status");
  return {
    metadata: parseOwnMetadata(raw),
    data: parseData(spec),
    owner: { ...optional("user", stringAt(owner, "user")), ...optional("team", stringAt(owner, "team")) },
    access: listAt(spec, "access").map(parseAccessRule),
    status,
    conditions: parseConditions(status),
  };
}

/** The base64 values under `data`, under cover. */
export function parseData(holder: unknown): SecretData {
  const entries = Object.entries(recordAt(holder, "data"));
  return Object.fromEntries(entries.flatMap(([key, value]) => (typeof value === "string" ? [[key, new SecretText(value)]] : [])));
}

function parseAccessRule(rule: unknown): AccessRule {
  return {
    ...optional("name", stringAt(rule, "name")),
    verbs: stringsAt(rule, "verbs"),
    subresources: stringsAt(rule, "subresources"),
    users: stringsAt(rule, "users"),
    teams: stringsAt(rule, "teams"),
  };
}

function optional<K extends string>(field: K, value: string | undefined): { readonly [field in K]?: string } {
  const empty: { readonly [field in K]?: string } = {};
  return value === undefined ? empty : { ...empty, [field]: value };
}
