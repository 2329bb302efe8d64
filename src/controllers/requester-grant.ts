import type { Result } from "../api/result.ts";
import type { EndpointToken } from "../api/endpoint-token.ts";
import { type Key, refOf } from "../api/object.ts";
import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import type {
  GrantBinding,
  GrantedKind,
  GrantedObject,
  GrantRole,
} from "../api/requester-grant.ts";
import { resources } from "../api/resources.ts";
import { hasFinalizer } from "../domain/plan/finalizer.ts";
import type { PoliciesAge } from "../domain/requester/policy-age.ts";
import {
  grantKey,
  grantedNames,
  hashInName,
  requesterHashOf,
} from "../domain/grants/granted-names.ts";
import { requesterOf } from "../domain/requester/requester.ts";
import { planRequesterGrant } from "../domain/grants/requester-grant.ts";
import type { Client } from "../kube/client.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { type ApplyPlanDeps, applyPlan } from "./apply-plan.ts";
import { observePolicies } from "../authn/requester-policies.ts";
import type { Deletions } from "./deletions.ts";
import { type Failures, recordingFailures } from "./failures.ts";
import type { FinalizedObjects } from "./finalized-objects.ts";
import { type LiveObject, readLive } from "./live-object.ts";
import { indexes, type Stores } from "./stores.ts";

/** What reconciling the grants of requesters needs. */
export interface RequesterGrantDeps extends ApplyPlanDeps {
  readonly client: Client;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly log: Logger;
  readonly stores: Stores;
  /** What cannot be gone, see {@link FinalizedObjects}. */
  readonly held: Pick<FinalizedObjects, "has">;
  readonly deletions: Deletions;
  /** How long the grant of an object stays after its deletion, in milliseconds. */
  readonly grantSettleTime: number;
  readonly grantFailures: Pick<Failures, "record" | "end">;
}

/**
 * Reconciles the grants of one requester, by hash. Repeated failures are reported by the keys and
 * tokens that wait for the grant.
 */
export async function reconcileRequesterGrant(
  hash: Key,
  deps: RequesterGrantDeps,
): Promise<Result> {
  const report = async (): Promise<void> => {};
  return await recordingFailures(
    hash,
    { apply: () => applyGrants(hash, deps), report },
    deps.grantFailures,
  );
}

async function applyGrants(hash: Key, deps: RequesterGrantDeps): Promise<Result> {
  const { stores } = deps;
  const policies = observePolicies(stores.requesterPolicies);
  const roles = stores.clusterRoles.by(indexes.requester, hash);
  const bindings = stores.clusterRoleBindings.by(indexes.requester, hash);
  const granted = boundNames(roles, bindings);
  const keys = owned("OwnedAccessKey", stores.keys.by(indexes.requester, hash), policies);
  const tokens = owned(
    "DirectClusterEndpointToken",
    stores.tokens.by(indexes.requester, hash),
    policies,
  );
  const all = [...keys, ...tokens].flatMap((object) => staying(object, granted, deps));
  const dropped = droppedNames(roles, new Set(all.map(({ key }) => key)));
  if (await isBehind(dropped, hash, deps))
    return { kind: "requeue-at", at: deps.clock.now() + askAgainMs };
  // Who has lost an object by a take-over loses the grant first: the change of that role brings the
  // next pass.
  const free = all.filter(
    ({ key }) =>
      granted.has(key) ||
      stores.clusterRoles.by(indexes.grantedName, key).every((role) => hashInName(role) === hash),
  );
  const wanted = await withoutGone(free, granted, deps);
  const plan = planRequesterGrant({
    hash,
    requester: wanted[0]?.requester,
    wanted: wanted.map(({ object }) => object),
    roles,
    bindings,
  });
  if (plan.conflicts.length > 0)
    deps.log.warn(
      { names: plan.conflicts },
      "ClusterRoles or ClusterRoleBindings already exist and are not managed by Latchkey",
    );
  await applyPlan(plan, deps);
  return nextEnd(all, deps);
}

const askAgainMs = 1_000;

/** What ends within this time of each other is taken back in one write. */
const batchMs = 100;

/**
 * An object that goes on being granted, with the monotonic instant at which that ends: what is
 * being deleted keeps what it has, for the settle time.
 */
function staying(
  object: Owned,
  granted: ReadonlySet<string>,
  { deletions, clock, grantSettleTime }: RequesterGrantDeps,
): readonly (Owned & { readonly until?: number })[] {
  if (!object.isGoing) return [object];
  const until = deletions.seenAt(object.uid) + grantSettleTime;
  return granted.has(object.key) && clock.monotonic() < until ? [{ ...object, until }] : [];
}

function nextEnd(
  all: readonly { readonly until?: number }[],
  { clock }: RequesterGrantDeps,
): Result {
  const ends = all.flatMap(({ until }) => until ?? []);
  if (ends.length === 0) return { kind: "done" };
  return { kind: "requeue-at", at: clock.now() + Math.min(...ends) - clock.monotonic() + batchMs };
}

function droppedNames(roles: readonly GrantRole[], wanted: ReadonlySet<string>): readonly string[] {
  return roles.flatMap(grantedNames).filter((name) => !wanted.has(name));
}

function boundNames(
  roles: readonly GrantRole[],
  bindings: readonly GrantBinding[],
): ReadonlySet<string> {
  const bound = new Set(bindings.map(({ metadata }) => metadata.name));
  return new Set(roles.filter(({ metadata }) => bound.has(metadata.name)).flatMap(grantedNames));
}

/**
 * Asks the API server itself before somebody's access is taken away: roles may have arrived before
 * the keys and tokens that they name. What the stores say is being deleted needs no question, and
 * what is not stamped so has no claim.
 */
async function isBehind(
  names: readonly string[],
  hash: Key,
  { stores, client }: RequesterGrantDeps,
): Promise<boolean> {
  for (const granted of names) {
    const { namespace: plural, name } = refOf(granted);
    const seen =
      plural === resources.ownedAccessKeys.plural ? stores.keys.get(name) : stores.tokens.get(name);
    if (seen?.metadata.deletionTimestamp !== undefined) continue;
    const live = await readGranted(granted, client);
    if (live.kind === "unknown") return true;
    if (live.kind === "gone" || live.metadata.resourceVersion === seen?.metadata.resourceVersion)
      continue;
    if (requesterHashOf(live.metadata).includes(hash)) return true;
  }
  return false;
}

/**
 * Leaves out what is gone by now, asking about a name whose grant does not stand yet unless this
 * leader holds the object: the stores may be older than the end of the last grant, and the name may
 * be another requester's next.
 */
async function withoutGone(
  all: readonly Owned[],
  granted: ReadonlySet<string>,
  { client, held }: RequesterGrantDeps,
): Promise<readonly Owned[]> {
  const isThere = async ({ key, uid }: Owned): Promise<boolean> => {
    if (granted.has(key) || held.has(uid)) return true;
    const live = await readGranted(key, client);
    return (
      live.kind === "there" &&
      live.metadata.uid === uid &&
      live.metadata.deletionTimestamp === undefined
    );
  };
  const there = await Promise.all(all.map(isThere));
  return all.filter((_, index) => there[index]);
}

/** Asks the API server itself for an object by its {@link grantKey}. */
function readGranted(granted: string, client: Pick<Client, "getMetadata">): Promise<LiveObject> {
  const { namespace: plural, name } = refOf(granted);
  return readLive(
    plural === resources.ownedAccessKeys.plural
      ? resources.ownedAccessKeys
      : resources.endpointTokens,
    { name },
    client,
  );
}

interface Owned {
  /** Its {@link grantKey}. */
  readonly key: string;
  readonly uid: string;
  readonly object: GrantedObject;
  readonly requester: string;
  readonly isGoing: boolean;
}

/** The objects whose requester is certain and that cannot go without Latchkey. */
function owned(
  kind: GrantedKind,
  objects: readonly (ObservedAccessKey | EndpointToken)[],
  policies: PoliciesAge | undefined,
): readonly Owned[] {
  return objects.flatMap(({ metadata }) => {
    if (!hasFinalizer(metadata)) return [];
    const requester = requesterOf(metadata, policies);
    if (requester.kind !== "known") return [];
    const object = { kind, name: metadata.name };
    return [
      {
        key: grantKey(object),
        uid: metadata.uid,
        object,
        requester: requester.name,
        isGoing: metadata.deletionTimestamp !== undefined,
      },
    ];
  });
}
