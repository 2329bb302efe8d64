import type { ConditionUpdate } from "../../api/conditions.ts";
import { readingBounds } from "../../api/reading-bounds.ts";
import { resources } from "../../api/resources.ts";
import type { Scope, ScopeLimit } from "../../api/scope.ts";
import type { SecretText } from "../../api/secret-text.ts";
import { effectiveScopes } from "../access-key/key-state.ts";
import { createdAt } from "../lifetime.ts";
import { withApplyFailure, mergeConditions, timestamp } from "../plan/conditions.ts";
import { conditionEvents } from "../plan/events.ts";
import { addFinalizer, hasFinalizer } from "../plan/finalization.ts";
import { requeueAt, nothingToDo, type Plan, deleteWrite, statusWrites } from "../plan/plan.ts";
import { narrows } from "../scope/narrows.ts";
import { type SignedToken, type TokenClaims, tokenClaims, tokenLength } from "./token-claims.ts";
import {
  type ObservedEndpointToken,
  expiredConditions,
  mintedConditions,
  refusedConditions,
  type TokenLifetime,
  tokenLifetime,
  type TokenState,
  tokenState,
  tooManyConditions,
  waitingConditions,
} from "./token-state.ts";

/**
 * The result of a reconcile of a token: a plan, or a token to mint before {@link planMinted};
 * `otherwise` is the plan if there is no signing key.
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

const resource = resources.endpointTokens;
const secondMs = 1000;
// A grant usually exists within a second; the status WaitingForGrant is only written if it takes
// longer.
const reportAfterMs = 10_000;
const leastWaitMs = 10_000;

/**
 * Plans a DirectClusterEndpointToken: add the finalizer, wait for the grant, mint, remove the token
 * at its expiry, delete the object later; `now` in milliseconds since the epoch.
 */
export function planEndpointToken(
  observed: ObservedEndpointToken,
  now: number,
): EndpointTokenDecision {
  const { metadata } = observed.token;
  if (metadata.deletionTimestamp !== undefined) return planned(nothingToDo);
  const state = tokenState(observed, now);
  const lifetime = tokenLifetime(observed);
  if (state.kind !== "expired" && !hasFinalizer(metadata))
    return planned({ ...nothingToDo, steps: [[addFinalizer(resource, metadata)]] });
  switch (state.kind) {
    case "expired":
      return planned(planExpired(observed, lifetime, now));
    case "refused":
      return planned(
        planStatus(observed, { lifetime, updates: refusedConditions(lifetime, state) }, now),
      );
    case "minted":
      return planned(planMinted(observed, undefined, now));
    case "wanted": {
      const claims = claimsOf(observed, state, now);
      const refused = sizeProblem(observed, claims);
      if (refused !== undefined)
        return planned(
          planStatus(observed, { lifetime, updates: refusedConditions(lifetime, refused) }, now),
        );
      if (!observed.grant.granted || observed.grant.namedByOthers)
        return planned(planWaiting(observed, lifetime, now));
      return {
        kind: "mint",
        claims,
        requester: state.requester.name,
        endsAt: lifetime.endsAt,
        otherwise: { steps: [], result: requeueAt(now, [lifetime.endsAt]) },
      };
    }
  }
}

function claimsOf(
  observed: ObservedEndpointToken,
  { requester, audience }: Extract<TokenState, { kind: "wanted" }>,
  now: number,
): TokenClaims {
  return tokenClaims(observed.token, requester, {
    issuer: observed.config.issuer,
    audience,
    now,
    endsAt: tokenLifetime(observed).endsAt,
    keyScopes: scopesBehind(observed),
  });
}

/** Refuses a token that no direct endpoint would accept; the kids of all keys have one length. */
function sizeProblem(
  { knownKids }: ObservedEndpointToken,
  claims: TokenClaims,
): Extract<TokenState, { kind: "refused" }> | undefined {
  const [kid = ""] = knownKids;
  const length = tokenLength(claims, kid);
  const { bytes } = readingBounds.token;
  if (length <= bytes) return undefined;
  const message =
    `The token would have ${length} characters, and a direct endpoint accepts at most ` +
    `${bytes}. Create another token with a narrower spec.scope, or as a user in fewer ` +
    `groups (this one has ${claims.groups.length}).`;
  return { kind: "refused", reason: "TokenTooLarge", message };
}

/** Plans the status with the minted token; without one, the existing token is kept. */
export function planMinted(
  observed: ObservedEndpointToken,
  minted: SignedToken | undefined,
  now: number,
): Plan {
  const { token } = observed.token;
  const lifetime = tokenLifetime(observed);
  const updates = mintedConditions(lifetime, observed.config);
  return planStatus(
    observed,
    { lifetime, updates, token: minted?.token ?? token, keyID: minted?.kid },
    now,
  );
}

/** Plans the status and Events of a token while its plan fails, without minting. */
export function planTokenReport(observed: ObservedEndpointToken, now: number): Plan {
  const lifetime = tokenLifetime(observed);
  const { steps } = planStatus(
    observed,
    { lifetime, ...currentOutcome(observed, lifetime, now) },
    now,
  );
  return { ...nothingToDo, steps };
}

function currentOutcome(
  observed: ObservedEndpointToken,
  lifetime: TokenLifetime,
  now: number,
): Omit<Outcome, "lifetime"> {
  const { token } = observed.token;
  const state = tokenState(observed, now);
  switch (state.kind) {
    case "expired":
      return { updates: expiredConditions(lifetime) };
    case "refused":
      return { updates: refusedConditions(lifetime, state) };
    case "minted":
      return { updates: mintedConditions(lifetime, observed.config), token };
    case "wanted": {
      const refused = sizeProblem(observed, claimsOf(observed, state, now));
      return {
        updates:
          refused === undefined
            ? waitingConditions(lifetime)
            : refusedConditions(lifetime, refused),
      };
    }
  }
}

/**
 * The quota of a requester that has reached it; the next of its tokens expires at `nextEnd`, in
 * milliseconds since the epoch.
 */
interface QuotaReached {
  readonly requester: string;
  readonly quota: number;
  readonly nextEnd: number;
}

/** Plans the status TooManyTokens, and requeues when one of the requester's tokens expires. */
export function planTooMany(
  observed: ObservedEndpointToken,
  { requester, quota, nextEnd }: QuotaReached,
  now: number,
): Plan {
  const lifetime = tokenLifetime(observed);
  const plan = planStatus(
    observed,
    { lifetime, updates: tooManyConditions(lifetime, requester, quota) },
    now,
  );
  // Many tokens may wait for the same expiry.
  return {
    ...plan,
    result: requeueAt(now, [Math.max(nextEnd, now + leastWaitMs), lifetime.endsAt]),
  };
}

function planned(plan: Plan): EndpointTokenDecision {
  return { kind: "plan", plan };
}

function planExpired(observed: ObservedEndpointToken, lifetime: TokenLifetime, now: number): Plan {
  const plan = planStatus(observed, { lifetime, updates: expiredConditions(lifetime) }, now);
  const due = now >= deletionInstant(observed, lifetime);
  return due && plan.steps.length === 0
    ? { ...nothingToDo, steps: [[deleteWrite(resource, observed.token)]] }
    : plan;
}

function planWaiting(observed: ObservedEndpointToken, lifetime: TokenLifetime, now: number): Plan {
  const impatientAt = createdAt(observed.token.metadata) + reportAfterMs;
  if (now < impatientAt)
    return { steps: [], result: requeueAt(now, [impatientAt, lifetime.endsAt]) };
  return planStatus(observed, { lifetime, updates: waitingConditions(lifetime) }, now);
}

interface Outcome {
  readonly lifetime: TokenLifetime;
  readonly updates: readonly ConditionUpdate[];
  readonly token?: SecretText | undefined;
  readonly keyID?: string | undefined;
}

function planStatus(
  observed: ObservedEndpointToken,
  { lifetime, updates: found, token, keyID }: Outcome,
  now: number,
): Plan {
  const updates = withApplyFailure(found, observed.failure);
  const { metadata, conditions } = observed.token;
  const { generation } = metadata;
  const expiresAt = timestamp(lifetime.endsAt);
  const writes = statusWrites(resource, observed.token, {
    observedGeneration: generation,
    conditions: mergeConditions(conditions, updates, { generation, now }),
    expiresAt,
    // Stays without the token: it says that a token was minted, which can be revoked.
    keyID: keyID ?? observed.token.keyId,
    token,
  });
  const events = conditionEvents(
    { resource, metadata, existing: conditions, expiresAt },
    updates,
    "Normal",
  );
  return {
    steps: [events, writes].filter((step) => step.length > 0),
    result: requeueAt(now, [lifetime.endsAt, deletionInstant(observed, lifetime)]),
  };
}

/**
 * The scopes of the parent key and its ancestors that do not contain the scope of the token. Which
 * namespaces are guarded in the clusters of the token is not known here: any may be.
 */
function scopesBehind({ parentKey, token }: ObservedEndpointToken): readonly Scope[] {
  if (parentKey === undefined || parentKey === "gone") return [];
  const isBeyond = (limit: ScopeLimit): limit is Scope =>
    typeof limit !== "string" && !narrows(token.spec.limit, limit, () => true);
  return effectiveScopes(parentKey).filter(isBeyond);
}

/** A restored token that expired long ago is kept as long as one that expires now. */
function deletionInstant(
  { token, config }: ObservedEndpointToken,
  { endsAt }: TokenLifetime,
): number {
  return Math.max(endsAt, createdAt(token.metadata)) + config.deleteExpiredTokensAfter * secondMs;
}
