import type { Condition } from "../api/conditions.ts";
import { resources } from "../api/resources.ts";
import { objectStates, syncTargetsOf } from "../domain/object-groups.ts";
import type { Change } from "../kube/store.ts";
import { type Metrics, type ObjectGroup, syncTargetStates } from "../runtime/metrics.ts";
import type { ChangeHandlers } from "./informers.ts";

/**
 * Handlers that count objects by what they say of themselves, from change to change, and pass each
 * change on.
 */
export function countingObjects(
  on: ChangeHandlers,
  metrics: Pick<Metrics, "objects" | "syncTargets">,
): ChangeHandlers {
  const counts = new Map<string, number>();
  const targets = { synced: 0, conflict: 0, failed: 0, pending: 0 };

  function add(group: ObjectGroup, by: 1 | -1): void {
    const id = JSON.stringify(group);
    const count = (counts.get(id) ?? 0) + by;
    if (count === 0) counts.delete(id);
    else counts.set(id, count);
    metrics.objects(group, count);
  }

  function moved(
    kind: string,
    before: readonly Condition[] | undefined,
    after: readonly Condition[] | undefined,
  ): void {
    for (const state of before === undefined ? [] : objectStates(before))
      add({ kind, ...state }, -1);
    for (const state of after === undefined ? [] : objectStates(after)) add({ kind, ...state }, 1);
  }

  function retarget({
    before,
    after,
  }: Change<{ readonly secret: { readonly status: Readonly<Record<string, unknown>> } }>): void {
    const [former, next] = [
      syncTargetsOf(before?.secret.status ?? {}),
      syncTargetsOf(after?.secret.status ?? {}),
    ];
    for (const state of syncTargetStates) {
      targets[state] += next[state] - former[state];
      metrics.syncTargets(state, targets[state]);
    }
  }

  return {
    ...on,
    sharedSecret(change) {
      moved(
        resources.sharedSecrets.kind,
        change.before?.secret.conditions,
        change.after?.secret.conditions,
      );
      retarget(change);
      on.sharedSecret(change);
    },
    key(change) {
      moved(resources.ownedAccessKeys.kind, change.before?.conditions, change.after?.conditions);
      on.key(change);
    },
    token(change) {
      moved(resources.endpointTokens.kind, change.before?.conditions, change.after?.conditions);
      on.token(change);
    },
  };
}
