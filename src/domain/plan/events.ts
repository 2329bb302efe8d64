import type { Event } from "../../api/event.ts";
import type { Condition, ConditionUpdate, ConditionType } from "../../api/conditions.ts";
import type { Metadata } from "../../api/object.ts";
import type { Resource } from "../../api/resources.ts";
import type { Write } from "./plan.ts";

/** What an Event would be about, and the conditions that stand before this pass. */
export interface EventContext {
  readonly resource: Resource;
  readonly metadata: Metadata;
  readonly standing: readonly Condition[];
}

/** A telling about an object whose life may end. */
export interface LifetimeEventContext extends EventContext {
  /** RFC 3339: the deduplicationKey of Events about the end of a life; undefined when it has none. */
  readonly expiresAt: string | undefined;
}

/**
 * An Event for a life that has ended, for an end that has come near, and for a change of health;
 * none for what stands already.
 */
export function conditionEvents(
  telling: LifetimeEventContext,
  claims: readonly ConditionUpdate[],
  expired: Event["type"],
): readonly Write[] {
  const news = claims.filter((claim) => isNews(telling.standing, claim));
  const life = String(telling.expiresAt);
  const endings = news.flatMap((claim) => {
    if (isTrue(claim, "Expired"))
      return tell(telling, claim, { type: expired, deduplicationKey: life });
    if (isTrue(claim, "Expiring"))
      return tell(telling, claim, { type: "Normal", deduplicationKey: life });
    return [];
  });
  return [...endings, ...healthEvents(telling, claims, ["Ready"])];
}

/**
 * One Event for an object that comes into trouble or into another one (Warning), or that is well
 * again (Normal). `types` are the conditions that say so, the one that counts most first; that one
 * also says that all is well.
 */
export function healthEvents(
  telling: EventContext,
  claims: readonly ConditionUpdate[],
  types: readonly ConditionType[],
): readonly Write[] {
  const [before, after] = [troubleIn(telling.standing, types), troubleIn(claims, types)];
  // A pass that is repeated because its status was not written is decided on the same times, and so
  // is the same deduplicationKey.
  const since = telling.standing.find(
    ({ type }) => type === (after ?? before)?.type,
  )?.lastTransitionTime;
  const deduplicationKey = `generation ${telling.metadata.generation}${since === undefined ? "" : ` since ${since}`}`;
  if (after === undefined) {
    const well =
      before === undefined
        ? undefined
        : claims.find(({ type, status }) => type === types[0] && status === "True");
    return well === undefined || isPassing(claims, types)
      ? []
      : tell(telling, well, { type: "Normal", deduplicationKey });
  }
  const isSame = before?.type === after.type && before.reason === after.reason;
  // The end of a life is told once, with the condition Expired.
  return isSame || after.reason === "Expired"
    ? []
    : tell(telling, after, { type: "Warning", deduplicationKey });
}

/** Reasons of a condition that is False for a while or on purpose. */
const passing: ReadonlySet<string> = new Set(["Progressing", "WaitingForGrant", "Terminating"]);
const intended: ReadonlySet<string> = new Set(["Paused", "NoTargets"]);

function troubleIn<T extends Pick<Condition, "type" | "status" | "reason">>(
  conditions: readonly T[],
  types: readonly ConditionType[],
): T | undefined {
  const inOrder = types.flatMap((type) =>
    conditions.filter((condition) => condition.type === type),
  );
  return inOrder.find(
    ({ status, reason }) => status === "False" && !passing.has(reason) && !intended.has(reason),
  );
}

function isPassing(claims: readonly ConditionUpdate[], types: readonly ConditionType[]): boolean {
  return claims.some(
    ({ type, status, reason }) => types.includes(type) && status === "False" && passing.has(reason),
  );
}

function isNews(
  standing: readonly Condition[],
  { type, status, reason }: ConditionUpdate,
): boolean {
  return !standing.some(
    (condition) =>
      condition.type === type && condition.status === status && condition.reason === reason,
  );
}

function isTrue(claim: ConditionUpdate, type: ConditionUpdate["type"]): boolean {
  return claim.type === type && claim.status === "True";
}

function tell(
  { resource, metadata }: EventContext,
  { reason, message }: ConditionUpdate,
  { type, deduplicationKey }: Pick<Event, "type" | "deduplicationKey">,
): readonly Write[] {
  const { namespace, name, uid } = metadata;
  const subject = { ...(namespace === undefined ? {} : { namespace }), name, uid };
  return [
    {
      do: "record-event",
      event: { resource, subject, type, reason, note: message, deduplicationKey },
    },
  ];
}
