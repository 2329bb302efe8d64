import type { Event } from "../../api/event.ts";
import type { Condition, ConditionUpdate, ConditionType } from "../../api/conditions.ts";
import type { Metadata } from "../../api/object.ts";
import type { Resource } from "../../api/resources.ts";
import type { Write } from "./plan.ts";

/** The regarding object of an Event, and its conditions before this reconcile. */
interface EventContext {
  readonly resource: Resource;
  readonly metadata: Metadata;
  readonly existing: readonly Condition[];
}

/** The context of Events about an object with a lifetime. */
interface LifetimeEventContext extends EventContext {
  /**
   * RFC 3339: the deduplicationKey of Events about the expiry; undefined if the object does not
   * expire.
   */
  readonly expiresAt: string | undefined;
}

/**
 * Returns Events for Expired, Expiring and a change of Ready; none for a condition that has not
 * changed.
 */
export function conditionEvents(
  context: LifetimeEventContext,
  updates: readonly ConditionUpdate[],
  expired: Event["type"],
): readonly Write[] {
  const transitions = updates.filter((update) => transitioned(context.existing, update));
  const expiry = String(context.expiresAt);
  const endings = transitions.flatMap((update) => {
    if (isTrue(update, "Expired"))
      return eventWrite(context, update, { type: expired, deduplicationKey: expiry });
    if (isTrue(update, "Expiring"))
      return eventWrite(context, update, { type: "Normal", deduplicationKey: expiry });
    return [];
  });
  return [...endings, ...healthEvents(context, updates, ["Ready"])];
}

/**
 * Returns one Event if an object becomes unhealthy or changes its reason (Warning), or if it
 * becomes healthy or is healthy for another reason (Normal; optional unless it follows a Warning).
 * `types` are the conditions to check, the most important first; the first one provides the reason
 * and the message when healthy.
 */
export function healthEvents(
  context: EventContext,
  updates: readonly ConditionUpdate[],
  types: readonly ConditionType[],
): readonly Write[] {
  const [before, after] = [troubleIn(context.existing, types), troubleIn(updates, types)];
  const well = updates.find(({ type, status }) => type === types[0] && status === "True");
  // A reconcile that is repeated because its status was not written sees the same transition time,
  // so the deduplicationKey is the same.
  const since = context.existing.find(
    ({ type }) => type === (after ?? before ?? well)?.type,
  )?.lastTransitionTime;
  const transition = since === undefined ? "" : ` since ${since}`;
  const deduplicationKey = `generation ${context.metadata.generation}${transition}`;
  if (after === undefined) {
    const limit = before === undefined ? "optional" : undefined;
    if (well === undefined || isTransient(updates, types)) return [];
    return limit !== undefined && !transitioned(context.existing, well)
      ? []
      : eventWrite(context, well, { type: "Normal", deduplicationKey, limit });
  }
  const isSame = before?.type === after.type && before.reason === after.reason;
  // An expiry is recorded once, with the condition Expired.
  return isSame || after.reason === "Expired"
    ? []
    : eventWrite(context, after, { type: "Warning", deduplicationKey });
}

/** Reasons of a condition that is False temporarily or intentionally. */
const transientReasons: ReadonlySet<string> = new Set([
  "Progressing",
  "WaitingForGrant",
  "Terminating",
]);
const intendedReasons: ReadonlySet<string> = new Set(["Paused", "NoTargets"]);

/**
 * The first of these conditions that is False and neither temporary nor intended, the most
 * important type first; undefined if there is none.
 */
export function troubleIn<T extends Condition | ConditionUpdate>(
  conditions: readonly T[],
  types: readonly ConditionType[],
): T | undefined {
  const inOrder = types.flatMap((type) =>
    conditions.filter((condition) => condition.type === type),
  );
  return inOrder.find(
    ({ status, reason }) =>
      status === "False" && !transientReasons.has(reason) && !intendedReasons.has(reason),
  );
}

function isTransient(
  updates: readonly ConditionUpdate[],
  types: readonly ConditionType[],
): boolean {
  return updates.some(
    ({ type, status, reason }) =>
      types.includes(type) && status === "False" && transientReasons.has(reason),
  );
}

function transitioned(
  existing: readonly Condition[],
  { type, status, reason }: ConditionUpdate,
): boolean {
  return !existing.some(
    (condition) =>
      condition.type === type && condition.status === status && condition.reason === reason,
  );
}

function isTrue(update: ConditionUpdate, type: ConditionUpdate["type"]): boolean {
  return update.type === type && update.status === "True";
}

function eventWrite(
  { resource, metadata }: EventContext,
  { reason, message }: ConditionUpdate,
  event: Pick<Event, "type" | "deduplicationKey" | "limit">,
): readonly Write[] {
  const { namespace, name, uid } = metadata;
  const subject = { ...(namespace === undefined ? {} : { namespace }), name, uid };
  return [
    {
      do: "record-event",
      event: { resource, subject, reason, note: message, ...event },
    },
  ];
}
