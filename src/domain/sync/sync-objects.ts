import { annotations, labels } from "../../api/names.ts";
import { byAge, type Key, keyOf, type Metadata, type ObjectRef } from "../../api/object.ts";
import { copiedSource, type ObservedCopy, type Source, type UnmanagedSecret } from "./copy.ts";
import { fitsAny } from "./sync-options.ts";
import type { EmptyProject } from "./sync-summary.ts";
import type { ObservedTarget } from "./sync.ts";
import {
  acceptsCopies,
  isEligible,
  isNotPermitted,
  isPermitted,
  namesProject,
  projectOf,
  targetIn,
} from "./sync-target.ts";

/** Objects of one kind by key, and by the values of indexes. */
export interface Lookup<T> {
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
  /** Secrets without Latchkey's label; those that are no target may be missing. */
  readonly unmanagedSecrets: Lookup<UnmanagedSecret>;
}

/** Names of the indexes of {@link SyncObjects}. */
export const syncIndexes = {
  uid: "uid",
  namespace: "namespace",
  secretName: "secret-name",
  sourceUid: "source-uid",
  project: "project",
} as const;

/** The index values of each kind of {@link SyncObjects}. */
export const syncIndexers = {
  sharedSecrets: {
    [syncIndexes.uid]: ({ secret }: Source) => [secret.metadata.uid],
    [syncIndexes.namespace]: ({ secret }: Source) => [secret.metadata.namespace ?? ""],
    [syncIndexes.secretName]: ({ options }: Source) => [options.secretName],
  },
  namespaces: {
    [syncIndexes.project]: (namespace: Metadata) => valuesOf(projectOf(namespace)),
  },
  copies: {
    [syncIndexes.sourceUid]: ({ metadata }: ObservedCopy) =>
      valuesOf(metadata.labels[labels.sourceUid]),
    [syncIndexes.namespace]: ({ metadata }: ObservedCopy) => [metadata.namespace ?? ""],
  },
  unmanagedSecrets: {
    [syncIndexes.sourceUid]: ({ metadata }: UnmanagedSecret) => valuesOf(claimedKey(metadata)),
    [syncIndexes.namespace]: ({ metadata }: UnmanagedSecret) => [metadata.namespace ?? ""],
  },
} as const;

function claimedKey(metadata: Metadata): Key | undefined {
  const claimed = copiedSource(metadata);
  return claimed === undefined ? undefined : keyOf(claimed);
}

function valuesOf(value: string | undefined): readonly string[] {
  return value === undefined ? [] : [value];
}

/** The permitted targets of a source, in the namespaces of the projects that its globs match. */
export function targetsOf(
  source: Source,
  { namespaces }: Pick<SyncObjects, "namespaces">,
): readonly (ObjectRef & { readonly namespace: string })[] {
  if (!isEligible(source)) return [];
  return [...namespaces.namesIn(syncIndexes.project)]
    .filter((project) => namesProject(source, project))
    .flatMap((project) => namespaces.by(syncIndexes.project, project))
    .filter((namespace) => isPermitted(source, namespace))
    .map(({ name }) => targetIn(name, source));
}

/** The projects that a source names and that have no namespace that accepts its copies. */
export function emptyProjectsOf(
  source: Source,
  { namespaces }: Pick<SyncObjects, "namespaces">,
): readonly EmptyProject[] {
  if (!isEligible(source)) return [];
  return source.options.projects.flatMap((glob) => {
    const projects = glob.includes("*")
      ? [...namespaces.namesIn(syncIndexes.project)].filter((project) => fitsAny(project, [glob]))
      : [glob];
    const inProject = projects
      .flatMap((project) => namespaces.by(syncIndexes.project, project))
      .filter(({ deletionTimestamp }) => deletionTimestamp === undefined);
    if (inProject.some((namespace) => isPermitted(source, namespace))) return [];
    return [
      {
        project: glob,
        namespaces: inProject.length,
        accepting: inProject.filter(acceptsCopies).length,
      },
    ];
  });
}

/** The sources that sync to the Secret `target`, the oldest first. */
export function candidatesFor(
  target: ObjectRef,
  { namespaces, sharedSecrets }: Pick<SyncObjects, "namespaces" | "sharedSecrets">,
): readonly Source[] {
  const namespace = namespaces.get(target.namespace ?? "");
  if (namespace === undefined || !acceptsCopies(namespace)) return [];
  return sharedSecrets
    .by(syncIndexes.secretName, target.name)
    .filter((source) => isEligible(source) && isPermitted(source, namespace))
    .sort((one, other) => byAge(one.secret, other.secret));
}

/** The observed state of the Secret `target`. */
export function observeTarget(target: ObjectRef, objects: SyncObjects): ObservedTarget {
  const key = keyOf(target);
  const namespace = objects.namespaces.get(target.namespace ?? "");
  const copy = objects.copies.get(key);
  const unmanaged = copy === undefined ? objects.unmanagedSecrets.get(key) : undefined;
  const owner = ownerOf(copy ?? unmanaged, objects);
  const ownerIsNotPermitted =
    owner !== undefined && namespace !== undefined && isNotPermitted(owner, namespace);
  const allowCopyKeys = namespace?.annotations[annotations.allowCopyKeys];
  return {
    candidates: candidatesFor(target, objects),
    ...(copy === undefined ? {} : { copy }),
    ...(unmanaged === undefined ? {} : { unmanaged }),
    ...(owner === undefined ? {} : { owner, ownerIsNotPermitted }),
    isTerminating: namespace === undefined || namespace.deletionTimestamp !== undefined,
    ...(allowCopyKeys === undefined ? {} : { allowCopyKeys }),
  };
}

function ownerOf(
  existing: ObservedCopy | UnmanagedSecret | undefined,
  { sharedSecrets }: Pick<SyncObjects, "sharedSecrets">,
): Source | undefined {
  if (existing === undefined) return undefined;
  const uid = existing.metadata.labels[labels.sourceUid];
  const byUid = uid === undefined ? undefined : sharedSecrets.by(syncIndexes.uid, uid)[0];
  if (byUid !== undefined) return byUid;
  // The label is missing or was edited: the annotation of the copy decides.
  const claimed = copiedSource(existing.metadata);
  return claimed === undefined ? undefined : sharedSecrets.get(keyOf(claimed));
}

/** Every copy of this source, by label or, if the label is missing, by annotation. */
export function copiesOf(
  { secret }: Source,
  { copies, unmanagedSecrets }: Pick<SyncObjects, "copies" | "unmanagedSecrets">,
): readonly (ObservedCopy | UnmanagedSecret)[] {
  const labelled = copies
    .by(syncIndexes.sourceUid, secret.metadata.uid)
    .filter(({ metadata }) => copiedSource(metadata) !== undefined);
  return [...labelled, ...unmanagedSecrets.by(syncIndexes.sourceUid, keyOf(secret.metadata))];
}

/** Whether the existing Secret is one of {@link copiesOf} a source that is being deleted. */
export function isDeletedWithSource(observed: ObservedTarget): boolean {
  const { owner, copy, unmanaged } = observed;
  const existing = copy ?? unmanaged;
  if (owner?.secret.metadata.deletionTimestamp === undefined || existing === undefined)
    return false;
  const claimed = copiedSource(existing.metadata);
  const uid = existing.metadata.labels[labels.sourceUid];
  return claimed !== undefined && (uid === undefined || uid === owner.secret.metadata.uid);
}

/** The keys of {@link copiesOf}, and of Secrets that only have the label of the source. */
export function copyKeysOf(
  { secret }: Source,
  { copies, unmanagedSecrets }: Pick<SyncObjects, "copies" | "unmanagedSecrets">,
): readonly Key[] {
  return [
    ...copies.keysBy(syncIndexes.sourceUid, secret.metadata.uid),
    ...unmanagedSecrets.keysBy(syncIndexes.sourceUid, keyOf(secret.metadata)),
  ];
}
