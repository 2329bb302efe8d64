import { annotations, labels } from "../../api/names.ts";
import type { Metadata, ObjectRef } from "../../api/object.ts";
import type { Source } from "./copy.ts";
import { syncList } from "./sync-list.ts";
import { fitsAny } from "./sync-options.ts";

/** The project a namespace belongs to. */
export function projectOf(namespace: Metadata): string | undefined {
  return namespace.labels[labels.project];
}

/**
 * The namespace as the sync reads it. Where `sync-from` is required, a namespace without it takes
 * copies from nowhere, as one with an empty list does.
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
 * Whether a namespace takes copies: a project namespace that asks for them and is not going away.
 */
export function acceptsCopies(namespace: Metadata): boolean {
  return (
    projectOf(namespace) !== undefined &&
    namespace.annotations[annotations.sync] === "enabled" &&
    namespace.deletionTimestamp === undefined
  );
}

/** Whether a source names this project. */
export function namesProject({ options }: Source, project: string): boolean {
  return fitsAny(project, options.projects);
}

/** Whether both sides agree that this namespace receives this SharedSecret. */
export function isPermitted(source: Source, namespace: Metadata): boolean {
  return acceptsFrom(source, namespace) && namesProject(source, projectOf(namespace) ?? "");
}

/**
 * Whether what can be read leaves no agreement on this SharedSecret here: the namespace does not
 * want it, or the source does not name the project. A list of projects with a mistake in it may
 * have meant to.
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

/** A list that cannot be read names nobody. */
function names(text: string, namespace: string): boolean {
  const list = syncList(text);
  return list.kind === "entries" && list.entries.includes(namespace);
}

/**
 * Whether a source asks for copies at all: it is not being deleted and its annotations can be
 * followed.
 */
export function isEligible({ secret, options }: Source): boolean {
  return (
    secret.metadata.deletionTimestamp === undefined &&
    options.problem === undefined &&
    options.projects.length > 0
  );
}

/** The Secret that a source becomes in a namespace. */
export function targetIn(
  namespace: string,
  source: Source,
): ObjectRef & { readonly namespace: string } {
  return { namespace, name: source.options.secretName };
}
