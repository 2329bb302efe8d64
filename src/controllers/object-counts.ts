import { resources } from "../api/resources.ts";
import { objectStates, syncTargetsOf } from "../domain/object-groups.ts";
import { type Metrics, type ObjectGroup, syncTargetStates } from "../runtime/metrics.ts";
import type { Changed } from "./informers.ts";
import type { CountedObject } from "./kinds/watched-kind.ts";

/** Counts objects for metrics, by their conditions, and the targets of SharedSecrets. */
export class ObjectCounts {
  readonly #metrics: Pick<Metrics, "objects" | "syncTargets">;
  readonly #counts = new Map<string, number>();
  readonly #targets = { synced: 0, conflict: 0, failed: 0, pending: 0 };

  constructor(metrics: Pick<Metrics, "objects" | "syncTargets">) {
    this.#metrics = metrics;
  }

  /** Counts a change. */
  record({ resource, before, after }: Pick<Changed, "resource" | "before" | "after">): void {
    if (before === undefined && after === undefined) return;
    this.#move(resource.kind, before, -1);
    this.#move(resource.kind, after, 1);
    if (resource === resources.sharedSecrets) this.#retarget(before, after);
  }

  #move(kind: string, object: CountedObject | undefined, by: 1 | -1): void {
    for (const state of object === undefined ? [] : objectStates(object.conditions))
      this.#add({ kind, ...state }, by);
  }

  #add(group: ObjectGroup, by: 1 | -1): void {
    const id = JSON.stringify(group);
    const count = (this.#counts.get(id) ?? 0) + by;
    if (count === 0) this.#counts.delete(id);
    else this.#counts.set(id, count);
    this.#metrics.objects(group, count);
  }

  #retarget(before: CountedObject | undefined, after: CountedObject | undefined): void {
    const [former, current] = [
      syncTargetsOf(before?.status ?? {}),
      syncTargetsOf(after?.status ?? {}),
    ];
    for (const state of syncTargetStates) {
      this.#targets[state] += current[state] - former[state];
      this.#metrics.syncTargets(state, this.#targets[state]);
    }
  }
}
