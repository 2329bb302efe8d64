import type { Condition, ConditionClaim } from "../api/conditions.ts";
import type { Metadata } from "../api/object.ts";
import type { Resource } from "../api/resources.ts";
import type { Notice, Write } from "./plan.ts";

/** What an Event would be about, and the conditions that stand before this pass. */
export interface Telling {
  readonly resource: Resource;
  readonly metadata: Metadata;
  readonly standing: readonly Condition[];
  /** RFC 3339: the occasion of Events about the end of a life; undefined when it has none. */
  readonly expiresAt: string | undefined;
}

/** An Event each for a life that has ended, an end that has come near, and another reason of Ready=False; none for what stands already. */
export function notices(telling: Telling, claims: readonly ConditionClaim[], expired: Notice["type"]): readonly Write[] {
  const news = claims.filter((claim) => isNews(telling.standing, claim));
  const life = String(telling.expiresAt);
  return news.flatMap((claim) => {
    if (isTrue(claim, "Expired")) return tell(telling, claim, { type: expired, occasion: life });
    if (isTrue(claim, "Expiring")) return tell(telling, claim, { type: "Normal", occasion: life });
    if (!isFailure(claim)) return [];
    return tell(telling, claim, { type: "Warning", occasion: `generation ${telling.metadata.generation}` });
  });
}

function isNews(standing: readonly Condition[], { type, status, reason }: ConditionClaim): boolean {
  return !standing.some((condition) => condition.type === type && condition.status === status && condition.reason === reason);
}

function isTrue(claim: ConditionClaim, type: ConditionClaim["type"]): boolean {
  return claim.type === type && claim.status === "True";
}

// The end of a life is told once, with the condition Expired.
function isFailure({ type, status, reason }: ConditionClaim): boolean {
  return type === "Ready" && status === "False" && reason !== "Expired";
}

function tell(
  { resource, metadata }: Telling,
  { reason, message }: ConditionClaim,
  { type, occasion }: Pick<Notice, "type" | "occasion">,
): readonly Write[] {
  const subject = { name: metadata.name, uid: metadata.uid };
  return [{ do: "tell", notice: { resource, subject, type, reason, note: message, occasion } }];
}
