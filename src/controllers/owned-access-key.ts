import type { Result } from "../api/result.ts";
import type { KeyResolver } from "../authn/key-resolver.ts";
import type { Key } from "../api/object.ts";
import type { ReportedFailure } from "../domain/plan/failure-history.ts";
import {
  type OwnedAccessKeyConfig,
  type ObservedOwnedAccessKey,
  planKeyReport,
  planOwnedAccessKey,
} from "../domain/access-key/owned-access-key.ts";
import { unknownRoles } from "../domain/scope/roles.ts";
import type { Clock } from "../runtime/clock.ts";
import { type ApplyPlanDeps, applyPlan } from "./apply-plan.ts";
import { type Failures, recordingFailures } from "./failures.ts";
import {
  type GrantedReleaseDeps,
  grantFailure,
  observeGrant,
  planGrantedRelease,
  planGrantedStuck,
} from "./grants.ts";
import { indexes, type Stores } from "./stores.ts";

/** Dependencies of {@link reconcileOwnedAccessKey}. */
export interface OwnedAccessKeyDeps
  extends ApplyPlanDeps, Omit<GrantedReleaseDeps, "client" | "stores"> {
  readonly clock: Clock;
  readonly config: OwnedAccessKeyConfig;
  readonly stores: Stores;
  readonly keyResolver: KeyResolver;
  readonly keyFailures: Pick<Failures, "at" | "record" | "end">;
}

/** Reconciles an OwnedAccessKey: its status, its expiry and its finalization. */
export async function reconcileOwnedAccessKey(
  name: Key,
  deps: OwnedAccessKeyDeps,
): Promise<Result> {
  const { stores, keyResolver, config, clock, keyFailures: failures } = deps;
  const key = stores.keys.get(name);
  if (key === undefined) {
    failures.end(name);
    return { kind: "done" };
  }
  const view = keyResolver.resolve(key);
  const { requester } = view;
  const grant = observeGrant({ kind: "OwnedAccessKey", name }, requester, stores);
  const failure = failures.at(name) ?? grantFailure(key, { grant, requester }, deps);
  const isGoing = key.metadata.deletionTimestamp !== undefined;
  const missing = unknownRoles(
    key.spec.scope,
    (role) => stores.scopeRoles.countBy(indexes.scopeRole, role) > 0,
  );
  const seen: ObservedOwnedAccessKey = { ...view, grant, unknownRoles: missing, config, failure };
  const attempt = {
    async apply() {
      const plan = isGoing
        ? await planGrantedRelease(key, { kind: "OwnedAccessKey", requester, failure }, deps)
        : planOwnedAccessKey(seen, clock.now());
      await applyPlan(plan, deps);
      return plan.result;
    },
    report: (said: ReportedFailure) =>
      applyPlan(
        isGoing
          ? planGrantedStuck(key, { kind: "OwnedAccessKey", failure: said }, deps)
          : planKeyReport({ ...seen, failure: said }, clock.now()),
        deps,
      ),
  };
  return await recordingFailures(name, attempt, failures);
}
