import type { Metadata } from "../../api/object.ts";
import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import type { Prefixes } from "../../domain/access-key/key-identity.ts";
import { listedFailures, notObserved, readyOf } from "../../domain/object-state.ts";
import { reportObject } from "../../domain/report-object.ts";
import { explainAccess } from "../../domain/shared-secret/access-rules.ts";
import type { Source } from "../../domain/sync/copy.ts";
import { leftoverReason } from "../../domain/sync/leftover.ts";
import { type Target, namesProject, projectOf, targetIn } from "../../domain/sync/obstacles.ts";
import {
  emptyProjectsOf,
  targetsOf,
  type EmptyProject,
} from "../../domain/sync/observed-target.ts";
import { syncIndexes, type SyncObjects, syncObjectsOf } from "../../domain/sync/sync-objects.ts";
import { fitsAny } from "../../domain/sync/sync-options.ts";
import {
  emptyProjectItems,
  isAtTarget,
  needsNamespace,
  sourceItem,
} from "../../domain/sync/sync-report.ts";
import { keptDataItems } from "./kept-data.ts";
import type { LiveSync } from "./sync-objects.ts";
import { reportedItem, targetItemFor } from "./why-secret.ts";

/** A SharedSecret as it was read, and as the controller parses it. */
interface SeenSource {
  readonly raw: unknown;
  readonly source: Source;
  readonly prefixes: Prefixes;
}

/** Answers for a SharedSecret: its access rules, its sync options, its projects and its targets. */
export function sharedSecretItems(
  { raw, source, prefixes }: SeenSource,
  live: LiveSync,
): readonly ReportItem[] {
  const found = [
    ...explainAccess(source.secret, prefixes),
    ...syncItems(source, live),
    ...unremovedItems(source),
    ...keptDataItems(source.secret.metadata, raw),
  ];
  const isExplained = found.some(({ state }) => state === "problem");
  return [...found, ...(isExplained ? [] : reportedItems(raw, source, live))];
}

function syncItems(source: Source, live: LiveSync): readonly ReportItem[] {
  const own = sourceItem(source);
  if (own !== undefined) return [own];
  const objects = syncObjectsOf(live.snapshot);
  const empty = emptyProjectsOf(source, objects);
  // As in the condition Synced: a project without a target counts if all are.
  const needed = needsNamespace(source, empty) ? empty : [];
  const unmatched = emptyProjectItems(source, empty, objects).filter(
    (_, at) => areNamespacesListed(live) && empty[at]?.namespaces === 0,
  );
  return [
    ...unmatched,
    ...namespacesOf(source, objects).map((namespace) =>
      namespaceItem(source, namespace, { needed, live, objects }),
    ),
    ...placeholdersOf(source, objects).map((target) =>
      targetItemFor(source, { target, objects, missing: live.missing }),
    ),
  ];
}

interface SeenProjects {
  /** Projects without a namespace that accepts the source, if it has no target at all. */
  readonly needed: readonly EmptyProject[];
  readonly live: LiveSync;
  readonly objects: SyncObjects;
}

/**
 * A namespace that does not accept the source is a problem if no other one of its project does: not
 * every namespace of a project has to ask.
 */
function namespaceItem(
  source: Source,
  namespace: Metadata,
  { needed, live, objects }: SeenProjects,
): ReportItem {
  const target = targetIn(namespace.name, source);
  const item = targetItemFor(source, { target, objects, missing: live.missing });
  const project = projectOf(namespace) ?? "";
  const isNeeded = needed.some((one) => fitsAny(project, [one.project]));
  const isOptional = item.state === "problem" && !isAtTarget(item.reason) && !isNeeded;
  return isOptional ? { ...item, state: "info" } : item;
}

/** The namespaces of the projects that the source names. */
function namespacesOf(source: Source, { namespaces }: SyncObjects): readonly Metadata[] {
  return [...namespaces.namesIn(syncIndexes.project)]
    .filter((project) => namesProject(source, project))
    .flatMap((project) => namespaces.by(syncIndexes.project, project))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/** The permitted placeholders that ask for the source, under names of their own. */
function placeholdersOf(source: Source, objects: SyncObjects): readonly Target[] {
  return targetsOf(source, objects).filter(
    ({ namespace, name }) => targetIn(namespace, source).name !== name,
  );
}

/** The Secrets that may not stay and that the controller cannot remove. */
function unremovedItems(source: Source): readonly ReportItem[] {
  return listedFailures(source.secret.status)
    .filter(({ reason }) => reason === leftoverReason)
    .flatMap((target) => reportedItem(source, target) ?? []);
}

/** What the controller reports and no other item explains. */
function reportedItems(raw: unknown, source: Source, live: LiveSync): readonly ReportItem[] {
  const object = reportObject(resources.sharedSecrets.kind, source.secret.metadata);
  const ready = readyOf(raw);
  if (ready === undefined) return [{ object, ...notObserved }];
  const types = areNamespacesListed(live) ? ["Ready"] : ["Ready", "Synced"];
  const failed = source.secret.conditions.filter(
    ({ type, status, reason }) =>
      types.includes(type) && status === "False" && reason !== "Progressing",
  );
  const problems = failed.map(({ type, reason, message }): ReportItem => {
    const field = `status.conditions[${JSON.stringify(type)}]`;
    const causes = [{ object, field, value: reason, reason, message: "Follow the message." }];
    return { object, state: "problem", reason, message, causes };
  });
  const { status, reason, message } = ready;
  return problems.length > 0 || status !== "True"
    ? problems
    : [{ object, state: "ok", reason, message, causes: [] }];
}

/** Whether all namespaces could be read. */
export function areNamespacesListed({ missing }: Pick<LiveSync, "missing">): boolean {
  return !missing.some(
    ({ verb, resource }) => verb === "list" && resource === resources.namespaces,
  );
}
