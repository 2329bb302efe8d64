import { annotations, labels } from "../../api/names.ts";
import type { Metadata, ObjectRef } from "../../api/object.ts";
import type { Source } from "./copy.ts";
import { syncList } from "./sync-list.ts";
import { fitsAny } from "./sync-options.ts";

/** The project of a namespace, from its label. */
export function projectOf(namespace: Metadata): string | undefined {
  return namespace.labels[labels.project];
}

/**
 * Returns the namespace as sync evaluates it: if `sync-from` is required, a namespace without it
 * accepts no copies, like one with an empty list.
 */
export function readNamespace(
  namespace: Metadata,
  { requireSyncFrom }: { readonly requireSyncFrom: boolean },
): Metadata {
  if (!requireSyncFrom || namespace.annotations[annotations.syncFrom] !== undefined)
    return namespace;
  return { ...namespace, annotations: { ...namespace.annotations, [annotations.syncFrom]: "" } };
}

/**
 * Whether a namespace accepts copies: it has a project, sync is enabled, and it is not terminating.
 */
export function acceptsCopies(namespace: Metadata): boolean {
  return (
    projectOf(namespace) !== undefined &&
    namespace.annotations[annotations.sync] === "enabled" &&
    namespace.deletionTimestamp === undefined
  );
}

/** Whether the globs of a source match this project. */
export function namesProject({ options }: Source, project: string): boolean {
  return fitsAny(project, options.projects);
}

/** Whether both sides agree that this namespace receives this SharedSecret. */
export function isPermitted(source: Source, namespace: Metadata): boolean {
  return acceptsFrom(source, namespace) && namesProject(source, projectOf(namespace) ?? "");
}

/**
 * Whether the sync to this namespace is certainly not permitted: the namespace does not accept it,
 * or the source does not name the project. An invalid list of projects might name it.
 */
export function isNotPermitted(source: Source, namespace: Metadata): boolean {
  const named =
    source.options.projectsAreUnreadable === true ||
    namesProject(source, projectOf(namespace) ?? "");
  return !named || !acceptsFrom(source, namespace);
}

function acceptsFrom({ secret }: Source, namespace: Metadata): boolean {
  const from = namespace.annotations[annotations.syncFrom];
  return (
    acceptsCopies(namespace) && (from === undefined || names(from, secret.metadata.namespace ?? ""))
  );
}

/** An invalid list contains no namespace. */
function names(text: string, namespace: string): boolean {
  const list = syncList(text);
  return list.kind === "entries" && list.entries.includes(namespace);
}

/**
 * Whether a source can be synced: it is not being deleted, its options are valid and it names a
 * project.
 */
export function isEligible({ secret, options }: Source): boolean {
  return (
    secret.metadata.deletionTimestamp === undefined &&
    options.problem === undefined &&
    options.projects.length > 0
  );
}

/** The target Secret of a source in a namespace. */
export function targetIn(
  namespace: string,
  source: Source,
): ObjectRef & { readonly namespace: string } {
  return { namespace, name: source.options.secretName };
}
