import type { EndpointToken } from "../../api/endpoint-token.ts";
import type { Key, Metadata } from "../../api/object.ts";
import type { ObservedAccessKey } from "../../api/owned-access-key.ts";
import { resources } from "../../api/resources.ts";
import type { Result } from "../../api/result.ts";
import type { ObservedRoleBinding, GrantedKind, GrantedObject, GrantRole } from "../../api/role.ts";
import { policiesInstalledAt } from "../../domain/requester/installed-policies.ts";
import {
  grantKey,
  grantedNames,
  grantedObject,
  hashInName,
  requesterHashOf,
} from "../../domain/grants/granted-names.ts";
import {
  planRequesterGrant,
  type RequesterGrantPlan,
} from "../../domain/grants/requester-grant.ts";
import { hasFinalizer } from "../../domain/plan/finalization.ts";
import type { Plan } from "../../domain/plan/plan.ts";
import { requesterOf } from "../../domain/requester/requester.ts";
import { deletionOf } from "../finalization.ts";
import {
  type Answers,
  answerTo,
  type Ask,
  askFor,
  type ReconcileDecision,
  isAsk,
  readOf,
} from "../question.ts";
import type { Reconciler } from "../reconciler.ts";
import { indexes } from "../stores.ts";
import type { World } from "../world.ts";

/**
 * Reconciles the grants of one requester, by hash. The keys and tokens that wait for the grant
 * report its failures.
 */
export const requesterGrantReconciler: Reconciler<World> = {
  queue: "grant",
  workers: ({ workers }) => workers,
  decide,
  reported: (hash, _, { enqueuer }) => enqueuer.requestedBy(hash),
};

function decide(hash: Key, world: World, answers: Answers): ReconcileDecision {
  const { stores } = world;
  const installedAt = policiesInstalledAt(stores.requesterPolicies);
  const roles = stores.clusterRoles.by(indexes.requester, hash);
  const bindings = stores.clusterRoleBindings.by(indexes.requester, hash);
  const granted = boundNames(roles, bindings);
  const keys = owned("OwnedAccessKey", stores.keys.by(indexes.requester, hash), installedAt);
  const tokens = owned(
    "DirectClusterEndpointToken",
    stores.tokens.by(indexes.requester, hash),
    installedAt,
  );
  const all = [...keys, ...tokens].flatMap((object) => staying(object, granted, world));
  const dropped = droppedNames(roles, new Set(all.map(({ key }) => key)));
  const isBehind = areStoresBehind(dropped, hash, world, answers);
  if (typeof isBehind !== "boolean") return isBehind;
  if (isBehind) return { decideAt: world.clock.now() + askAgainMs };
  // After a takeover, the grant of the former requester is revoked first; the change of that role
  // enqueues this requester again.
  const free = all.filter(
    ({ key }) =>
      granted.has(key) ||
      stores.clusterRoles.by(indexes.grantedName, key).every((role) => hashInName(role) === hash),
  );
  const wanted = withoutGone(free, granted, world, answers);
  if (isAsk(wanted)) return wanted;
  const plan = planRequesterGrant({
    hash,
    requester: wanted[0]?.requester,
    wanted: wanted.map(({ object }) => object),
    roles,
    bindings,
  });
  return { ...withWarning(plan), result: nextEnd(all, world) };
}

function withWarning({ conflicts, ...plan }: RequesterGrantPlan): Plan {
  if (conflicts.length === 0) return plan;
  const message =
    "ClusterRoles or ClusterRoleBindings already exist and are not managed by Latchkey";
  return { ...plan, log: { level: "warn", fields: { objects: conflicts }, message } };
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
  world: World,
): readonly (Owned & { readonly until?: number })[] {
  if (!object.isBeingDeleted) return [object];
  const until = deletionOf(object.uid, world).seenAt + world.options.grantSettleTime;
  return granted.has(object.key) && world.clock.monotonic() < until ? [{ ...object, until }] : [];
}

function nextEnd(all: readonly { readonly until?: number }[], { clock }: World): Result {
  const ends = all.flatMap(({ until }) => until ?? []);
  if (ends.length === 0) return { kind: "done" };
  return { kind: "requeue-at", at: clock.now() + Math.min(...ends) - clock.monotonic() + batchMs };
}

function droppedNames(roles: readonly GrantRole[], wanted: ReadonlySet<string>): readonly string[] {
  return roles.flatMap(grantedNames).filter((name) => !wanted.has(name));
}

function boundNames(
  roles: readonly GrantRole[],
  bindings: readonly ObservedRoleBinding[],
): ReadonlySet<string> {
  const bound = new Set(bindings.map(({ metadata }) => metadata.name));
  return new Set(roles.filter(({ metadata }) => bound.has(metadata.name)).flatMap(grantedNames));
}

/**
 * Whether the stores are behind the API server for one of these names. Read before access is
 * revoked, because roles may be observed before the keys and tokens that they name. Objects that
 * are being deleted are not read, and objects of another requester do not count.
 */
function areStoresBehind(
  names: readonly string[],
  hash: Key,
  { stores }: World,
  answers: Answers,
): boolean | Ask {
  const seen = (name: string): Metadata | undefined => {
    const object = grantedObject(name);
    const store = object.kind === "OwnedAccessKey" ? stores.keys : stores.tokens;
    return store.get(object.name)?.metadata;
  };
  const present = names.filter((name) => seen(name)?.deletionTimestamp === undefined);
  return (
    askFor(present.map(readGranted), answers) ??
    present.some((name) => {
      const uncached = answerTo(readGranted(name), answers)?.object;
      if (uncached?.kind === "unknown") return true;
      return (
        uncached?.kind === "there" &&
        uncached.metadata.resourceVersion !== seen(name)?.resourceVersion &&
        requesterHashOf(uncached.metadata).includes(hash)
      );
    })
  );
}

/**
 * Omits objects that no longer exist. A name without a grant is read from the API server, unless
 * this leader wrote the finalizer of its object: the stores may be older than the end of the last
 * grant, and the next object with the name may be another requester's. Objects that appear while
 * others are read are left to the next reconcile, which their event enqueues: a requester who
 * creates one after the other must not keep the grants of the first from being written.
 */
function withoutGone(
  all: readonly Owned[],
  granted: ReadonlySet<string>,
  { memory }: World,
  answers: Answers,
): readonly Owned[] | Ask {
  const isKnown = ({ key, uid }: Owned): boolean => granted.has(key) || memory.finalized.has(uid);
  const reads = all.filter((object) => !isKnown(object)).map(({ key }) => readGranted(key));
  const isThere = (object: Owned): boolean => {
    if (isKnown(object)) return true;
    const uncached = answerTo(readGranted(object.key), answers)?.object;
    return (
      uncached?.kind === "there" &&
      uncached.metadata.uid === object.uid &&
      uncached.metadata.deletionTimestamp === undefined
    );
  };
  const ask = askFor(reads, answers);
  return ask?.questions.length === reads.length ? ask : all.filter(isThere);
}

/** The question for an object by its {@link grantKey}. */
function readGranted(granted: string) {
  const { kind, name } = grantedObject(granted);
  const isKey = kind === "OwnedAccessKey";
  return readOf(isKey ? resources.ownedAccessKeys : resources.endpointTokens, { name });
}

interface Owned {
  /** Its {@link grantKey}. */
  readonly key: string;
  readonly uid: string;
  readonly object: GrantedObject;
  readonly requester: string;
  readonly isBeingDeleted: boolean;
}

/** The objects with a verified requester and Latchkey's finalizer. */
function owned(
  kind: GrantedKind,
  objects: readonly (ObservedAccessKey | EndpointToken)[],
  installedAt: number | undefined,
): readonly Owned[] {
  return objects.flatMap(({ metadata }) => {
    if (!hasFinalizer(metadata)) return [];
    const requester = requesterOf(metadata, installedAt);
    if (requester.kind !== "known") return [];
    const object = { kind, name: metadata.name };
    return [
      {
        key: grantKey(object),
        uid: metadata.uid,
        object,
        requester: requester.name,
        isBeingDeleted: metadata.deletionTimestamp !== undefined,
      },
    ];
  });
}
