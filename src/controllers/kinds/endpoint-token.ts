import { type EndpointToken, parseEndpointToken } from "../../api/endpoint-token.ts";
import type { Key, Metadata } from "../../api/object.ts";
import type { ObservedAccessKey } from "../../api/owned-access-key.ts";
import { resources } from "../../api/resources.ts";
import { observeRequester } from "../../domain/requester/installed-policies.ts";
import type { ResolvedKey } from "../../domain/access-key/key-state.ts";
import {
  planEndpointToken,
  planMinted,
  planTokenReport,
  planTooMany,
} from "../../domain/endpoint-token/endpoint-token.ts";
import { revocationDecision } from "../../domain/endpoint-token/revocation.ts";
import type { ObservedEndpointToken } from "../../domain/endpoint-token/token-state.ts";
import { nothingToDo, type Plan } from "../../domain/plan/plan.ts";
import { knownKids } from "../../tokens/signing-keys.ts";
import { finalizeGranted, grantFailure, observeGrant, reportGranted } from "../grants.ts";
import { failureAt } from "../failures.ts";
import {
  type Answers,
  answerTo,
  type Ask,
  askFor,
  type ReconcileDecision,
  readOf,
} from "../question.ts";
import { revokedTokensKey } from "../queues.ts";
import type { Reconciler } from "../reconciler.ts";
import {
  noteVanished,
  isRevocationPending,
  liftsRevocation,
  noteRevocation,
} from "../revocations.ts";
import { indexes } from "../stores.ts";
import { countMintedToken, nextTokenEnd, takeTokenQuota } from "../token-quota.ts";
import type { World } from "../world.ts";
import { requesterIndexers } from "./owned-access-key.ts";
import { signingKeys } from "./signing-keys.ts";
import type { WatchedKind } from "./watched-kind.ts";

/** DirectClusterEndpointTokens. */
export function endpointTokenKind(): WatchedKind<EndpointToken, World> {
  return {
    listOptions: { resource: resources.endpointTokens },
    parse: parseEndpointToken,
    indexers: { ...requesterIndexers, [indexes.uid]: ({ metadata }) => [metadata.uid] },
    enqueue({ key, before, after }, enqueuer) {
      enqueuer.queues.token.add(key, "high");
      enqueuer.forgetDeleted("token", before, after);
      if (before !== undefined && after === undefined) noteVanished(before, enqueuer);
      enqueuer.grantsOf(before, after);
    },
    countedAs: (token) => token,
    reconciler: endpointTokenReconciler,
  };
}

const kind = "DirectClusterEndpointToken";

/**
 * Reconciles a DirectClusterEndpointToken: mints it, removes the token at its expiry, deletes the
 * object later, and finalizes it.
 */
export const endpointTokenReconciler: Reconciler<World> = {
  queue: "token",
  workers: ({ workers }) => workers,
  decide,
  report: reportGranted(
    kind,
    ({ tokens }) => tokens,
    (token, failure, world) =>
      planTokenReport({ ...observe(token, world), failure }, world.clock.now()),
  ),
};

/**
 * Until the entry of a revoked token is in the list and enqueues the token, its status keeps the
 * expiry of the entry, and its object the finalizer: nothing is lost if the leader ends.
 */
function decide(name: Key, world: World, answers: Answers): ReconcileDecision {
  const token = world.stores.tokens.get(name);
  if (token === undefined) return nothingToDo;
  countMintedToken(token, world);
  const observed = observe(token, world);
  const isPending = noteDecision(observed, world, answers);
  if (typeof isPending !== "boolean") return isPending;
  if (token.metadata.deletionTimestamp === undefined)
    return isPending ? nothingToDo : decideNormal(observed, world, answers);
  const { requester, failure = isPending ? listFailure(world) : undefined } = observed;
  return finalizeGranted(
    { object: token, kind, requester, failure, isHeld: isPending },
    world,
    answers,
  );
}

/** Why the list of revoked tokens is not written. */
function listFailure(world: World): ObservedEndpointToken["failure"] {
  return failureAt("revokedTokens", revokedTokensKey, world);
}

/** Nothing is minted without signing keys: their event enqueues the token. */
function decideNormal(
  observed: ObservedEndpointToken,
  world: World,
  answers: Answers,
): ReconcileDecision {
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

/**
 * Records whether the token is revoked, and returns whether its entry is still missing. Before an
 * entry leaves the list, the API server confirms that what the decision rests on is current: a new
 * leader may have observed the entry, but not yet why the former leader wrote it.
 */
function noteDecision(
  observed: ObservedEndpointToken,
  world: World,
  answers: Answers,
): boolean | Exclude<ReconcileDecision, Plan> {
  const { metadata } = observed.token;
  const decision = revocationDecision(observed, world.clock.now());
  if (decision?.kind === "valid" && liftsRevocation(metadata.uid, world)) {
    const keys = lineage(observed.parentKey).map((key) => key.metadata);
    const isCurrent = areCurrent(metadata, keys, answers);
    if (typeof isCurrent !== "boolean") return isCurrent;
    if (!isCurrent) return { decideAt: world.clock.now() + askAgainMs };
  }
  if (decision !== undefined) noteRevocation(metadata.uid, decision, world);
  return isRevocationPending(metadata.uid, world);
}

const askAgainMs = 1_000;

/** A parent key and its ancestors. */
function lineage(parentKey: ResolvedKey | "gone" | undefined): readonly ObservedAccessKey[] {
  return parentKey === undefined || parentKey === "gone"
    ? []
    : [parentKey.key, ...lineage(parentKey.parentKey)];
}

/** Whether the API server has these versions of a token and of its parent keys. */
function areCurrent(token: Metadata, keys: readonly Metadata[], answers: Answers): boolean | Ask {
  const read = (metadata: Metadata): ReturnType<typeof readOf> =>
    readOf(metadata === token ? resources.endpointTokens : resources.ownedAccessKeys, {
      name: metadata.name,
    });
  const all = [token, ...keys];
  const isCurrent = (metadata: Metadata): boolean => {
    const uncached = answerTo(read(metadata), answers)?.object;
    return (
      uncached?.kind === "there" &&
      uncached.metadata.uid === metadata.uid &&
      uncached.metadata.resourceVersion === metadata.resourceVersion
    );
  };
  return askFor(all.map(read), answers) ?? all.every(isCurrent);
}

function observe(token: EndpointToken, world: World): ObservedEndpointToken {
  const { stores, keyResolver, options: config } = world;
  const { name } = token.metadata;
  const requester = observeRequester(token.metadata, stores.requesterPolicies);
  const grant = observeGrant({ kind, name }, requester, stores);
  const keys = signingKeys(world);
  return {
    token,
    requester,
    grant,
    knownKids: keys === undefined ? new Set<string>() : knownKids(keys),
    config,
    failure: failureAt("token", name, world) ?? grantFailure(token, { grant, requester }, world),
    ...keyResolver.parentKey(requester),
  };
}
