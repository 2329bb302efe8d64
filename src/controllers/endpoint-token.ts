import type { Result } from "../api/result.ts";
import type { KeyResolver } from "../authn/key-resolver.ts";
import { observeRequester } from "../authn/requester-policies.ts";
import { ownObjects } from "../api/names.ts";
import { type Key, keyOf } from "../api/object.ts";
import {
  planEndpointToken,
  planMinted,
  planTokenReport,
  planTooMany,
} from "../domain/endpoint-token/endpoint-token.ts";
import { type RevocableToken, revocationDecision } from "../domain/endpoint-token/revocation.ts";
import type { ReportedFailure } from "../domain/plan/failure-history.ts";
import { nothingToDo, type Plan } from "../domain/plan/plan.ts";
import type {
  EndpointTokenConfig,
  ObservedEndpointToken,
} from "../domain/endpoint-token/token-state.ts";
import type { Clock } from "../runtime/clock.ts";
import { mintToken } from "../tokens/jwt.ts";
import { knownKids, type ObservedSigningKeys } from "../tokens/signing-keys.ts";
import { type ApplyPlanDeps, applyPlan } from "./apply-plan.ts";
import { type Failures, recordingFailures } from "./failures.ts";
import {
  type GrantedReleaseDeps,
  grantFailure,
  observeGrant,
  planGrantedRelease,
  planGrantedStuck,
} from "./grants.ts";
import type { Revocations } from "./revocations.ts";
import { revokedTokensKey } from "./revoked-tokens.ts";
import type { Stores } from "./stores.ts";
import type { TokenQuota, TokenQuotaConfig } from "./token-quota.ts";

/** Dependencies of {@link reconcileEndpointToken}; `namespace` is Latchkey's own. */
export interface EndpointTokenDeps
  extends ApplyPlanDeps, Omit<GrantedReleaseDeps, "client" | "stores"> {
  readonly clock: Clock;
  readonly config: EndpointTokenConfig & TokenQuotaConfig;
  readonly namespace: string;
  readonly stores: Stores;
  readonly keyResolver: Pick<KeyResolver, "parentKey">;
  readonly tokenQuota: TokenQuota;
  readonly tokenFailures: Pick<Failures, "at" | "record" | "end">;
  readonly revocations: Pick<Revocations, "note" | "isPending">;
  readonly revocationFailures: Pick<Failures, "at">;
}

/**
 * Reconciles a DirectClusterEndpointToken: mints it, removes the token at its expiry, deletes the
 * object later, and finalizes it.
 */
export async function reconcileEndpointToken(name: Key, deps: EndpointTokenDeps): Promise<Result> {
  const { stores, keyResolver, config, namespace, clock, tokenFailures: failures } = deps;
  const token = stores.tokens.get(name);
  if (token === undefined) {
    failures.end(name);
    return { kind: "done" };
  }
  const kind = "DirectClusterEndpointToken";
  const requester = observeRequester(token.metadata, stores.requesterPolicies);
  deps.tokenQuota.note(token);
  const grant = observeGrant({ kind, name }, requester, stores);
  const origin = keyResolver.parentKey(requester);
  const isPending = noteRevocation({ token, requester, ...origin }, deps);
  const failure =
    failures.at(name) ??
    grantFailure(token, { grant, requester }, deps) ??
    (isPending ? deps.revocationFailures.at(revokedTokensKey) : undefined);
  const isGoing = token.metadata.deletionTimestamp !== undefined;
  const keys = stores.signingKeys.get(keyOf({ namespace, name: ownObjects.signingKeys }));
  const kids = keys === undefined ? new Set<string>() : knownKids(keys);
  const view: ObservedEndpointToken = {
    token,
    requester,
    grant,
    knownKids: kids,
    config,
    failure,
    ...origin,
  };
  const attempt = {
    async apply() {
      const plan = isGoing
        ? await planGrantedRelease(token, { kind, requester, failure, isHeld: isPending }, deps)
        : isPending
          ? nothingToDo
          : await decide(view, keys, deps);
      await applyPlan(plan, deps);
      return plan.result;
    },
    report: (said: ReportedFailure) =>
      applyPlan(
        isGoing
          ? planGrantedStuck(token, { kind, failure: said }, deps)
          : planTokenReport({ ...view, failure: said }, clock.now()),
        deps,
      ),
  };
  return await recordingFailures(name, attempt, failures);
}

/**
 * Records whether the token is revoked, and returns whether its entry is still missing. Until the
 * entry arrives and enqueues the token, its status keeps the expiry of the entry, and its object
 * the finalizer: nothing is lost if the leader ends.
 */
function noteRevocation(
  revocable: RevocableToken,
  { revocations, clock }: Pick<EndpointTokenDeps, "revocations" | "clock">,
): boolean {
  const { uid } = revocable.token.metadata;
  const decision = revocationDecision(revocable, clock.now());
  if (decision !== undefined) revocations.note(uid, decision);
  return revocations.isPending(uid);
}

/**
 * Returns the plan of a token. Nothing is minted without signing keys: their event enqueues the
 * token.
 */
async function decide(
  view: ObservedEndpointToken,
  keys: ObservedSigningKeys | undefined,
  { clock, config, tokenQuota }: EndpointTokenDeps,
): Promise<Plan> {
  const now = clock.now();
  const decision = planEndpointToken(view, now);
  if (decision.kind === "plan") return decision.plan;
  if (keys === undefined) return decision.otherwise;
  const { requester, endsAt, claims } = decision;
  const isFree = tokenQuota.take({ requester, uid: view.token.metadata.uid, endsAt }, now);
  if (!isFree)
    return planTooMany(
      view,
      { requester, quota: config.quotaTokens, nextEnd: tokenQuota.nextEnd(requester) },
      now,
    );
  return planMinted(view, await mintToken(claims, keys), now);
}
