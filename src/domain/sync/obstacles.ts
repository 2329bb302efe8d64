import { annotations, labels } from "../../api/names.ts";
import type { Metadata, ObjectRef } from "../../api/object.ts";
import { allowedCopyKeys } from "./copy-metadata.ts";
import type { Source } from "./copy.ts";
import { syncList } from "./option-items.ts";
import { fitsAny } from "./sync-options.ts";

/** The project of a namespace, from its label. */
export function projectOf(namespace: Metadata): string | undefined {
  return namespace.labels[labels.project];
}

/**
 * Stands for a missing `sync-from` where one is required; not a valid list, so it names nothing.
 */
const requiredSyncFrom = "(required)";

/** Options of the controller that decide what namespaces accept. */
export interface NamespaceOptions {
  /** Whether namespaces without `sync-from` accept no copies. */
  readonly requireSyncFrom: boolean;
  /** Keys of labels and annotations that copies may have in every namespace. */
  readonly copyKeys: readonly string[];
}

/**
 * Returns the namespace as sync evaluates it: if `sync-from` is required, a namespace without it
 * accepts no copies, like one with an empty list. Its list of keys also has those that are allowed
 * in every namespace.
 */
export function readNamespace(
  namespace: Metadata,
  { requireSyncFrom, copyKeys }: NamespaceOptions,
): Metadata {
  const { [annotations.allowCopyKeys]: own, ...others } = namespace.annotations;
  const allowed = allowedCopyKeys(own, copyKeys);
  const isClosed = requireSyncFrom && others[annotations.syncFrom] === undefined;
  if (!isClosed && allowed === own) return namespace;
  const given = {
    ...others,
    ...(isClosed ? { [annotations.syncFrom]: requiredSyncFrom } : {}),
    ...(allowed === undefined ? {} : { [annotations.allowCopyKeys]: allowed }),
  };
  return { ...namespace, annotations: given };
}

/**
 * How a namespace asks for copies: by its annotation for every permitted source, or by the labels
 * of a Secret, the placeholder, for one source.
 */
export type SyncMode = "namespace" | "placeholder";

/** Why a source is synced to no namespace. */
export type SourceObstacle =
  | "source-deleting"
  | "source-invalid"
  | "source-not-allowed"
  | "not-offered";

/** Why a namespace receives no copy of a source. */
export type NamespaceObstacle =
  | "namespace-terminating"
  | "no-project"
  | "sync-not-enabled"
  | "sync-from-required"
  | "sync-from-invalid"
  | "sync-from-excludes"
  | "project-not-named";

/** What keeps a source from being synced at all; undefined if nothing does. */
export function sourceObstacle({ secret, options }: Source): SourceObstacle | undefined {
  if (secret.metadata.deletionTimestamp !== undefined) return "source-deleting";
  if (options.problem !== undefined) return "source-invalid";
  if (options.refusal !== undefined) return "source-not-allowed";
  return options.projects.length > 0 ? undefined : "not-offered";
}

/**
 * What keeps a namespace from receiving a source that asks to be synced; undefined if both sides
 * agree. A later obstacle is only returned if there is no earlier one.
 */
export function namespaceObstacle(
  source: Source,
  namespace: Metadata,
  mode: SyncMode = "namespace",
): NamespaceObstacle | undefined {
  return (
    terminationObstacle(namespace) ??
    membershipObstacle(namespace) ??
    requestObstacle(namespace, mode) ??
    fromObstacle(source.secret.metadata, namespace) ??
    projectObstacle(source, namespace)
  );
}

/**
 * What keeps a namespace from filling a placeholder from a source, whatever the source permits:
 * says nothing about a source that the namespace may not know.
 */
export function placeholderObstacle(
  source: ObjectRef,
  namespace: Metadata,
): NamespaceObstacle | undefined {
  return (
    terminationObstacle(namespace) ??
    membershipObstacle(namespace) ??
    fromObstacle(source, namespace)
  );
}

/** Everything that has to change before a namespace receives a source, in the same order. */
export function namespaceObstacles(
  source: Source,
  namespace: Metadata,
  mode: SyncMode = "namespace",
): readonly NamespaceObstacle[] {
  const isMember = membershipObstacle(namespace) === undefined;
  return [
    terminationObstacle(namespace),
    membershipObstacle(namespace),
    requestObstacle(namespace, mode),
    fromObstacle(source.secret.metadata, namespace),
    isMember ? projectObstacle(source, namespace) : undefined,
  ].filter((obstacle) => obstacle !== undefined);
}

/**
 * What keeps a namespace from receiving anything, from any SharedSecret; not what depends on where
 * it comes from.
 */
export function ownObstacles(
  namespace: Metadata,
  mode: SyncMode = "namespace",
): readonly NamespaceObstacle[] {
  const from = fromObstacle({ name: "" }, namespace);
  return [
    terminationObstacle(namespace),
    membershipObstacle(namespace),
    requestObstacle(namespace, mode),
    from === "sync-from-excludes" ? undefined : from,
  ].filter((obstacle) => obstacle !== undefined);
}

function terminationObstacle({ deletionTimestamp }: Metadata): NamespaceObstacle | undefined {
  return deletionTimestamp === undefined ? undefined : "namespace-terminating";
}

function membershipObstacle(namespace: Metadata): NamespaceObstacle | undefined {
  return projectOf(namespace) === undefined ? "no-project" : undefined;
}

function requestObstacle(
  namespace: Metadata,
  mode: SyncMode = "namespace",
): NamespaceObstacle | undefined {
  const asks = mode === "placeholder" || namespace.annotations[annotations.sync] === "enabled";
  return asks ? undefined : "sync-not-enabled";
}

/** An invalid list contains no namespace. */
function fromObstacle(source: ObjectRef, namespace: Metadata): NamespaceObstacle | undefined {
  const from = namespace.annotations[annotations.syncFrom];
  if (from === undefined) return undefined;
  if (from === requiredSyncFrom) return "sync-from-required";
  const list = syncList(from);
  if (list.kind === "refused") return "sync-from-invalid";
  return list.entries.includes(source.namespace ?? "") ? undefined : "sync-from-excludes";
}

function projectObstacle(source: Source, namespace: Metadata): NamespaceObstacle | undefined {
  return namesProject(source, projectOf(namespace) ?? "") ? undefined : "project-not-named";
}

/**
 * Whether a namespace accepts copies: it has a project, sync is enabled, and it is not terminating.
 */
export function acceptsCopies(namespace: Metadata): boolean {
  return (
    (terminationObstacle(namespace) ??
      membershipObstacle(namespace) ??
      requestObstacle(namespace)) === undefined
  );
}

/** Whether the globs of a source match this project. */
export function namesProject({ options }: Source, project: string): boolean {
  return fitsAny(project, options.projects);
}

/** Whether both sides agree that this namespace receives this SharedSecret. */
export function isPermitted(source: Source, namespace: Metadata, mode?: SyncMode): boolean {
  return namespaceObstacle(source, namespace, mode) === undefined;
}

/**
 * Whether the sync to this namespace is certainly not permitted: the namespace does not accept it,
 * or the source does not name the project. An invalid list of projects might name it.
 */
export function isNotPermitted(source: Source, namespace: Metadata, mode?: SyncMode): boolean {
  const obstacle = namespaceObstacle(source, namespace, mode);
  const mightBeNamed = source.options.projectsAreUnreadable === true;
  return obstacle !== undefined && !(mightBeNamed && obstacle === "project-not-named");
}

/**
 * Whether a source can be synced: it is not being deleted, its options are valid and it names a
 * project.
 */
export function isEligible(source: Source): boolean {
  return sourceObstacle(source) === undefined;
}

/** A Secret in a namespace. */
export interface Target extends ObjectRef {
  readonly namespace: string;
}

/** The target Secret of a source in a namespace. */
export function targetIn(namespace: string, source: Source): Target {
  return { namespace, name: source.options.secretName };
}

/** Whether a SharedSecret is being deleted. */
export function isBeingDeleted({ secret }: Source): boolean {
  return secret.metadata.deletionTimestamp !== undefined;
}
