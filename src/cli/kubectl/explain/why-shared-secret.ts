import type { Metadata } from "../../../api/object.ts";
import { resources } from "../../../api/resources.ts";
import type { Prefixes } from "../../../domain/names.ts";
import { notObserved } from "../../../domain/object-state.ts";
import { explainAccess } from "../../../domain/shared-secret/explain-access.ts";
import type { Source } from "../../../domain/sync/copy.ts";
import { explainSource, type Target } from "../../../domain/sync/explain.ts";
import { isAtTarget, reasonOf } from "../../../domain/sync/outcome-reasons.ts";
import { causesOf, emptyProjectCause, factsOf } from "../../../domain/sync/outcome-texts.ts";
import {
  emptyProjectsOf,
  syncIndexes,
  type SyncObjects,
  targetsOf,
} from "../../../domain/sync/sync-objects.ts";
import { syncObjectsOf } from "../../../domain/sync/sync-snapshot.ts";
import { type EmptyProject, emptyProjectsSentence } from "../../../domain/sync/sync-summary.ts";
import { namesProject, projectOf, targetIn } from "../../../domain/sync/sync-target.ts";
import { fitsAny } from "../../../domain/sync/sync-options.ts";
import { readyOf } from "../keys/key-view.ts";
import type { LiveSync } from "./sync-objects.ts";
import { type Finding, named } from "./why-report.ts";
import { targetFinding } from "./why-secret.ts";

/** A SharedSecret as it was read, and as the controller parses it. */
interface SeenSource {
  readonly raw: unknown;
  readonly source: Source;
  readonly prefixes: Prefixes;
}

/** Answers for a SharedSecret: its access rules, its sync options, its projects and its targets. */
export function sharedSecretFindings(
  { raw, source, prefixes }: SeenSource,
  live: LiveSync,
): readonly Finding[] {
  const found = [...accessFindings(source, prefixes), ...syncFindings(source, live)];
  const isExplained = found.some(({ state }) => state === "problem");
  return [...found, ...(isExplained ? [] : reportedFindings(raw, source, live))];
}

/** The access rules that grant nothing. */
export function accessFindings({ secret }: Source, prefixes: Prefixes): readonly Finding[] {
  const object = named(resources.sharedSecrets.kind, secret.metadata);
  return explainAccess(secret, prefixes).map((explained) => ({
    ...{ object, ...explained },
    state: explained.reason === "InvalidAccessRule" ? "problem" : "info",
  }));
}

/** Why a SharedSecret is synced nowhere; none if its targets decide. */
export function sourceFindings(source: Source): readonly Finding[] {
  const object = named(resources.sharedSecrets.kind, source.secret.metadata);
  const own = explainSource(source);
  if (own === undefined) return [];
  return [
    {
      ...{ object, state: own.kind === "not-offered" ? "info" : "problem" },
      ...{ reason: reasonOf(own), sentence: factsOf(own), causes: causesOf(own) },
    },
  ];
}

/** The projects without a namespace that accepts copies: a problem if that is so for all. */
export function emptyProjectFindings(
  source: Source,
  empty: readonly EmptyProject[],
): readonly Finding[] {
  const { metadata } = source.secret;
  const isProblem = empty.length === source.options.projects.length;
  return empty.map((project) => ({
    object: named(resources.sharedSecrets.kind, metadata),
    state: isProblem ? "problem" : "info",
    reason: "ProjectWithoutNamespace",
    sentence: `${emptyProjectsSentence([project], metadata.namespace ?? "")}.`,
    causes: [emptyProjectCause(source, project.project)],
  }));
}

function syncFindings(source: Source, live: LiveSync): readonly Finding[] {
  const own = sourceFindings(source);
  if (own.length > 0) return own;
  const objects = syncObjectsOf(live.snapshot);
  const empty = emptyProjectsOf(source, objects);
  // As in the condition Synced: a project without a target counts if all are.
  const needed = empty.length === source.options.projects.length ? empty : [];
  const unmatched = emptyProjectFindings(source, empty).filter(
    (_, at) => areNamespacesListed(live) && empty[at]?.namespaces === 0,
  );
  return [
    ...unmatched,
    ...namespacesOf(source, objects).map((namespace) =>
      placeFinding(source, namespace, { needed, live, objects }),
    ),
    ...placeholdersOf(source, objects).map((target) =>
      targetFinding(source, { target, objects, missing: live.missing }),
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
function placeFinding(
  source: Source,
  namespace: Metadata,
  { needed, live, objects }: SeenProjects,
): Finding {
  const target = targetIn(namespace.name, source);
  const finding = targetFinding(source, { target, objects, missing: live.missing });
  const project = projectOf(namespace) ?? "";
  const isNeeded = needed.some((one) => fitsAny(project, [one.project]));
  const isOptional = finding.state === "problem" && !isAtTarget(finding.reason) && !isNeeded;
  return isOptional ? { ...finding, state: "info" } : finding;
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

/** What the controller reports and no other finding explains. */
function reportedFindings(raw: unknown, source: Source, live: LiveSync): readonly Finding[] {
  const object = named(resources.sharedSecrets.kind, source.secret.metadata);
  const ready = readyOf(raw);
  if (ready === undefined) return [{ object, state: "unknown", ...notObserved, causes: [] }];
  const types = areNamespacesListed(live) ? ["Ready"] : ["Ready", "Synced"];
  const failed = source.secret.conditions.filter(
    ({ type, status, reason }) =>
      types.includes(type) && status === "False" && reason !== "Progressing",
  );
  const problems = failed.map(({ type, reason, message }): Finding => {
    const field = `status.conditions[${JSON.stringify(type)}]`;
    const causes = [{ object, field, found: reason, reason, fix: "Follow the message" }];
    return { object, state: "problem", reason, sentence: message, causes };
  });
  const { status, reason, message } = ready;
  return problems.length > 0 || status !== "True"
    ? problems
    : [{ object, state: "ok", reason, sentence: message, causes: [] }];
}

/** Whether all namespaces could be read. */
export function areNamespacesListed({ missing }: Pick<LiveSync, "missing">): boolean {
  return !missing.some(
    ({ verb, resource }) => verb === "list" && resource === resources.namespaces,
  );
}
