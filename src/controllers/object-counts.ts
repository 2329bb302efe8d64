import { keyOf } from "../api/object.ts";
import { stringAt } from "../api/parse.ts";
import { syncStates } from "../api/report.ts";
import { resources } from "../api/resources.ts";
import {
  countedConditions,
  objectState,
  reasonLabel,
  targetCounts,
} from "../domain/object-state.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Changed } from "./informers.ts";
import type { CountedObject } from "./kinds/watched-kind.ts";

/** Maximum number of objects that metrics name. */
const mostNamed = 100;
const hourMs = 3_600_000;
/** Times within which metrics count lifetimes that end, in hours. */
const expiringHours = { "1d": 24, "7d": 7 * 24, "30d": 30 * 24 } as const;
const { sharedSecrets, ownedAccessKeys, endpointTokens } = resources;

/** Labels of objects of one kind that have the same status and reason of a condition. */
interface ObjectGroup {
  readonly kind: string;
  readonly condition: string;
  readonly status: string;
  /** A reason of Latchkey's table, or empty. */
  readonly reason: string;
}

/** An object that is not ready; the reason is one of Latchkey's table, or empty. */
interface NotReadyObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly reason: string;
}

/**
 * Counts objects for metrics, with each change: by their conditions, by the hour in which their
 * lifetime ends, and the targets of SharedSecrets. So a scrape reads counts and no object.
 */
export class ObjectCounts {
  readonly #clock: Clock;
  /** By the words of the group; a group that had an object stays, with 0. */
  readonly #groups = new Map<string, readonly [ObjectGroup, number]>();
  readonly #targets = { synced: 0, conflict: 0, failed: 0, pending: 0, unremoved: 0 };
  /** The longest first, by kind and key. */
  readonly #notReady = new Map<string, NotReadyObject>();
  /** Numbers of objects by kind and by the hours since the epoch at which their lifetime ends. */
  readonly #ends = new Map<string, Map<number, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
    for (const { kind } of [sharedSecrets, ownedAccessKeys, endpointTokens])
      this.#add({ kind, condition: "Ready", status: "Unknown", reason: "" }, 0);
    for (const { kind } of [ownedAccessKeys, endpointTokens]) this.#ends.set(kind, new Map());
  }

  /** Counts a change. */
  record({ resource, before, after }: Omit<Changed, "enqueue">): void {
    const { kind } = resource;
    if (before !== undefined) this.#move(kind, before, -1);
    if (after !== undefined) this.#move(kind, after, 1);
    const current = after ?? before;
    if (current !== undefined) this.#note(kind, current, after);
    if (resource === sharedSecrets) this.#retarget(before, after);
  }

  /** Shows what is counted at each scrape. */
  expose(metrics: Metrics): void {
    metrics.onScrape("objects", () => {
      for (const [group, count] of this.#groups.values())
        metrics.gauge("latchkey_objects", group).set(count);
      for (const [state, count] of Object.entries(this.#targets))
        metrics.gauge("latchkey_sync_targets", { state }).set(count);
      this.#exposeNotReady(metrics);
      for (const [kind, ends] of this.#ends)
        for (const [within, hours] of Object.entries(expiringHours))
          metrics
            .gauge("latchkey_objects_expiring", { kind, within })
            .set(this.#endsWithin(ends, hours));
    });
  }

  #exposeNotReady(metrics: Metrics): void {
    metrics.reset("latchkey_object_not_ready");
    let named = 0;
    for (const object of this.#notReady.values()) {
      if (named === mostNamed) break;
      metrics.gauge("latchkey_object_not_ready", object).set(1);
      named += 1;
    }
    metrics
      .gauge("latchkey_objects_not_ready_omitted", {})
      .set(Math.max(0, this.#notReady.size - mostNamed));
  }

  #endsWithin(ends: ReadonlyMap<number, number>, hours: number): number {
    const first = Math.floor(this.#clock.now() / hourMs);
    let sum = 0;
    for (let hour = first; hour < first + hours; hour += 1) sum += ends.get(hour) ?? 0;
    return sum;
  }

  #move(kind: string, { conditions, status }: CountedObject, by: 1 | -1): void {
    for (const one of countedConditions(conditions)) this.#add({ kind, ...one }, by);
    const hour = Math.floor(Date.parse(stringAt(status, "expiresAt") ?? "") / hourMs);
    const ends = this.#ends.get(kind);
    if (ends === undefined || Number.isNaN(hour)) return;
    if (objectState(conditions).reason === "Expired") return;
    const count = (ends.get(hour) ?? 0) + by;
    if (count === 0) ends.delete(hour);
    else ends.set(hour, count);
  }

  #add(group: ObjectGroup, by: 1 | 0 | -1): void {
    const { kind, condition, status, reason } = group;
    const id = `${kind} ${condition} ${status} ${reason}`;
    const [, count] = this.#groups.get(id) ?? [group, 0];
    this.#groups.set(id, [group, count + by]);
  }

  #note(kind: string, { metadata }: CountedObject, after: CountedObject | undefined): void {
    const id = `${kind}/${keyOf(metadata)}`;
    const found = after === undefined ? undefined : objectState(after.conditions);
    const { namespace = "", name } = metadata;
    if (found?.state !== "problem") this.#notReady.delete(id);
    else this.#notReady.set(id, { kind, namespace, name, reason: reasonLabel(found.reason) });
  }

  #retarget(before: CountedObject | undefined, after: CountedObject | undefined): void {
    const [former, current] = [
      targetCounts(before?.status ?? {}),
      targetCounts(after?.status ?? {}),
    ];
    for (const state of syncStates) this.#targets[state] += current[state] - former[state];
  }
}
