import { observeRequester } from "../authn/requester-policies.ts";
import type { EndpointToken } from "../api/endpoint-token.ts";
import { ownObjects } from "../api/names.ts";
import { type Key, keyOf } from "../api/object.ts";
import {
  planEndpointToken,
  planMinted,
  planTokenReport,
  planTooMany,
} from "../domain/endpoint-token/endpoint-token.ts";
import { revocationDecision } from "../domain/endpoint-token/revocation.ts";
import type { ObservedEndpointToken } from "../domain/endpoint-token/token-state.ts";
import { nothingToDo } from "../domain/plan/plan.ts";
import { knownKids, type ObservedSigningKeys } from "../tokens/signing-keys.ts";
import { failureAt } from "./memory.ts";
import { decideGrantedRelease, grantFailure, observeGrant, planGrantedStuck } from "./grants.ts";
import { type Answers, answerTo, type Decision } from "./question.ts";
import { revokedTokensKey } from "./queues.ts";
import type { Reconciler } from "./reconciler.ts";
import { isRevocationPending, noteRevocation } from "./revocations.ts";
import { countMintedToken, nextTokenEnd, takeTokenQuota } from "./token-quota.ts";
import type { World } from "./world.ts";

const kind = "DirectClusterEndpointToken";

/**
 * Reconciles a DirectClusterEndpointToken: mints it, removes the token at its expiry, deletes the
 * object later, and finalizes it.
 */
export const endpointTokenReconciler: Reconciler = {
  controller: "directclusterendpointtoken",
  queue: "token",
  workers: ({ workers }) => workers,
  decide,
  report({ key: name, world, reported: failure }) {
    const token = world.stores.tokens.get(name);
    if (token === undefined) return undefined;
    return token.metadata.deletionTimestamp === undefined
      ? planTokenReport({ ...observe(token, world), failure }, world.clock.now())
      : planGrantedStuck(token, { kind, failure }, world);
  },
};

/**
 * Until the entry of a revoked token is in the list and enqueues the token, its status keeps the
 * expiry of the entry, and its object the finalizer: nothing is lost if the leader ends.
 */
function decide(name: Key, world: World, answers: Answers): Decision {
  const token = world.stores.tokens.get(name);
  if (token === undefined) return nothingToDo;
  countMintedToken(token, world);
  const isPending = noteDecision(token, world);
  const observed = observe(token, world);
  const { requester, failure } = observed;
  if (token.metadata.deletionTimestamp !== undefined)
    return decideGrantedRelease(
      { object: token, kind, requester, failure, isHeld: isPending },
      world,
      answers,
    );
  return isPending ? nothingToDo : decideLive(observed, world, answers);
}

/** Nothing is minted without signing keys: their event enqueues the token. */
function decideLive(observed: ObservedEndpointToken, world: World, answers: Answers): Decision {
  const now = world.clock.now();
  const decision = planEndpointToken(observed, now);
  if (decision.kind === "plan") return decision.plan;
  const { claims, requester, endsAt, otherwise } = decision;
  if (signingKeys(world) === undefined) return otherwise;
  const sign = { do: "sign", claims } as const;
  const answer = answerTo(sign, answers);
  if (answer !== undefined)
    return answer.minted === undefined ? otherwise : planMinted(observed, answer.minted, now);
  const { uid } = observed.token.metadata;
  if (takeTokenQuota({ requester, uid, endsAt }, now, world)) return { questions: [sign] };
  const quota = world.options.quotaTokens;
  return planTooMany(observed, { requester, quota, nextEnd: nextTokenEnd(requester, world) }, now);
}

/** Records whether the token is revoked, and returns whether its entry is still missing. */
function noteDecision(token: EndpointToken, world: World): boolean {
  const { stores, keyResolver, memory, clock, enqueuer } = world;
  const requester = observeRequester(token.metadata, stores.requesterPolicies);
  const revocable = { token, requester, ...keyResolver.parentKey(requester) };
  const decision = revocationDecision(revocable, clock.now());
  const { uid } = token.metadata;
  const context = { memory, stores, clock, queues: enqueuer.queues };
  if (decision !== undefined) noteRevocation(uid, decision, context);
  return isRevocationPending(uid, context);
}

function observe(token: EndpointToken, world: World): ObservedEndpointToken {
  const { stores, memory, keyResolver, options: config } = world;
  const { name, uid } = token.metadata;
  const requester = observeRequester(token.metadata, stores.requesterPolicies);
  const grant = observeGrant({ kind, name }, requester, stores);
  const keys = signingKeys(world);
  const isPending = isRevocationPending(uid, world);
  return {
    token,
    requester,
    grant,
    knownKids: keys === undefined ? new Set<string>() : knownKids(keys),
    config,
    failure:
      failureAt("token", name, memory) ??
      grantFailure(token, { grant, requester }, memory) ??
      (isPending ? failureAt("revokedTokens", revokedTokensKey, memory) : undefined),
    ...keyResolver.parentKey(requester),
  };
}

/** The signing keys, if they are in the stores. */
export function signingKeys({
  stores,
  options,
}: Pick<World, "stores" | "options">): ObservedSigningKeys | undefined {
  const { namespace } = options;
  return stores.signingKeys.get(keyOf({ namespace, name: ownObjects.signingKeys }));
}
