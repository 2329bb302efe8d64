import type { KeyViews } from "../authn/key-resolver.ts";
import type { Key } from "../api/object.ts";
import type { SaidFailure } from "../domain/plan/failing.ts";
import {
  type OwnedAccessKeyConfig,
  type OwnedAccessKeyView,
  planKeyReport,
  planOwnedAccessKey,
} from "../domain/access-key/owned-access-key.ts";
import { unknownRoles } from "../domain/scope/roles.ts";
import type { Next } from "../kube/loop.ts";
import type { Clock } from "../runtime/clock.ts";
import { type CarryOutDeps, carryOut } from "./apply-plan.ts";
import { type Failures, notingFailures } from "./failures.ts";
import {
  type GrantedReleaseDeps,
  grantFailure,
  observeGrant,
  planGrantedRelease,
  planGrantedStuck,
} from "./grants.ts";
import { indexes, type Stores } from "./stores.ts";

/** What the passes over OwnedAccessKeys need. */
export interface OwnedAccessKeyDeps
  extends CarryOutDeps, Omit<GrantedReleaseDeps, "client" | "stores"> {
  readonly clock: Clock;
  readonly config: OwnedAccessKeyConfig;
  readonly stores: Stores;
  readonly keyViews: KeyViews;
  readonly keyFailures: Pick<Failures, "at" | "note" | "end">;
}

/** One pass over an OwnedAccessKey: its status, its end and its farewell. */
export async function reconcileOwnedAccessKey(name: Key, deps: OwnedAccessKeyDeps): Promise<Next> {
  const { stores, keyViews, config, clock, keyFailures: failures } = deps;
  const key = stores.keys.get(name);
  if (key === undefined) {
    failures.end(name);
    return { kind: "wait-for-change" };
  }
  const view = keyViews.viewOf(key);
  const { requester } = view;
  const grant = observeGrant({ kind: "OwnedAccessKey", name }, requester, stores);
  const failure = failures.at(name) ?? grantFailure(key, { grant, requester }, deps);
  const isGoing = key.metadata.deletionTimestamp !== undefined;
  const missing = unknownRoles(
    key.spec.scope,
    (role) => stores.scopeRoles.countBy(indexes.scopeRole, role) > 0,
  );
  const seen: OwnedAccessKeyView = { ...view, grant, unknownRoles: missing, config, failure };
  const attempt = {
    async apply() {
      const plan = isGoing
        ? await planGrantedRelease(key, { kind: "OwnedAccessKey", requester, failure }, deps)
        : planOwnedAccessKey(seen, clock.now());
      await carryOut(plan, deps);
      return plan.next;
    },
    report: (said: SaidFailure) =>
      carryOut(
        isGoing
          ? planGrantedStuck(key, { kind: "OwnedAccessKey", failure: said }, deps)
          : planKeyReport({ ...seen, failure: said }, clock.now()),
        deps,
      ),
  };
  return await notingFailures(name, attempt, failures);
}
