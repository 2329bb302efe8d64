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

/** Dependencies of {@link reconcileRequesterGrant}. */
export interface RequesterGrantDeps extends ApplyPlanDeps {
  readonly client: Client;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly log: Logger;
  readonly stores: Stores;
  /** Objects that cannot be gone, see {@link FinalizedObjects}. */
  readonly held: Pick<FinalizedObjects, "has">;
  readonly deletions: Deletions;
  /** How long the grant of an object is kept after its deletion, in milliseconds. */
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
  // After a takeover, the grant of the former requester is revoked first; the change of that role
  // enqueues this requester again.
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

/** Grants that end within this time of each other are revoked in one write. */
const batchMs = 100;

/**
 * Returns the object if it stays granted, with the monotonic instant at which its grant ends: an
 * object that is being deleted keeps an existing grant for the settle time.
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
 * Whether the stores are behind the API server for one of these names. Read before access is
 * revoked, because roles may be observed before the keys and tokens that they name. Objects that
 * are being deleted are not read, and objects of another requester do not count.
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
 * Omits objects that no longer exist. A name without a grant is read from the API server, unless
 * this leader wrote the finalizer of its object: the stores may be older than the end of the last
 * grant, and the next object with the name may be another requester's.
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

/** Reads an object from the API server by its {@link grantKey}. */
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

/** The objects with a verified requester and Latchkey's finalizer. */
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
