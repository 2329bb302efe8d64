import { annotations, labels } from "../../api/names.ts";
import { byAge, type Key, keyOf, type Metadata, type ObjectRef, refOf } from "../../api/object.ts";
import {
  copiedSource,
  type ObservedCopy,
  type Source,
  type UnmanagedSecret,
  type TargetSecret,
} from "./copy.ts";
import {
  acceptsCopies,
  isEligible,
  isNotPermitted,
  isPermitted,
  namesProject,
  type NamespaceObstacle,
  placeholderObstacle,
  projectOf,
  type Target,
  targetIn,
} from "./obstacles.ts";
import { dataCopyRef, dataCopySource, keepsDataCopy } from "./data-copy.ts";
import { asksFor, type PlaceholderRequest, placeholderRequestOf } from "./placeholder.ts";
import { syncIndexes, type SyncObjects, withChanges } from "./sync-objects.ts";
import { fitsAny } from "./sync-options.ts";

/** The observed state of one target Secret. */
export interface ObservedTarget {
  /** Eligible and permitted sources, the oldest first. */
  readonly candidates: readonly Source[];
  /** The existing Secret, if it has Latchkey's label or is a placeholder. */
  readonly copy?: ObservedCopy | undefined;
  /** The existing Secret, if it is none of these. */
  readonly unmanaged?: UnmanagedSecret | undefined;
  /** The SharedSecret that the existing Secret says it is a copy of, if it exists. */
  readonly owner?: Source | undefined;
  /**
   * Whether the owner is certainly not permitted to sync here, even if its annotations were valid.
   */
  readonly ownerIsNotPermitted?: boolean;
  /**
   * The source that the existing Secret is a copy of, if it is not in the store but may exist all
   * the same.
   */
  readonly unknownSource?: ObjectRef | undefined;
  /** Whether the namespace is terminating. */
  readonly isTerminating: boolean;
  /** The annotation `allow-copy-keys` of the namespace, with the keys of `--copy-keys`. */
  readonly allowCopyKeys?: string | undefined;
  /** What the existing Secret asks for, if it is a placeholder. */
  readonly request?: ObservedRequest | undefined;
  /** A SharedSecret that follows the Secret, whether or not it exists. */
  readonly follower?: ObjectRef | undefined;
}

/** The request of the existing Secret at a target, and what stands against it. */
export interface ObservedRequest extends PlaceholderRequest {
  /** The source that it asks for, if the source permits it, whether or not it can be synced. */
  readonly permitted?: Source | undefined;
  /** What in its own namespace keeps it from being filled. */
  readonly obstacle?: NamespaceObstacle | undefined;
  /** The project of its namespace. */
  readonly project?: string | undefined;
}

/**
 * The permitted targets of a source, in the namespaces of the projects that its globs match, and
 * the placeholders that ask for it there.
 */
export function targetsOf(source: Source, objects: SyncObjects): readonly Target[] {
  if (!isEligible(source)) return [];
  const { namespaces } = objects;
  const targets = [...namespaces.namesIn(syncIndexes.project)]
    .filter((project) => namesProject(source, project))
    .flatMap((project) => namespaces.by(syncIndexes.project, project))
    .filter((namespace) => isPermitted(source, namespace))
    .map(({ name }) => targetIn(name, source));
  const filled = filledBy(source, objects);
  if (filled.length === 0) return targets;
  const others = new Set(targets.map(keyOf));
  return [...targets, ...filled.filter((target) => !others.has(keyOf(target)))];
}

/** The permitted placeholders that ask for a source. */
function filledBy(source: Source, objects: SyncObjects): readonly Target[] {
  return requestsFor(source.secret.metadata, objects).flatMap((key) => {
    const { namespace: name = "", name: secret } = refOf(key);
    const namespace = objects.namespaces.get(name);
    return namespace !== undefined && isPermitted(source, namespace, "placeholder")
      ? [{ namespace: name, name: secret }]
      : [];
  });
}

/** The keys of the placeholders that ask for a SharedSecret, permitted or not. */
export function requestsFor(
  sharedSecret: ObjectRef,
  { copies, placeholders }: SyncObjects,
): readonly Key[] {
  const key = keyOf(sharedSecret);
  return [
    ...copies.keysBy(syncIndexes.request, key),
    ...placeholders.keysBy(syncIndexes.request, key),
  ];
}

/** A project of a source, by name or glob, without a namespace for its copies. */
export interface EmptyProject {
  readonly project: string;
  /** Namespaces that belong to it. */
  readonly namespaces: number;
  /** Number of those that accept copies, but not from the namespace of the source. */
  readonly accepting: number;
}

/** The projects that a source names and that have no namespace that accepts its copies. */
export function emptyProjectsOf(source: Source, objects: SyncObjects): readonly EmptyProject[] {
  if (!isEligible(source)) return [];
  const { namespaces } = objects;
  const filled = new Set(filledBy(source, objects).map(({ namespace }) => namespace));
  return source.options.projects.flatMap((glob) => {
    const projects = glob.includes("*")
      ? [...namespaces.namesIn(syncIndexes.project)].filter((project) => fitsAny(project, [glob]))
      : [glob];
    const inProject = projects
      .flatMap((project) => namespaces.by(syncIndexes.project, project))
      .filter(({ deletionTimestamp }) => deletionTimestamp === undefined);
    const hasTarget = (namespace: Metadata): boolean =>
      filled.has(namespace.name) || isPermitted(source, namespace);
    if (inProject.some(hasTarget)) return [];
    return [
      {
        project: glob,
        namespaces: inProject.length,
        accepting: inProject.filter(acceptsCopies).length,
      },
    ];
  });
}

/**
 * The sources that sync to the Secret `target` unless it is a placeholder, the oldest first; before
 * them the one whose readers have it.
 */
export function candidatesFor(
  target: ObjectRef,
  { namespaces, sharedSecrets }: SyncObjects,
): readonly Source[] {
  const namespace = namespaces.get(target.namespace ?? "");
  if (namespace === undefined) return [];
  const readers = sharedSecrets
    .by(syncIndexes.dataCopy, keyOf(target))
    .flatMap((source) => dataCopySource(source) ?? []);
  if (!acceptsCopies(namespace)) return readers;
  const synced = sharedSecrets
    .by(syncIndexes.secretName, target.name)
    .filter((source) => isEligible(source) && isPermitted(source, namespace))
    .sort((one, other) => byAge(one.secret, other.secret));
  return readers.length === 0 ? synced : [...readers, ...synced];
}

/** Whether a Secret is the copy for the readers of this source. */
export function isDataCopyOf({ secret }: Source, target: ObjectRef): boolean {
  return keyOf(dataCopyRef(secret.metadata)) === keyOf(target);
}

/** The existing Secret at a target. */
export function existingAt({ copy, unmanaged }: ObservedTarget): TargetSecret | undefined {
  return copy ?? unmanaged;
}

/** The existing Secret of this key. */
export function secretAt(key: Key, objects: SyncObjects): TargetSecret | undefined {
  return wholeAt(key, objects) ?? objects.unmanagedSecrets.get(key);
}

function wholeAt(key: Key, { copies, placeholders }: SyncObjects): ObservedCopy | undefined {
  return copies.get(key) ?? placeholders.get(key);
}

/** The observed state of the Secret `target`. */
export function observeTarget(target: ObjectRef, objects: SyncObjects): ObservedTarget {
  const key = keyOf(target);
  const namespace = objects.namespaces.get(target.namespace ?? "");
  const copy = wholeAt(key, objects);
  const unmanaged = copy === undefined ? objects.unmanagedSecrets.get(key) : undefined;
  const owner = ownerOf(copy ?? unmanaged, objects);
  const request = copy === undefined ? undefined : requestAt(copy, namespace, objects);
  const mode = request === undefined ? "namespace" : "placeholder";
  const ownerIsNotPermitted =
    owner !== undefined &&
    (isDataCopyOf(owner, target)
      ? !keepsDataCopy(owner)
      : namespace !== undefined && isNotPermitted(owner, namespace, mode));
  const [follower] = objects.sharedSecrets.by(syncIndexes.dataFrom, key);
  return {
    candidates:
      request === undefined
        ? candidatesFor(target, objects)
        : [request.permitted].filter((source) => source !== undefined).filter(isEligible),
    request,
    copy,
    unmanaged,
    owner,
    ownerIsNotPermitted,
    unknownSource: owner === undefined ? unknownSourceOf(copy ?? unmanaged, objects) : undefined,
    isTerminating: namespace === undefined || namespace.deletionTimestamp !== undefined,
    allowCopyKeys: namespace?.annotations[annotations.allowCopyKeys],
    follower: follower?.secret.metadata,
  };
}

/** The source of a copy that is not in the store, where that does not mean that it is gone. */
function unknownSourceOf(
  existing: TargetSecret | undefined,
  { keepsUnknown }: SyncObjects,
): ObjectRef | undefined {
  return existing !== undefined && keepsUnknown === true
    ? copiedSource(existing.metadata)
    : undefined;
}

/** What a Secret in a namespace asks for; undefined if it is no placeholder. */
function requestAt(
  { metadata }: ObservedCopy,
  namespace: Metadata | undefined,
  { sharedSecrets }: SyncObjects,
): ObservedRequest | undefined {
  const request = placeholderRequestOf(metadata);
  if (request?.source === undefined || namespace === undefined) return request;
  const source = sharedSecrets.get(keyOf(request.source));
  const isAllowed = source !== undefined && isPermitted(source, namespace, "placeholder");
  return {
    ...request,
    permitted: isAllowed ? source : undefined,
    obstacle: placeholderObstacle(request.source, namespace),
    project: projectOf(namespace),
  };
}

/**
 * The SharedSecret that a Secret says it is a copy of: by its annotation, whatever its label says;
 * without the annotation, by the label. Undefined if it does not exist.
 */
export function ownerOf(
  existing: TargetSecret | undefined,
  { sharedSecrets }: SyncObjects,
): Source | undefined {
  if (existing === undefined) return undefined;
  const source = copiedSource(existing.metadata);
  if (source !== undefined) return sharedSecrets.get(keyOf(source));
  const uid = existing.metadata.labels[labels.sourceUid];
  return uid === undefined ? undefined : sharedSecrets.by(syncIndexes.uid, uid)[0];
}

/**
 * Every copy of this source by annotation, whatever its label says; without placeholders that ask
 * for another one.
 */
export function copiesOf(
  { secret }: Source,
  { copies, placeholders, unmanagedSecrets }: SyncObjects,
): readonly TargetSecret[] {
  const key = keyOf(secret.metadata);
  return [copies, placeholders, unmanagedSecrets]
    .flatMap((secrets) => secrets.by(syncIndexes.source, key))
    .filter(({ metadata: copy }) => !asksForOther(copy, secret.metadata));
}

function asksForOther(copy: Metadata, source: ObjectRef): boolean {
  const request = placeholderRequestOf(copy);
  return request !== undefined && !asksFor(request, source);
}

/** The keys of every Secret whose annotation names this source, whatever its label says. */
export function annotatedKeysOf({ secret }: Source, objects: SyncObjects): readonly Key[] {
  return keysNaming(keyOf(secret.metadata), objects);
}

/** These keys, and those of Secrets that only have the label of the source. */
export function copyKeysOf(source: Source, objects: SyncObjects): readonly Key[] {
  const labelled = keysNaming(source.secret.metadata.uid, objects);
  return [...annotatedKeysOf(source, objects), ...labelled];
}

function keysNaming(
  name: string,
  { copies, placeholders, unmanagedSecrets }: SyncObjects,
): readonly Key[] {
  return [copies, placeholders, unmanagedSecrets].flatMap((secrets) =>
    secrets.keysBy(syncIndexes.source, name),
  );
}

/** The state of a target with another Secret, or without one. */
export function observeInstead(
  target: ObjectRef,
  secret: TargetSecret | undefined,
  objects: SyncObjects,
): ObservedTarget {
  return observeTarget(
    target,
    withChanges(objects, { secrets: new Map([[keyOf(target), secret]]) }),
  );
}
