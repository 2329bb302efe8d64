import { labels } from "../../api/names.ts";
import { type Key, keyOf, type Metadata, type ObjectRef } from "../../api/object.ts";
import type { ObservedCopy, Source, UnmanagedSecret } from "./copy.ts";
import { type Lookup, observeTarget, type SyncObjects, syncIndexers } from "./sync-objects.ts";
import type { ObservedTarget } from "./target-state.ts";

type Indexers<T> = Readonly<Record<string, (value: T) => readonly string[]>>;

/** Live objects, as they were read at one moment. */
export interface SyncSnapshot {
  readonly sharedSecrets: readonly Source[];
  readonly namespaces: readonly Metadata[];
  readonly secrets: readonly (ObservedCopy | UnmanagedSecret)[];
}

/** The objects of a snapshot, with their indexes. */
export function syncObjectsOf(snapshot: SyncSnapshot): SyncObjects {
  const secrets = snapshot.secrets.map((secret) => [keyOf(secret.metadata), secret] as const);
  const select = <T>(of: (secret: Stored) => T | undefined): readonly (readonly [Key, T])[] =>
    secrets.flatMap(([key, secret]) => {
      const selected = of(secret);
      return selected === undefined ? [] : [[key, selected] as const];
    });
  return {
    sharedSecrets: indexed(
      snapshot.sharedSecrets.map((source) => [keyOf(source.secret.metadata), source]),
      syncIndexers.sharedSecrets,
    ),
    namespaces: indexed(
      snapshot.namespaces.map((namespace) => [namespace.name, namespace]),
      syncIndexers.namespaces,
    ),
    copies: indexed(select(copyIn), syncIndexers.copies),
    placeholders: indexed(select(placeholderIn), syncIndexers.placeholders),
    unmanagedSecrets: indexed(select(unmanagedIn), syncIndexers.unmanagedSecrets),
  };
}

/** Changes of objects by key; undefined for an object that is deleted. */
interface SyncChanges {
  readonly sharedSecrets?: ReadonlyMap<Key, Source | undefined>;
  readonly namespaces?: ReadonlyMap<Key, Metadata | undefined>;
  readonly secrets?: ReadonlyMap<Key, ObservedCopy | UnmanagedSecret | undefined>;
}

/** The objects after these changes; those before are not copied. */
export function withChanges(objects: SyncObjects, changes: SyncChanges): SyncObjects {
  const { sharedSecrets, namespaces, secrets } = changes;
  return {
    sharedSecrets: overlaid(objects.sharedSecrets, sharedSecrets, syncIndexers.sharedSecrets),
    namespaces: overlaid(objects.namespaces, namespaces, syncIndexers.namespaces),
    copies: overlaid(objects.copies, mapped(secrets, copyIn), syncIndexers.copies),
    placeholders: overlaid(
      objects.placeholders,
      mapped(secrets, placeholderIn),
      syncIndexers.placeholders,
    ),
    unmanagedSecrets: overlaid(
      objects.unmanagedSecrets,
      mapped(secrets, unmanagedIn),
      syncIndexers.unmanagedSecrets,
    ),
  };
}

/** The state of a target with another Secret, or without one. */
export function observeInstead(
  target: ObjectRef,
  secret: Stored | undefined,
  objects: SyncObjects,
): ObservedTarget {
  return observeTarget(
    target,
    withChanges(objects, { secrets: new Map([[keyOf(target), secret]]) }),
  );
}

type Stored = ObservedCopy | UnmanagedSecret;

function copyIn(secret: Stored): ObservedCopy | undefined {
  return "digest" in secret && isLabelled(secret) ? secret : undefined;
}

function placeholderIn(secret: Stored): ObservedCopy | undefined {
  return "digest" in secret && !isLabelled(secret) ? secret : undefined;
}

function unmanagedIn(secret: Stored): UnmanagedSecret | undefined {
  return "digest" in secret ? undefined : secret;
}

function isLabelled({ metadata }: Stored): boolean {
  return metadata.labels[labels.sourceUid] !== undefined;
}

function mapped<T, R>(
  changes: ReadonlyMap<Key, T | undefined> | undefined,
  of: (value: T) => R | undefined,
): ReadonlyMap<Key, R | undefined> | undefined {
  if (changes === undefined) return undefined;
  return new Map(
    [...changes].map(([key, value]) => [key, value === undefined ? undefined : of(value)]),
  );
}

function indexed<T>(entries: readonly (readonly [Key, T])[], indexers: Indexers<T>): Lookup<T> {
  const objects = new Map(entries);
  const indexes = new Map(
    Object.entries(indexers).map(([index, namesOf]) => [index, keysByName(objects, namesOf)]),
  );
  const keysBy = (index: string, name: string): readonly Key[] =>
    indexes.get(index)?.get(name) ?? [];
  return {
    get: (key) => objects.get(key),
    keys: () => objects.keys(),
    by: (index, name) => keysBy(index, name).flatMap((key) => objects.get(key) ?? []),
    keysBy,
    namesIn: (index) => indexes.get(index)?.keys() ?? [],
  };
}

function keysByName<T>(
  objects: ReadonlyMap<Key, T>,
  namesOf: Indexers<T>[string],
): ReadonlyMap<string, readonly Key[]> {
  const named = new Map<string, Key[]>();
  for (const [key, object] of objects) {
    for (const name of namesOf(object)) {
      const keys = named.get(name);
      if (keys === undefined) named.set(name, [key]);
      else keys.push(key);
    }
  }
  return named;
}

function overlaid<T>(
  base: Lookup<T>,
  changes: ReadonlyMap<Key, T | undefined> = new Map(),
  indexers: Indexers<T>,
): Lookup<T> {
  if (changes.size === 0) return base;
  const added = indexed(
    [...changes].flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
    indexers,
  );
  const get = (key: Key): T | undefined => (changes.has(key) ? changes.get(key) : base.get(key));
  const keysBy = (index: string, name: string): readonly Key[] => [
    ...base.keysBy(index, name).filter((key) => !changes.has(key)),
    ...added.keysBy(index, name),
  ];
  return {
    get,
    *keys() {
      for (const key of base.keys()) if (!changes.has(key)) yield key;
      yield* added.keys();
    },
    by: (index, name) => keysBy(index, name).flatMap((key) => get(key) ?? []),
    keysBy,
    namesIn: (index) => new Set([...base.namesIn(index), ...added.namesIn(index)]),
  };
}
