import type { Requester } from "../api/requester.ts";
import { type Resource, resources } from "../api/resources.ts";
import type { GrantedObject } from "../api/role.ts";
import {
  type FormerGrantee,
  granteeOfClusterRoleBinding,
} from "../domain/grants/former-grantee.ts";
import {
  grantKey,
  grantState,
  type GrantState,
  requesterHash,
  chunkPrefix,
} from "../domain/grants/granted-names.ts";
import type { ReportedFailure } from "../domain/plan/failure-history.ts";
import {
  type FinalizationPhase,
  planFinalization,
  planStuckFinalization,
  type Terminating,
} from "../domain/plan/finalization.ts";
import type { Plan } from "../domain/plan/plan.ts";
import type { ReadStore } from "../kube/informer/store.ts";
import { isSystemName } from "../domain/requester/requester.ts";
import { finalize } from "./finalization.ts";
import { failureAt } from "./failures.ts";
import type { LeaderState } from "./memory.ts";
import type { Answers, ReconcileDecision } from "./question.ts";
import type { Reconciler } from "./reconciler.ts";
import { indexes, type Stores } from "./stores.ts";
import type { World } from "./world.ts";

/**
 * The reported failure of the requester's grants, if the key or token waits for its grant or for
 * the revocation.
 */
export function grantFailure(
  { metadata }: Terminating,
  { grant, requester }: { readonly grant: GrantState; readonly requester: Requester },
  leader: LeaderState,
): ReportedFailure | undefined {
  if (requester.kind === "unknown") return undefined;
  const isWaiting =
    metadata.deletionTimestamp === undefined ? !grant.granted || grant.namedByOthers : grant.named;
  return isWaiting ? failureAt("grant", requesterHash(requester.name), leader) : undefined;
}

/** A key or token that is being deleted. */
interface GrantedRelease {
  readonly object: Terminating;
  readonly kind: GrantedObject["kind"];
  readonly requester: Requester;
  readonly failure?: ReportedFailure | undefined;
  /** Whether the finalizer stays for another reason than the grants. */
  readonly isHeld?: boolean;
}

/** Finalizes a key or token; its grants are reconciled by their own queue. */
export function finalizeGranted(
  { object, kind, requester, failure, isHeld = false }: GrantedRelease,
  world: World,
  answers: Answers,
): ReconcileDecision {
  const { metadata } = object;
  const resource = grantedResources[kind];
  const { named } = observeGrant({ kind, name: metadata.name }, requester, world.stores);
  const deleting = {
    resource,
    ref: metadata,
    grantsStand: named,
    grantees: granteesOf(requester),
    settleMs: world.options.grantSettleTime,
    plan(observed: FinalizationPhase, now: number): Plan {
      const phase =
        observed.kind === "release" && isHeld ? ({ kind: "revoke" } as const) : observed;
      return planFinalization(resource, object, { phase, now, failure });
    },
  };
  return finalize(deleting, world, answers);
}

/** How the status of a key or token reports a failure; `planned` is for one that stays. */
export function reportGranted<T extends Terminating>(
  kind: GrantedObject["kind"],
  storeIn: (stores: Stores) => ReadStore<T>,
  planned: (object: T, failure: ReportedFailure, world: World) => Plan,
): NonNullable<Reconciler<World>["report"]> {
  return ({ key, world, reported: failure }) => {
    const object = storeIn(world.stores).get(key);
    if (object?.metadata.deletionTimestamp === undefined)
      return object && planned(object, failure, world);
    const now = world.clock.now();
    return planStuckFinalization(grantedResources[kind], object, { now, failure });
  };
}

const grantedResources: Readonly<Record<GrantedObject["kind"], Resource>> = {
  OwnedAccessKey: resources.ownedAccessKeys,
  DirectClusterEndpointToken: resources.endpointTokens,
};

function granteesOf(requester: Requester): readonly FormerGrantee[] {
  if (requester.kind === "unknown" || isSystemName(requester.name)) return [];
  const subject = { kind: "User", name: requester.name };
  return [
    granteeOfClusterRoleBinding(chunkPrefix(requesterHash(requester.name)), {
      subject,
      verb: "get",
    }),
  ];
}

/** The state of the grants of one key or token. */
export function observeGrant(
  object: GrantedObject,
  requester: Requester,
  stores: Stores,
): GrantState {
  const roles = stores.clusterRoles.by(indexes.grantedName, grantKey(object));
  return grantState(object, {
    requester: requester.kind === "known" ? requester.name : undefined,
    roles,
    bindings: roles.flatMap(({ metadata }) => stores.clusterRoleBindings.get(metadata.name) ?? []),
  });
}
