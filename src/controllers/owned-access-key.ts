import type { Key } from "../api/object.ts";
import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import {
  type ObservedOwnedAccessKey,
  planKeyReport,
  planOwnedAccessKey,
} from "../domain/access-key/owned-access-key.ts";
import { nothingToDo } from "../domain/plan/plan.ts";
import { unknownRoles } from "../domain/scope/roles.ts";
import { failureAt } from "./memory.ts";
import { decideGrantedRelease, grantFailure, observeGrant, planGrantedStuck } from "./grants.ts";
import type { Answers, Decision } from "./question.ts";
import type { Reconciler } from "./reconciler.ts";
import { indexes } from "./stores.ts";
import type { World } from "./world.ts";

const kind = "OwnedAccessKey";

/** Reconciles an OwnedAccessKey: its status, its expiry and its finalization. */
export const ownedAccessKeyReconciler: Reconciler = {
  queue: "key",
  workers: ({ workers }) => workers,
  decide,
  report({ key: name, world, reported: failure }) {
    const key = world.stores.keys.get(name);
    if (key === undefined) return undefined;
    return key.metadata.deletionTimestamp === undefined
      ? planKeyReport({ ...observe(key, world), failure }, world.clock.now())
      : planGrantedStuck(key, { kind, failure }, world);
  },
};

function decide(name: Key, world: World, answers: Answers): Decision {
  const key = world.stores.keys.get(name);
  if (key === undefined) return nothingToDo;
  const observed = observe(key, world);
  const { requester, failure } = observed;
  return key.metadata.deletionTimestamp === undefined
    ? planOwnedAccessKey(observed, world.clock.now())
    : decideGrantedRelease({ object: key, kind, requester, failure }, world, answers);
}

function observe(key: ObservedAccessKey, world: World): ObservedOwnedAccessKey {
  const { stores, memory, keyResolver, options: config } = world;
  const { name } = key.metadata;
  const view = keyResolver.resolve(key);
  const { requester } = view;
  const grant = observeGrant({ kind, name }, requester, stores);
  return {
    ...view,
    grant,
    unknownRoles: unknownRoles(
      key.spec.scope,
      (role) => stores.scopeRoles.countBy(indexes.scopeRole, role) > 0,
    ),
    config,
    failure: failureAt("key", name, memory) ?? grantFailure(key, { grant, requester }, memory),
  };
}
