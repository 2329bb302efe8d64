import type { ConditionUpdate, Reason } from "../../api/conditions.ts";
import { annotations } from "../../api/names.ts";
import { keyOf } from "../../api/object.ts";
import { applyFailureSentence, reconciling, stalled } from "../plan/conditions.ts";
import { contestedReason } from "../plan/failed-request.ts";
import type { ReportedFailure } from "../plan/failure-history.ts";
import { withheldText } from "../sync/copy-metadata.ts";
import { clustersCondition, type ClusterSummary } from "../outbox/cluster-sync.ts";
import { meantKey, unknownKeySentence } from "../unknown-key.ts";
import type { Followed, Source } from "../sync/copy.ts";
import { dataCopyRef } from "../sync/data-copy.ts";
import { mostSourceChanges } from "../sync/source-pace.ts";
import { leftoverReason } from "../sync/leftover.ts";
import { emptyProjectsSentence, type SyncSummary } from "../sync/sync-summary.ts";
import type { DerivedRole } from "./derived-role.ts";

/** The input for the status of a SharedSecret. */
export interface StatusInput {
  readonly source: Source;
  readonly wanted: readonly DerivedRole[];
  /** Access rules that cannot be granted, one sentence each. */
  readonly ruleProblems: readonly string[];
  /** Access rules without users and teams. */
  readonly emptyRules: readonly string[];
  /** Names of derived objects that exist and are not managed by Latchkey. */
  readonly nameConflicts: readonly string[];
  /** The Secret at the name of the copy for its readers: of this source, or of somebody else. */
  readonly dataCopy?: "own" | "foreign" | undefined;
  readonly summary: SyncSummary;
  /** What the connected clusters have; absent if the SharedSecret names none. */
  readonly clusters?: ClusterSummary | undefined;
  /** The value of `refresh-now` whose refresh is complete. */
  readonly refreshed?: string;
  /** The reported failure of writes of Roles and RoleBindings. */
  readonly failure?: ReportedFailure | undefined;
}

/** What is wrong with a source: its options, its data, or the Secret that it follows. */
function problemOf({ options }: Source): Problem | undefined {
  return options.problem ?? options.refusal;
}

interface Problem {
  readonly reason: Reason;
  readonly message: string;
}

/**
 * The conditions of a SharedSecret. Problems at targets are in the message of Ready and do not make
 * Ready False.
 */
export function sharedSecretConditions(input: StatusInput): readonly ConditionUpdate[] {
  const access = accessProblem(input);
  const sync = problemOf(input.source);
  const problems = [access, sync].filter((problem) => problem !== undefined);
  const { source, clusters } = input;
  const elsewhere = clusters === undefined ? undefined : clustersCondition(source, clusters);
  return [
    accessCondition(input, access),
    syncCondition(input, elsewhere),
    ...(elsewhere === undefined ? [] : [elsewhere]),
    ...readyConditions(input, problems),
  ];
}

function accessProblem(input: StatusInput): Problem | undefined {
  const { source, ruleProblems, nameConflicts, dataCopy, failure } = input;
  const taken = [
    ...nameConflicts.map((name) => `Role or RoleBinding ${JSON.stringify(name)}`),
    ...(dataCopy === "foreign"
      ? [`Secret ${JSON.stringify(dataCopyRef(source.secret.metadata).name)}`]
      : []),
  ];
  const conflicts = taken.map(
    (what) => `${what} already exists and is not managed by Latchkey; delete it`,
  );
  const failed = failure === undefined ? undefined : writeProblem(failure);
  const reason =
    ruleProblems.length > 0
      ? "InvalidAccessRule"
      : conflicts.length > 0
        ? "NameConflict"
        : (failed?.reason ?? "ApplyFailed");
  const sentences = [
    ...ruleProblems,
    ...conflicts,
    ...(failed === undefined ? [] : [failed.message]),
  ];
  return sentences.length === 0 ? undefined : { reason, message: sentences.join("; ") };
}

function writeProblem(failure: ReportedFailure): Problem {
  switch (failure.kind) {
    case "refused":
      return {
        reason: "AccessRejected",
        message: `the API server rejected a Role or RoleBinding: ${failure.message}`,
      };
    case "too-large":
      return {
        reason: "TooLarge",
        message:
          `spec.access: the RoleBinding is too large for the API server: ${failure.message}. ` +
          "Name fewer users and teams in rules with the same verbs",
      };
    case "failed":
      return { reason: "ApplyFailed", message: applyFailureSentence(failure) };
  }
}

function accessCondition(input: StatusInput, problem: Problem | undefined): ConditionUpdate {
  if (problem !== undefined) return { type: "AccessApplied", status: "False", ...problem };
  return {
    type: "AccessApplied",
    status: "True",
    reason: "Applied",
    message: accessSentence(input),
  };
}

/** Without a target here, it is the clusters that decide, where the source has one. */
function syncCondition(
  { source, summary, clusters }: StatusInput,
  elsewhere: ConditionUpdate | undefined,
): ConditionUpdate {
  const { options } = source;
  const condition = (
    status: "True" | "False",
    reason: Reason,
    message: string,
  ): ConditionUpdate => ({
    type: "Synced",
    status,
    reason,
    message,
  });
  if (options.problem !== undefined)
    return condition("False", options.problem.reason, options.problem.message);
  if (summary.unremoved > 0)
    return condition("False", leftoverReason, syncSentence(source, summary));
  if (options.refusal !== undefined)
    return condition("False", options.refusal.reason, options.refusal.message);
  if (options.projects.length === 0) return { type: "Synced", ...notRequested(source) };
  if (options.paused)
    return condition(
      "False",
      "Paused",
      `annotation ${annotations.disableSync} is "true", so sync is paused`,
    );
  if (hasNoTargets(source, summary)) {
    const { status, reason, message } = elsewhere ?? {};
    return status !== undefined && reason !== undefined && clusters?.counts.named
      ? condition(status, reason, `${syncSentence(source, summary)}; ${message}`)
      : condition("False", "NoTargets", syncSentence(source, summary));
  }
  if (summary.pending > 0) return condition("False", "Progressing", syncSentence(source, summary));
  if (summary.conflicts > 0) return condition("False", "Conflict", syncSentence(source, summary));
  const isContested = summary.failures.every(({ reason }) => reason === contestedReason);
  if (summary.failed > 0)
    return condition(
      "False",
      isContested ? contestedReason : "Failed",
      syncSentence(source, summary),
    );
  if (source.followed?.changesOften === true)
    return condition("False", "SourceChangesOften", changesOftenSentence(source.followed));
  return condition("True", "Synced", syncSentence(source, summary));
}

function changesOftenSentence({ name }: Followed): string {
  return (
    `Secret ${JSON.stringify(name)} changes more than ${mostSourceChanges.count} times ` +
    "in a minute, so copies follow it slowly, with the latest value"
  );
}

/** That a source names no project, and why its other labels and annotations do not help. */
function notRequested({ secret, options }: Source): Omit<ConditionUpdate, "type"> {
  const { unknownKey } = secret;
  const isMeant =
    unknownKey?.field === "annotations" ||
    (unknownKey !== undefined && meantKey("SharedSecret", unknownKey) !== undefined);
  if (unknownKey !== undefined && isMeant) {
    const message = unknownKeySentence("SharedSecret", unknownKey);
    return { status: "False", reason: "UnknownAnnotation", message };
  }
  const message = `annotation ${annotations.syncToProjects} names no project`;
  return options.clusters.length === 0
    ? { status: "True", reason: "NotRequested", message }
    : { status: "False", reason: "NotRequested", message: `${message}, so it goes to no cluster` };
}

function readyConditions(
  input: StatusInput,
  problems: readonly Problem[],
): readonly ConditionUpdate[] {
  const { source, summary } = input;
  if (problems.length > 0) {
    const message = problems.map((problem) => problem.message).join("; ");
    const lasting = problems.find(({ reason }) => reason !== "ApplyFailed");
    return lasting === undefined
      ? reconciling("ApplyFailed", message)
      : stalled(lasting.reason, message);
  }
  const hasAccess = input.wanted.length > 0 || input.emptyRules.length > 0;
  const parts = [
    ...(hasAccess ? [accessSentence(input)] : []),
    ...(hasSync(input) ? [syncSentence(source, summary)] : []),
  ];
  const message = parts.length === 0 ? "no access rule and no project is set" : parts.join("; ");
  if (summary.pending === 0 || source.options.paused)
    return [{ type: "Ready", status: "True", reason: "Ready", message }];
  return reconciling("Progressing", message);
}

function hasSync({ source, summary }: StatusInput): boolean {
  return source.options.projects.length > 0 || summary.unremoved > 0;
}

function accessSentence({ wanted, emptyRules }: StatusInput): string {
  const granted =
    wanted.length === 0
      ? "no access rule grants access"
      : `access is granted by ${wanted.length} ${wanted.length === 1 ? "Role" : "Roles"}`;
  const [first, ...others] = emptyRules;
  if (first === undefined) return wanted.length === 0 ? "no access rule is set" : granted;
  const which = others.length === 0 ? first : `${first} and ${others.length} more`;
  const [name, grant] = others.length === 0 ? ["names", "grants"] : ["name", "grant"];
  return `${granted}; ${which} ${name} no users or teams and ${grant} nothing`;
}

/** Which Secrets of a SharedSecret cannot be removed, and why; without a period. */
export function unremovedSentence({ unremoved, failures: [first] }: SyncSummary): string {
  const why = first === undefined ? "" : `, first: ${keyOf(first)}: ${first.message}`;
  return `${unremovedText(unremoved)}${why}`;
}

function unremovedText(count: number): string {
  return count === 1 ? "1 Secret cannot be removed" : `${count} Secrets cannot be removed`;
}

/** Projects without targets are only mentioned in the message if other projects have targets. */
function hasNoTargets({ options }: Source, { emptyProjects }: SyncSummary): boolean {
  return emptyProjects.length > 0 && emptyProjects.length === options.projects.length;
}

function syncSentence(source: Source, summary: SyncSummary): string {
  const { desired, synced, conflicts, failed, failures, contested, emptyProjects, withheld } =
    summary;
  const { unremoved } = summary;
  const why = emptyProjectsSentence(emptyProjects, source.secret.metadata.namespace ?? "");
  const isBlocked = unremoved > 0;
  if (hasNoTargets(source, summary) && !isBlocked) return `no namespace to sync to: ${why}`;
  const parts = isBlocked ? [unremovedText(unremoved)] : [];
  parts.push(`${synced} of ${desired} targets are synced`);
  if (conflicts > 0) parts.push(`${conflicts} in conflict`);
  if (failed > 0) parts.push(`${failed} failed`);
  const [first] = failures;
  if (first !== undefined) parts.push(`first: ${keyOf(first)}: ${first.message}`);
  if (contested.newer !== undefined)
    parts.push(
      `${contested.targets} also requested by the newer SharedSecret ${keyOf(contested.newer)}`,
    );
  if (withheld !== undefined) parts.push(`${withheld.targets} ${withheldText(withheld.key)}`);
  return emptyProjects.length === 0 ? parts.join(", ") : `${parts.join(", ")}; ${why}`;
}

/** The number of Secrets that cannot be removed, and what fails where; absent if there is none. */
export function failuresOf({ unremoved, failures }: SyncSummary) {
  const listed = failures.map(({ namespace, name, reason, message }) => ({
    namespace,
    name,
    reason,
    message,
  }));
  return {
    ...(unremoved === 0 ? {} : { unremoved }),
    ...(listed.length === 0 ? {} : { failures: listed }),
  };
}

/** The status of a SharedSecret without its conditions: counts and failures, never a value. */
export function sharedSecretCounts({
  source,
  wanted,
  nameConflicts,
  summary,
  clusters,
  refreshed,
}: StatusInput): Readonly<Record<string, unknown>> {
  const applied = wanted.filter(({ name }) => !nameConflicts.includes(name)).length;
  const { desired, synced, conflicts, failed } = summary;
  return {
    keys: source.keys,
    access: { roles: applied, bindings: applied },
    sync: {
      desired,
      synced,
      conflicts,
      failed,
      ...(refreshed === undefined ? {} : { refreshed }),
      ...failuresOf(summary),
      ...(clusters === undefined ? {} : { clusterCounts: countsOf(clusters) }),
      ...(clusters === undefined || clusters.clusters.length === 0
        ? {}
        : { clusters: clusters.clusters }),
    },
  };
}

/** The counts of clusters, and as a text for `kubectl get`, if one is named. */
function countsOf({ counts }: ClusterSummary) {
  const { named, synced } = counts;
  return named === 0 ? counts : { ...counts, summary: `${synced}/${named}` };
}
