import { type Condition, reasons } from "../api/conditions.ts";
import { annotations } from "../api/names.ts";
import type { Metadata } from "../api/object.ts";
import { listAt, numberAt, parseConditions, recordAt, stringAt } from "../api/parse.ts";
import type { ReportItem, SyncState, ReasonAndMessage } from "../api/report.ts";
import { troubleIn } from "./plan/events.ts";
import { leftoverReason } from "./sync/leftover.ts";
import { conflictReasons } from "./sync/outcome.ts";

/** What is reported of an object whose status is not of its current generation. */
export const notObserved = {
  state: "unknown",
  reason: "NotObserved",
  message: "the controller has not seen this generation; run kubectl latchkey check.",
  causes: [],
} as const;

/** Whether the status of an object is of its current generation. */
export function isObserved(object: unknown): boolean {
  const generation = numberAt(recordAt(object, "metadata"), "generation");
  return numberAt(recordAt(object, "status"), "observedGeneration") === generation;
}

/** The condition Ready, if it is of the current generation. */
export function readyOf(object: unknown): Condition | undefined {
  const conditions = isObserved(object) ? parseConditions(recordAt(object, "status")) : [];
  return conditions.find(({ type }) => type === "Ready");
}

const stateTypes = ["Ready", "Synced", "ClustersSynced"] as const;

/**
 * The state of an object in reports and metrics, from its conditions: what has to be changed is a
 * problem. `info` is what is False and no problem, such as NoTargets, Paused, Progressing and
 * Expired, and what has the condition `Expiring`. `isObserved` is whether the conditions are of its
 * current generation; an object is a problem or expired also before.
 */
export function objectState(
  conditions: readonly Condition[],
  { isObserved: isCurrent = true } = {},
): Omit<ReportItem, "object"> {
  const trouble = troubleIn(conditions, stateTypes);
  const inOrder = stateTypes.flatMap((type) => conditions.find((one) => one.type === type) ?? []);
  const said = trouble ?? inOrder.find(({ status }) => status === "False") ?? inOrder[0];
  if (said?.type === undefined || said.status === "Unknown" || (!trouble && !isCurrent))
    return notObserved;
  const { reason, message } = said;
  const isExpiring = ({ type, status }: Condition) => type === "Expiring" && status === "True";
  if (said.status === "True" && conditions.some(isExpiring))
    return { state: "info", reason: "Expiring", message, causes: [] };
  const isProblem = trouble !== undefined && reason !== "Expired";
  const state = isProblem ? "problem" : said.status === "False" ? "info" : "ok";
  return { state, reason, message, causes: [] };
}

/** A reason as the label of a metric: empty for one that is not in the table. */
export function reasonLabel(reason: string): string {
  return Object.hasOwn(reasons, reason) ? reason : "";
}

const counted = ["Ready", "Synced", "ClustersSynced", "Expiring"] as const;

/**
 * The conditions of an object that metrics count: Ready (Unknown if no controller has set it), and
 * Synced, ClustersSynced and Expiring if the object has them; each reason as its
 * {@link reasonLabel}.
 */
export function countedConditions(conditions: readonly Condition[]) {
  return counted.flatMap((condition) => {
    const found = conditions.find(({ type }) => type === condition);
    if (found === undefined && condition !== "Ready") return [];
    const { status, reason } = found ?? { status: "Unknown" as const, reason: "" };
    return [{ condition, status, reason: reasonLabel(reason) }];
  });
}

/** The number of targets of a SharedSecret in each state, from its status. */
export function targetCounts(
  status: Readonly<Record<string, unknown>>,
): Readonly<Record<SyncState, number>> {
  const sync = recordAt(status, "sync");
  const count = (field: string): number => Math.max(0, numberAt(sync, field) ?? 0);
  const [synced, conflict, failed] = [count("synced"), count("conflicts"), count("failed")];
  const pending = Math.max(0, count("desired") - synced - conflict - failed);
  return { synced, conflict, failed, pending, unremoved: count("unremoved") };
}

/**
 * The targets of a SharedSecret as a text, from its status: `1 of 2 targets synced, 1 conflict`, or
 * `no targets` where projects are named and no namespace accepts copies.
 */
export function targetsText(status: Readonly<Record<string, unknown>>): string {
  const { synced, unremoved, ...others } = targetCounts(status);
  const all = Object.values(others).reduce((sum, count) => sum + count, synced);
  const clusters = clustersText(status);
  const left = Object.entries({ ...others, unremoved }).filter(([, count]) => count > 0);
  const own = all > 0 ? [`${synced} of ${all} targets synced`] : [];
  const parts = [...own, ...left.map(([state, count]) => `${count} ${state}`), ...clusters];
  return parts.length > 0
    ? parts.join(", ")
    : (withoutTargets.get(syncReason(status)) ?? "no targets");
}

/** What is said of a SharedSecret without targets, by the reason of its condition Synced. */
const withoutTargets: ReadonlyMap<string | undefined, string> = new Map([
  [undefined, "not seen by the controller"],
  ["NotRequested", "not synced to a project"],
  ["UnknownAnnotation", "not synced to a project"],
]);

function syncReason(status: Readonly<Record<string, unknown>>): string | undefined {
  return parseConditions(status).find(({ type }) => type === "Synced")?.reason;
}

/** How many of the connected clusters that a SharedSecret names have its data. */
function clustersText(status: Readonly<Record<string, unknown>>): readonly string[] {
  const counts = recordAt(recordAt(status, "sync"), "clusterCounts");
  const [named = 0, synced = 0] = [numberAt(counts, "named"), numberAt(counts, "synced")];
  if (named <= 0) return [];
  return [`${synced} of ${named} ${named === 1 ? "cluster" : "clusters"} synced`];
}

/** The state of a target that `status.sync.failures` lists with this reason. */
export function failedTargetState(reason: string): SyncState {
  if (reason === leftoverReason) return "unremoved";
  return Object.values<string>(conflictReasons).includes(reason) ? "conflict" : "failed";
}

/** An entry of `status.sync.failures` of a SharedSecret: a target, and what failed there. */
export interface ListedFailure extends ReasonAndMessage {
  readonly namespace: string;
  readonly name: string;
}

/** The failures that the status of a SharedSecret lists, at most ten. */
export function listedFailures(
  status: Readonly<Record<string, unknown>>,
): readonly ListedFailure[] {
  const text = (entry: unknown, field: string): string => stringAt(entry, field) ?? "";
  return listAt(recordAt(status, "sync"), "failures").map((entry) => ({
    namespace: text(entry, "namespace"),
    name: text(entry, "name"),
    reason: text(entry, "reason"),
    message: text(entry, "message"),
  }));
}

/**
 * The API server's rejection of a write that a copy records; undefined if it records none, or
 * another error, which begins with the path of a field.
 */
export function recordedRejection({ annotations: given }: Metadata): ReasonAndMessage | undefined {
  const [, reason, message = ""] = rejectionForm.exec(given[annotations.syncError] ?? "") ?? [];
  return reason === undefined ? undefined : { reason, message };
}

const rejectionForm = /^([A-Z][A-Za-z]*): (.*)$/s;
