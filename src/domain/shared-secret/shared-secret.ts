import { recordAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { type FormerGrantee, granteeOfRoleBinding } from "../grants/former-grantee.ts";
import type { Prefixes } from "../access-key/key-identity.ts";
import { mergeConditions } from "../plan/conditions.ts";
import { healthEvents } from "../plan/events.ts";
import type { ReportedFailure } from "../plan/failure-history.ts";
import {
  addFinalizer,
  hasFinalizer,
  planFinalization,
  type FinalizationPhase,
} from "../plan/finalization.ts";
import { nothingToDo, type Plan, type Write, statusWrites } from "../plan/plan.ts";
import type { ClusterSummary } from "../outbox/cluster-sync.ts";
import type { Source } from "../sync/copy.ts";
import { leftoverReason } from "../sync/leftover.ts";
import { type SyncSummary, targetEvents } from "../sync/sync-summary.ts";
import { accessOf } from "./access-rules.ts";
import { type ObservedAccess, accessSteps, narrowingSteps, revokeSteps } from "./access.ts";
import { type DerivedRole, derivedRoles } from "./derived-role.ts";
import {
  type StatusInput,
  failuresOf,
  sharedSecretConditions,
  sharedSecretCounts,
  unremovedSentence,
} from "./shared-secret-status.ts";

/** What every reconcile of a SharedSecret observes. */
interface ObservedSource {
  readonly source: Source;
  readonly access: ObservedAccess;
  readonly prefixes: Prefixes;
  /** The reported failure of writes for this object. */
  readonly failure?: ReportedFailure | undefined;
}

/** The observed state for a reconcile of a SharedSecret. */
export interface ObservedSharedSecret extends ObservedSource {
  /** The Secret at the name of the copy for its readers: of this source, or of somebody else. */
  readonly dataCopy?: "own" | "foreign" | undefined;
  /** Whether its own namespace is terminating, so that nothing can be created there. */
  readonly namespaceIsTerminating: boolean;
  readonly summary: SyncSummary;
  /** What the connected clusters have; absent if the SharedSecret names none. */
  readonly clusters?: ClusterSummary | undefined;
  /** The value of `refresh-now` whose refresh is complete. */
  readonly refreshed?: string;
  /**
   * Since when the status has waited for targets to be written, in milliseconds since the epoch.
   */
  readonly waitingSince?: number;
}

/** Minimum time before, and between, status updates on the progress of a fan-out. */
const progressIntervalMs = 1_000;

/**
 * Whether a status update on progress that has waited since `waitingSince` (milliseconds since the
 * epoch) is due.
 */
export function isProgressDue(waitingSince: number, now: number): boolean {
  return now >= waitingSince + progressIntervalMs;
}

/** Plans a SharedSecret that is not being deleted; `now` is in milliseconds since the epoch. */
export function planSharedSecret(observed: ObservedSharedSecret, now: number): Plan {
  const { metadata } = observed.source.secret;
  if (observed.namespaceIsTerminating) return nothingToDo;
  if (!hasFinalizer(metadata))
    return { ...nothingToDo, steps: [[addFinalizer(resources.sharedSecrets, metadata)]] };
  return planActive(observed, now);
}

/** The observed state for a reconcile of a SharedSecret that is being deleted. */
export interface DeletedSharedSecret extends ObservedSource {
  /** Of its copies that cannot be removed. */
  readonly summary: SyncSummary;
}

/**
 * Plans a SharedSecret that is being deleted: grants and the finalizer are removed by phase, and
 * copies by their own queue.
 */
export function planTermination(
  observed: DeletedSharedSecret,
  at: { readonly phase: FinalizationPhase; readonly now: number },
): Plan {
  const { access } = observed;
  const { secret } = observed.source;
  const { obstacle, fields, events } = leftoversSaid(observed);
  const said = { ...at, failure: observed.failure, obstacle, fields };
  const release = planFinalization(resources.sharedSecrets, secret, said);
  if (!hasFinalizer(secret.metadata)) return release;
  const isKept = at.phase.kind === "keep-grants";
  const steps = [
    events,
    ...(isKept
      ? narrowingSteps({ ...access, secret: secret.metadata }, formerRoles(observed))
      : revokeSteps(access)),
    ...release.steps,
  ];
  return { ...release, steps: steps.filter((step) => step.length > 0) };
}

/** What status and Events of a SharedSecret that is being deleted say of its copies. */
function leftoversSaid({ source: { secret }, summary }: DeletedSharedSecret) {
  const { metadata, status } = secret;
  const before = recordAt(status, "sync");
  const { failures: _failures, unremoved: hadAny, ...sync } = before;
  if (summary.unremoved === 0) return { events: [], fields: hadAny === undefined ? {} : { sync } };
  const obstacle = { reason: leftoverReason, message: unremovedSentence(summary) } as const;
  const isNew = !secret.conditions.some(({ reason }) => reason === leftoverReason);
  const event: Write = {
    do: "record-event",
    event: {
      resource: resources.sharedSecrets,
      subject: metadata,
      type: "Warning",
      reason: leftoverReason,
      note: obstacle.message,
      deduplicationKey: metadata.uid,
    },
  };
  return {
    obstacle,
    fields: { sync: { ...sync, ...failuresOf(summary) } },
    events: [...(isNew ? [event] : []), ...targetEvents(secret, summary)],
  };
}

/** The subjects with access to a SharedSecret: those of its spec and those of its bindings. */
export function granteesOf(observed: ObservedSource): readonly FormerGrantee[] {
  const { source, access } = observed;
  const { metadata } = source.secret;
  const named = formerRoles(observed).map(({ name, permission, subjects }) => ({
    name,
    subjects,
    verb: permission.verbs[0],
  }));
  const bound = access.bindings.map(({ metadata: { name }, subjects }) => {
    const role = access.roles.find((one) => one.metadata.name === name);
    return { name, subjects, verb: role?.rules[0]?.verbs[0] };
  });
  return [...named, ...bound].flatMap(({ name, verb = "get", subjects: [subject] }) =>
    subject === undefined || access.unmanaged.has(name)
      ? []
      : [granteeOfRoleBinding({ ...metadata, name }, { subject, verb })],
  );
}

/**
 * The Roles that a SharedSecret may have had at its deletion: the copy for its readers, which some
 * of them name, is removed meanwhile.
 */
function formerRoles({ source, prefixes }: ObservedSource): readonly DerivedRole[] {
  const { metadata } = source.secret;
  const { grants } = accessOf(source.secret, prefixes);
  const roles = derivedRoles(metadata, grants);
  if (source.followed === undefined) return roles;
  const names = new Set(roles.map(({ name }) => name));
  return [...roles, ...derivedRoles(metadata, grants, true).filter(({ name }) => !names.has(name))];
}

/**
 * Plans the status and Events of a SharedSecret while its plan fails or its Roles and RoleBindings
 * are rejected.
 */
export function planReport(observed: ObservedSharedSecret, now: number): Plan {
  return { ...nothingToDo, steps: reportSteps(statusInputOf(observed), now) };
}

function planActive(observed: ObservedSharedSecret, now: number): Plan {
  const { source, access, summary } = observed;
  const found = statusInputOf(observed);
  const steps = accessSteps({ ...access, secret: source.secret.metadata }, found.wanted);
  // What is said of it would be about data that is not read yet.
  if (source.followed?.state === "unread") return { ...nothingToDo, steps };
  const waiting = summary.pending > 0 && !source.options.paused;
  const since = observed.waitingSince ?? now;
  if (waiting && !isProgressDue(since, now))
    return { steps, result: { kind: "requeue-at", at: since + progressIntervalMs } };
  // Every change of a target requeues its source, so ten thousand waiting sources are not requeued
  // every second.
  return { ...nothingToDo, steps: [...steps, ...reportSteps(found, now)] };
}

function statusInputOf({
  source,
  access,
  prefixes,
  summary,
  clusters,
  refreshed,
  failure,
  dataCopy,
}: ObservedSharedSecret): StatusInput {
  const { grants, problems, emptyRules } = accessOf(source.secret, prefixes);
  const wanted = derivedRoles(source.secret.metadata, grants, dataCopy === "own");
  const nameConflicts = wanted.map(({ name }) => name).filter((name) => access.unmanaged.has(name));
  return {
    source,
    wanted,
    ruleProblems: problems,
    emptyRules,
    nameConflicts,
    dataCopy,
    summary,
    clusters,
    failure,
    ...(refreshed === undefined ? {} : { refreshed }),
  };
}

function reportSteps(found: StatusInput, now: number): readonly (readonly Write[])[] {
  const { secret } = found.source;
  const { metadata } = secret;
  const updates = sharedSecretConditions(found);
  const conditions = mergeConditions(secret.conditions, updates, {
    generation: metadata.generation,
    now,
  });
  const status = {
    observedGeneration: metadata.generation,
    ...sharedSecretCounts(found),
    conditions,
  };
  const context = { resource: resources.sharedSecrets, metadata, existing: secret.conditions };
  const events = [
    ...healthEvents(context, updates, ["Ready", "Synced"]),
    ...clusterEvents(found, healthEvents(context, updates, ["ClustersSynced"])),
    ...targetEvents(secret, found.summary),
  ];
  return [events, statusWrites(resources.sharedSecrets, secret, status)].filter(
    (step) => step.length > 0,
  );
}

/**
 * Events about a problem in connected clusters and its end, apart from those about Ready: a source
 * is Ready while its clusters are in progress. What is invalid is recorded for Ready.
 */
function clusterEvents({ source }: StatusInput, events: readonly Write[]): readonly Write[] {
  if (source.options.problem !== undefined) return [];
  return events.filter((write) => write.do === "record-event" && write.event.limit !== "optional");
}
