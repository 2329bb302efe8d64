import type { Condition } from "./conditions.ts";
import { type MetadataKey, unknownKeys } from "./known-keys.ts";
import { annotations } from "./names.ts";
import type { Metadata } from "./object.ts";
import {
  listAt,
  parseConditions,
  parseLatchkeyMetadata,
  recordAt,
  stringAt,
  stringsAt,
} from "./parse.ts";
import { SecretText } from "./secret-text.ts";

/** An entry of `spec.access` (specification, SharedSecret); absent lists are empty. */
export interface AccessRule {
  readonly name?: string;
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
  readonly users: readonly string[];
  readonly teams: readonly string[];
}

/** The owner of the object: a user, a team, both or neither. */
export interface Owner {
  readonly user?: string;
  readonly team?: string;
}

/** The data of a SharedSecret or Secret: base64 values as SecretTexts. */
export type SecretData = Readonly<Record<string, SecretText>>;

/**
 * Maximum number of data keys of a synced SharedSecret, so that reading them does not block the
 * event loop.
 */
export const mostDataKeys = 10_000;

/** A SharedSecret without its data; it has only Latchkey's labels and annotations. */
export interface SharedSecret {
  readonly metadata: Metadata;
  /**
   * A label or annotation of Latchkey's group that has no effect, if the object does not ask to be
   * synced.
   */
  readonly unknownKey?: MetadataKey;
  readonly owner: Owner;
  readonly access: readonly AccessRule[];
  readonly status: Readonly<Record<string, unknown>>;
  readonly conditions: readonly Condition[];
}

/**
 * A SharedSecret with its data. `keys` is the number of its data keys; `data` contains at most
 * {@link mostDataKeys} + 1 of them.
 */
export interface SharedSecretWithData extends SharedSecret {
  readonly data: SecretData;
  readonly keys: number;
}

/**
 * Parses a SharedSecret with its data; throws a TypeError that names the missing metadata field.
 */
export function parseSharedSecret(raw: unknown): SharedSecretWithData {
  const spec = recordAt(raw, "spec");
  const status = recordAt(raw, "status");
  const metadata = parseLatchkeyMetadata(raw);
  const { syncToProjects, syncToClusters } = annotations;
  const { [syncToProjects]: projects, [syncToClusters]: clusters } = metadata.annotations;
  const [unknownKey] =
    projects === undefined && clusters === undefined ? unknownKeys("SharedSecret", raw) : [];
  return {
    metadata,
    ...(unknownKey === undefined ? {} : { unknownKey }),
    ...readData(spec),
    owner: parseOwner(spec),
    access: listAt(spec, "access").map(parseAccessRule),
    status,
    conditions: parseConditions(status),
  };
}

/**
 * Parses `data` into SecretTexts, at most {@link mostDataKeys} + 1; omits values that are not
 * strings.
 */
export function parseData(object: unknown): SecretData {
  return readData(object).data;
}

function readData(object: unknown): { readonly data: SecretData; readonly keys: number } {
  const data = recordAt(object, "data");
  const keys = Object.keys(data);
  const read = keys.slice(0, mostDataKeys + 1).flatMap((key) => {
    const value = Object.hasOwn(data, key) ? data[key] : undefined;
    // An object of a file that the API server has not answered yet has SecretTexts.
    if (value instanceof SecretText) return value.isBase64 ? [[key, value]] : [];
    const text = stringAt(data, key);
    return text === undefined ? [] : [[key, new SecretText(text)]];
  });
  return { data: Object.fromEntries(read), keys: keys.length };
}

/** Parses `owner` of a spec. */
export function parseOwner(spec: unknown): Owner {
  const owner = recordAt(spec, "owner");
  return {
    ...optional("user", stringAt(owner, "user")),
    ...optional("team", stringAt(owner, "team")),
  };
}

/** Parses an entry of `spec.access`. */
export function parseAccessRule(rule: unknown): AccessRule {
  return {
    ...optional("name", stringAt(rule, "name")),
    verbs: stringsAt(rule, "verbs"),
    subresources: stringsAt(rule, "subresources"),
    users: stringsAt(rule, "users"),
    teams: stringsAt(rule, "teams"),
  };
}

function optional<K extends string>(
  field: K,
  value: string | undefined,
): { readonly [field in K]?: string } {
  const empty: { readonly [field in K]?: string } = {};
  return value === undefined ? empty : { ...empty, [field]: value };
}
