import type { Result } from "../api/result.ts";
import type { Key } from "../api/object.ts";
import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import { resources } from "../api/resources.ts";
import type { AccessKeyCache } from "./access-key-cache.ts";
import { dueActivity } from "../domain/access-key/last-activity.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import { runLoop } from "../kube/queue/loop.ts";
import { WorkQueue } from "../kube/queue/work-queue.ts";
import type { Yielder } from "../runtime/yielder.ts";
import type { ProcessContext } from "../runtime/run-process.ts";
import { controllerMetrics, queueMetrics } from "../runtime/work-metrics.ts";

/** Dependencies of {@link LastActivity}. */
interface LastActivityDeps extends ProcessContext {
  readonly accessKeys: Pick<AccessKeyCache, "byId" | "observe">;
  readonly client: Pick<Client, "patch">;
  readonly yielder: Yielder;
}

const name = "lastactivity";
/** Random delay that combines uses in quick succession and spreads the writes of replicas. */
const spreadMs = 250;
const writers = 4;

/** Writes `status.lastActivity` of used keys, as rarely as their ttl allows and never backwards. */
export class LastActivity {
  readonly #deps: LastActivityDeps;
  readonly #queue: WorkQueue;
  /**
   * The last use that is not written yet, in milliseconds since the epoch, by the uid of the key.
   */
  readonly #uses = new Map<Key, number>();

  constructor(deps: LastActivityDeps) {
    this.#deps = deps;
    this.#queue = new WorkQueue({
      clock: deps.clock,
      random: deps.random,
      metrics: queueMetrics(name, deps.metrics),
    });
  }

  /** Records that a key is used now. */
  note(key: ObservedAccessKey): void {
    const { clock, random } = this.#deps;
    const usedAt = clock.now();
    if (dueActivity(key, usedAt) === undefined) return;
    const { uid } = key.metadata;
    if (!this.#uses.has(uid)) this.#queue.addAt(uid, usedAt + spreadMs * random());
    this.#uses.set(uid, usedAt);
  }

  /** Runs until the signal aborts, and then writes each remaining use once. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, yielder, log, metrics } = this.#deps;
    await runLoop({
      name,
      queue: this.#queue,
      reconcile: (uid) => this.#write(uid),
      workers: writers,
      signal,
      clock,
      yielder,
      log,
      metrics: controllerMetrics(name, writers, metrics),
    });
    const left = [...this.#uses.keys()];
    const results = await Promise.allSettled(left.map((uid) => this.#write(uid)));
    const lost = results.filter(({ status }) => status === "rejected").length;
    if (lost > 0) log.warn({ count: lost }, "writing last activity of access keys failed");
  }

  async #write(uid: Key): Promise<Result> {
    const usedAt = this.#uses.get(uid);
    const key = this.#deps.accessKeys.byId(uid)?.key;
    const lastActivity =
      usedAt === undefined || key === undefined ? undefined : dueActivity(key, usedAt);
    if (key !== undefined && lastActivity !== undefined) await this.#patch(key, lastActivity);
    if (this.#uses.get(uid) === usedAt) this.#uses.delete(uid);
    else this.#queue.add(uid, "high");
    return { kind: "done" };
  }

  async #patch({ metadata }: ObservedAccessKey, lastActivity: string): Promise<void> {
    const { client, accessKeys } = this.#deps;
    const body = {
      metadata: { resourceVersion: metadata.resourceVersion, uid: metadata.uid },
      status: { lastActivity },
    };
    try {
      accessKeys.observe(
        await client.patch(
          resources.ownedAccessKeys,
          { name: metadata.name },
          { subresource: "status", body },
        ),
      );
    } catch (error) {
      if (!isKubeError(error, "NotFound")) throw error;
    }
  }
}
