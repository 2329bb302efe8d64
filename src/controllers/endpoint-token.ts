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
import type { ReportedFailure } from "../domain/plan/failure-history.ts";
import type { Plan } from "../domain/plan/plan.ts";
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
  const failure = failures.at(name) ?? grantFailure(token, { grant, requester }, deps);
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
    ...keyResolver.parentKey(requester),
  };
  const attempt = {
    async apply() {
      const plan = isGoing
        ? await planGrantedRelease(token, { kind, requester, failure }, deps)
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
