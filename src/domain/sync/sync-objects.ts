import { labels } from "../../api/names.ts";
import { type Key, keyOf, type Metadata } from "../../api/object.ts";
import {
  copiedSource,
  type ObservedCopy,
  type Source,
  type UnmanagedSecret,
  type TargetSecret,
} from "./copy.ts";
import { dataCopyRef, followedKey } from "./data-copy.ts";
import { projectOf } from "./obstacles.ts";
import { placeholderRequestOf } from "./placeholder.ts";

/** Objects of one kind by key, and by the values of indexes. */
interface Lookup<T> {
  get(key: Key): T | undefined;
  keys(): Iterable<Key>;
  /** The objects with the index value `name`. */
  by(index: string, name: string): readonly T[];
  /** The keys of the objects with the index value `name`. */
  keysBy(index: string, name: string): readonly Key[];
  /** All values of an index. */
  namesIn(index: string): Iterable<string>;
}

/** The objects that decide which copies exist. */
export interface SyncObjects {
  readonly sharedSecrets: Lookup<Source>;
  /** As {@link readNamespace} returns them. */
  readonly namespaces: Lookup<Metadata>;
  /** Secrets with Latchkey's label. */
  readonly copies: Lookup<ObservedCopy>;
  /** Secrets without Latchkey's label that ask to be filled. */
  readonly placeholders: Lookup<ObservedCopy>;
  /** All other Secrets; those that are no target may be missing. */
  readonly unmanagedSecrets: Lookup<UnmanagedSecret>;
  /**
   * Whether a source that is not among these may exist all the same, so that its copies are left
   * alone: an agent knows only what the outbox says.
   */
  readonly keepsUnknown?: true;
}

/** Names of the indexes of {@link SyncObjects}. */
export const syncIndexes = {
  uid: "uid",
  namespace: "namespace",
  secretName: "secret-name",
  source: "source",
  project: "project",
  request: "request",
  dataFrom: "data-from",
  dataCopy: "data-copy",
} as const;

/** The index values of each kind of {@link SyncObjects}. */
export const syncIndexers = {
  sharedSecrets: {
    [syncIndexes.uid]: ({ secret }: Source) => [secret.metadata.uid],
    [syncIndexes.namespace]: ({ secret }: Source) => [secret.metadata.namespace ?? ""],
    [syncIndexes.secretName]: ({ options }: Source) => [options.secretName],
    [syncIndexes.dataFrom]: (source: Source) => indexedBy(followedKey(source)),
    [syncIndexes.dataCopy]: (source: Source) =>
      source.followed === undefined ? [] : [keyOf(dataCopyRef(source.secret.metadata))],
  },
  namespaces: {
    [syncIndexes.project]: (namespace: Metadata) => indexedBy(projectOf(namespace)),
  },
  copies: {
    [syncIndexes.source]: namedSource,
    [syncIndexes.namespace]: ({ metadata }: ObservedCopy) => [metadata.namespace ?? ""],
    [syncIndexes.request]: requestedKeys,
  },
  placeholders: {
    [syncIndexes.source]: namedSource,
    [syncIndexes.namespace]: ({ metadata }: ObservedCopy) => [metadata.namespace ?? ""],
    [syncIndexes.request]: requestedKeys,
  },
  unmanagedSecrets: {
    [syncIndexes.source]: namedSource,
    [syncIndexes.namespace]: ({ metadata }: UnmanagedSecret) => [metadata.namespace ?? ""],
  },
} as const;

/** The key in the annotation of a copy; without the annotation, the uid in its label. */
function namedSource({ metadata }: TargetSecret): readonly string[] {
  const source = copiedSource(metadata);
  return indexedBy(source === undefined ? metadata.labels[labels.sourceUid] : keyOf(source));
}

function requestedKeys({ metadata }: ObservedCopy): readonly string[] {
  const source = placeholderRequestOf(metadata)?.source;
  return source === undefined ? [] : [keyOf(source)];
}

/** Index values from at most one value. */
export function indexedBy(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}

type Indexers<T> = Readonly<Record<string, (value: T) => readonly string[]>>;

/** The objects of sync, as they were read at one moment. */
export interface SyncSnapshot {
  readonly sharedSecrets: readonly Source[];
  readonly namespaces: readonly Metadata[];
  readonly secrets: readonly TargetSecret[];
  /** As in {@link SyncObjects}. */
  readonly keepsUnknown?: true;
}

/** The objects of a snapshot, with their indexes. */
export function syncObjectsOf(snapshot: SyncSnapshot): SyncObjects {
  const secrets = snapshot.secrets.map((secret) => [keyOf(secret.metadata), secret] as const);
  const select = <T>(of: (secret: TargetSecret) => T | undefined): readonly (readonly [Key, T])[] =>
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
    ...(snapshot.keepsUnknown && { keepsUnknown: true }),
  };
}

/** Changes of objects by key; undefined for an object that is deleted. */
interface SyncChanges {
  readonly sharedSecrets?: ReadonlyMap<Key, Source | undefined>;
  readonly namespaces?: ReadonlyMap<Key, Metadata | undefined>;
  readonly secrets?: ReadonlyMap<Key, TargetSecret | undefined>;
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
    ...(objects.keepsUnknown && { keepsUnknown: true }),
  };
}

function copyIn(secret: TargetSecret): ObservedCopy | undefined {
  return "digest" in secret && isLabelled(secret) ? secret : undefined;
}

function placeholderIn(secret: TargetSecret): ObservedCopy | undefined {
  return "digest" in secret && !isLabelled(secret) ? secret : undefined;
}

function unmanagedIn(secret: TargetSecret): UnmanagedSecret | undefined {
  return "digest" in secret ? undefined : secret;
}

function isLabelled({ metadata }: TargetSecret): boolean {
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
