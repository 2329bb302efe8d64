import { type Key, keyOf, type ObjectRef } from "../api/object.ts";
import type { Resource } from "../api/resources.ts";
import type { Result } from "../api/result.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { controllerMetrics, queueMetrics } from "../runtime/work-metrics.ts";
import type { InformerDeps } from "./informer/informer-options.ts";
import { Informer } from "./informer/informer.ts";
import { runLoop } from "./queue/loop.ts";
import { WorkQueue } from "./queue/work-queue.ts";
import type { Change } from "./informer/store.ts";

/** Dependencies of an {@link ObjectController}. */
export interface ObjectControllerDeps extends InformerDeps {
  readonly metrics: Metrics;
}

/** The objects of an {@link ObjectController}, and how it reconciles them. */
interface ObjectControllerOptions<T> {
  /** Its name in metrics and the log. */
  readonly name: string;
  readonly resource: Resource;
  /** The objects, by their keys in the queue. */
  readonly objects: ReadonlyMap<Key, ObjectRef>;
  readonly parse: (raw: unknown) => T | undefined;
  /** Called for each change of an object, after the object is enqueued. */
  readonly onChange?: (change: Change<T>) => void;
  readonly reconcile: (key: Key) => Promise<Result>;
}

/**
 * A controller of objects whose names are fixed: it watches each of them, and reconciles one at a
 * time after a change. A write with the observed resourceVersion that conflicts is tried again.
 */
export class ObjectController<T> {
  readonly #deps: ObjectControllerDeps;
  readonly #options: ObjectControllerOptions<T>;
  readonly #queue: WorkQueue;
  readonly #informers: ReadonlyMap<Key, Informer<T>>;

  constructor(deps: ObjectControllerDeps, options: ObjectControllerOptions<T>) {
    const { clock, random, metrics } = deps;
    this.#deps = deps;
    this.#options = options;
    this.#queue = new WorkQueue({ clock, random, metrics: queueMetrics(options.name, metrics) });
    this.#informers = new Map(
      [...options.objects].map(([key, ref]) => [key, this.#follow(key, ref)]),
    );
  }

  /** Resolves when it is known which of the objects exist. */
  get synced(): Promise<void> {
    const informers = [...this.#informers.values()];
    return Promise.all(informers.map(({ synced }) => synced)).then(() => undefined);
  }

  /** The objects that exist; undefined until that is known. */
  all(): readonly T[] | undefined {
    const informers = [...this.#informers.values()];
    return informers.every(({ watchState }) => watchState.isSynced)
      ? informers.flatMap(({ store }) => [...store.values()])
      : undefined;
  }

  /** The last observed object; undefined if it does not exist. */
  get(key: Key): T | undefined {
    const ref = this.#options.objects.get(key);
    return ref && this.#informers.get(key)?.store.get(keyOf(ref));
  }

  /** Stores the response of an own write. */
  observe(key: Key, response: unknown): void {
    this.#informers.get(key)?.observe(response);
  }

  /** Lets the object be reconciled. */
  enqueue(key: Key): void {
    this.#queue.add(key, "high");
  }

  /** Watches and reconciles until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, yielder, log, metrics } = this.#deps;
    const { name, reconcile } = this.#options;
    await Promise.all([
      ...[...this.#informers.values()].map((informer) => informer.run(signal)),
      runLoop({
        name,
        reconcile,
        clock,
        yielder,
        log,
        signal,
        queue: this.#queue,
        workers: 1,
        metrics: controllerMetrics(name, 1, metrics),
      }),
    ]);
  }

  #follow(key: Key, { namespace, name }: ObjectRef): Informer<T> {
    const { resource, parse, onChange } = this.#options;
    const fieldSelector = `metadata.name=${name}`;
    return new Informer<T>(
      {
        listOptions: { resource, fieldSelector, ...(namespace !== undefined && { namespace }) },
        parse,
        onChange: (change) => {
          this.enqueue(key);
          onChange?.(change);
        },
      },
      this.#deps,
    );
  }
}
