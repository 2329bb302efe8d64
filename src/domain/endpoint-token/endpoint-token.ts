import type { ConditionUpdate } from "../../api/conditions.ts";
import { resources } from "../../api/resources.ts";
import type { Scope, ScopeLimit } from "../../api/scope.ts";
import type { SecretText } from "../../api/secret-text.ts";
import { withApplyFailure } from "../plan/apply-failure.ts";
import { mergeConditions, timestamp } from "../plan/conditions.ts";
import { addFinalizerAndStart, hasFinalizer } from "../plan/finalizer.ts";
import { effectiveScopes } from "../access-key/key-state.ts";
import { createdAt } from "../lifetime.ts";
import { requeueAt } from "../plan/plan.ts";
import { conditionEvents } from "../plan/events.ts";
import { nothingToDo, type Plan, deleteWrite } from "../plan/plan.ts";
import { narrows } from "../scope/narrows.ts";
import { statusWrites } from "../plan/status-write.ts";
import { type TokenClaims, tokenClaims } from "./token-claims.ts";
import {
  type ObservedEndpointToken,
  expiredConditions,
  mintedConditions,
  refusedConditions,
  type TokenLifetime,
  tokenLifetime,
  tokenState,
  tooManyConditions,
  waitingConditions,
} from "./token-state.ts";

/**
 * What a pass over a token does: carry out a plan, or mint first and then carry out {@link
 * planMinted}; `otherwise` is the plan when nothing can be minted, for want of a signing key.
 */
export type EndpointTokenDecision =
  | { readonly kind: "plan"; readonly plan: Plan }
  | {
      readonly kind: "mint";
      readonly claims: TokenClaims;
      readonly requester: string;
      readonly endsAt: number;
      readonly otherwise: Plan;
    };

/** A token that was signed, and the kid of the key that signed it. */
export interface MintedToken {
  readonly token: SecretText;
  readonly kid: string;
}

const resource = resources.endpointTokens;
const secondMs = 1000;
// A grant comes within a second; a status that says so is only written when it does not.
const patienceMs = 10_000;
const leastWaitMs = 10_000;

/**
 * Decides about a DirectClusterEndpointToken until its deletion: hold, then grant, then mint; erase
 * at its end, delete after; `now` in milliseconds since the epoch.
 */
export function planEndpointToken(view: ObservedEndpointToken, now: number): EndpointTokenDecision {
  const { metadata } = view.token;
  if (metadata.deletionTimestamp !== undefined) return planned(nothingToDo);
  const state = tokenState(view, now);
  const life = tokenLifetime(view);
  if (state.kind !== "expired" && !hasFinalizer(metadata))
    return planned({ ...nothingToDo, steps: [[addFinalizerAndStart(resource, metadata)]] });
  switch (state.kind) {
    case "expired":
      return planned(planExpired(view, life, now));
    case "refused":
      return planned(planStatus(view, { life, claims: refusedConditions(life, state) }, now));
    case "minted":
      return planned(planMinted(view, undefined, now));
    case "wanted": {
      if (!view.grant.granted || view.grant.namedByOthers)
        return planned(planWaiting(view, life, now));
      const { issuer, audience } = view.config;
      const claims = tokenClaims(view.token, state.requester, {
        issuer,
        audience,
        now,
        endsAt: life.endsAt,
        keyScopes: scopesBehind(view),
      });
      return {
        kind: "mint",
        claims,
        requester: state.requester.name,
        endsAt: life.endsAt,
        otherwise: { steps: [], result: requeueAt(now, [life.endsAt]) },
      };
    }
  }
}

/**
 * Puts a token that was minted for this view into its status; without one, the token that stands is
 * kept.
 */
export function planMinted(
  view: ObservedEndpointToken,
  minted: MintedToken | undefined,
  now: number,
): Plan {
  const { token, keyId } = view.token;
  const life = tokenLifetime(view);
  const claims = mintedConditions(life, view.config);
  return planStatus(
    view,
    { life, claims, token: minted?.token ?? token, keyID: minted?.kid ?? keyId },
    now,
  );
}

/**
 * What to tell while the plan of a token that is not being deleted fails: what can be told without
 * a mint.
 */
export function planTokenReport(view: ObservedEndpointToken, now: number): Plan {
  const life = tokenLifetime(view);
  const { steps } = planStatus(view, { life, ...standingOutcome(view, life, now) }, now);
  return { ...nothingToDo, steps };
}

function standingOutcome(
  view: ObservedEndpointToken,
  life: TokenLifetime,
  now: number,
): Omit<Outcome, "life"> {
  const { token, keyId: keyID } = view.token;
  const state = tokenState(view, now);
  switch (state.kind) {
    case "expired":
      return { claims: expiredConditions(life), keyID };
    case "refused":
      return { claims: refusedConditions(life, state) };
    case "minted":
      return { claims: mintedConditions(life, view.config), token, keyID };
    case "wanted":
      return { claims: waitingConditions(life) };
  }
}

/**
 * Why a requester may have no more tokens: as many as its quota are valid, the next until
 * `nextEnd`, in milliseconds since the epoch.
 */
export interface QuotaReached {
  readonly requester: string;
  readonly quota: number;
  readonly nextEnd: number;
}

/**
 * Says that a token is not minted, because its requester has too many, and looks again when one of
 * those has ended.
 */
export function planTooMany(
  view: ObservedEndpointToken,
  { requester, quota, nextEnd }: QuotaReached,
  now: number,
): Plan {
  const life = tokenLifetime(view);
  const plan = planStatus(view, { life, claims: tooManyConditions(life, requester, quota) }, now);
  // Many may wait for one end.
  return { ...plan, result: requeueAt(now, [Math.max(nextEnd, now + leastWaitMs), life.endsAt]) };
}

function planned(plan: Plan): EndpointTokenDecision {
  return { kind: "plan", plan };
}

function planExpired(view: ObservedEndpointToken, life: TokenLifetime, now: number): Plan {
  const plan = planStatus(
    view,
    { life, claims: expiredConditions(life), keyID: view.token.keyId },
    now,
  );
  const due = now >= deletionInstant(view, life);
  return due && plan.steps.length === 0
    ? { ...nothingToDo, steps: [[deleteWrite(resource, view.token)]] }
    : plan;
}

function planWaiting(view: ObservedEndpointToken, life: TokenLifetime, now: number): Plan {
  const impatientAt = createdAt(view.token.metadata) + patienceMs;
  if (now < impatientAt) return { steps: [], result: requeueAt(now, [impatientAt, life.endsAt]) };
  return planStatus(view, { life, claims: waitingConditions(life) }, now);
}

interface Outcome {
  readonly life: TokenLifetime;
  readonly claims: readonly ConditionUpdate[];
  readonly token?: SecretText | undefined;
  readonly keyID?: string | undefined;
}

function planStatus(
  view: ObservedEndpointToken,
  { life, claims: found, token, keyID }: Outcome,
  now: number,
): Plan {
  const claims = withApplyFailure(found, view.failure);
  const { metadata, conditions } = view.token;
  const { generation } = metadata;
  const expiresAt = timestamp(life.endsAt);
  const writes = statusWrites(resource, view.token, {
    observedGeneration: generation,
    conditions: mergeConditions(conditions, claims, { generation, now }),
    expiresAt,
    keyID,
    token,
  });
  const told = conditionEvents(
    { resource, metadata, standing: conditions, expiresAt },
    claims,
    "Normal",
  );
  return {
    steps: [told, writes].filter((step) => step.length > 0),
    result: requeueAt(now, [life.endsAt, deletionInstant(view, life)]),
  };
}

/**
 * The scopes of the key that it was asked for with; those that the token's own is within are left
 * out.
 */
function scopesBehind({ parentKey, token }: ObservedEndpointToken): readonly Scope[] {
  if (parentKey === undefined || parentKey === "gone") return [];
  const isBeyond = (limit: ScopeLimit): limit is Scope =>
    typeof limit !== "string" && !narrows(token.spec.limit, limit, parentKey.config.namespace);
  return effectiveScopes(parentKey).filter(isBeyond);
}

function deletionInstant({ config }: ObservedEndpointToken, life: TokenLifetime): number {
  return life.endsAt + config.deleteExpiredTokensAfter * secondMs;
}
