import { ownObjects } from "../api/names.ts";
import { keyOf, type Metadata } from "../api/object.ts";
import { parseMetadata, stringMapAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import type { Result } from "../api/result.ts";
import { clusterList } from "../domain/gateway/cluster-list.ts";
import { isSame, mergePatch } from "../domain/plan/merge-patch.ts";
import type { Client } from "../kube/client/client.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { InformerDeps } from "../kube/informer/informer-deps.ts";
import { runLoop } from "../kube/queue/loop.ts";
import { WorkQueue } from "../kube/queue/work-queue.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { ConnectedClusters } from "./connected-clusters.ts";

/** Dependencies of {@link PublishedClusterList}. */
interface ClusterListDeps extends InformerDeps {
  readonly client: Pick<Client, "patch">;
  readonly metrics: Pick<Metrics, "controller" | "queue">;
  readonly clusters: Pick<ConnectedClusters, "listed" | "synced">;
}

/** Where the ConfigMap is, and the address of the gateway in it. */
interface ClusterListOptions {
  readonly namespace: string;
  readonly externalUrl: string | undefined;
}

/** The stored ConfigMap. */
interface StoredList {
  readonly metadata: Metadata;
  readonly data: Readonly<Record<string, string>>;
}

type Data = StoredList["data"];

const name = "clusterlist";
const resource = resources.configMaps;
/** Wait before a change by another writer is undone. */
const repairMs = 10_000;

/**
 * The ConfigMap from which every authenticated user learns the connected clusters. Every replica
 * writes it. A change by another writer is undone after a wait, because it may be that of a replica
 * which observed a cluster earlier, or which has other options during a rolling update.
 */
export class PublishedClusterList {
  readonly #deps: ClusterListDeps;
  readonly #options: ClusterListOptions;
  readonly #queue: WorkQueue;
  readonly #informer: Informer<StoredList>;
  #ca: string | undefined;
  /** What the ConfigMap had when it was last as wanted. */
  #settled: Data | undefined;
  /** When a change by another writer is undone, in milliseconds since the epoch. */
  #repairAt: number | undefined;
  #omitted = 0;

  constructor(deps: ClusterListDeps, options: ClusterListOptions) {
    const { clock, random, metrics } = deps;
    this.#deps = deps;
    this.#options = options;
    this.#queue = new WorkQueue({ clock, random, metrics: metrics.queue(name) });
    this.#informer = new Informer<StoredList>(
      {
        listOptions: {
          resource,
          namespace: options.namespace,
          fieldSelector: `metadata.name=${ownObjects.clusterList}`,
        },
        parse: (raw) => ({ metadata: parseMetadata(raw), data: stringMapAt(raw, "data") }),
        onChange: () => this.changed(),
      },
      deps,
    );
  }

  /** Writes the list after every change until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, yielder, log, metrics, clusters } = this.#deps;
    void Promise.all([clusters.synced, this.#informer.synced]).then(() => this.changed());
    await Promise.all([
      this.#informer.run(signal),
      runLoop({
        ...{ name, clock, yielder, log, signal },
        queue: this.#queue,
        reconcile: () => this.#reconcile(),
        workers: 1,
        metrics: metrics.controller(name, 1),
      }),
    ]);
  }

  /** Records that a cluster was connected or disconnected. */
  changed(): void {
    this.#queue.add(name, "high");
  }

  /** Sets the CA of the gateway's certificates (PEM). */
  useCa(ca: string): void {
    this.#ca = ca;
    this.changed();
  }

  async #reconcile(): Promise<Result> {
    const stored = this.#stored();
    const wanted = this.#wanted();
    if (stored === undefined || wanted === undefined) return { kind: "done" };
    const data = mergePatch(stored.data, wanted);
    if (data === undefined) {
      this.#settle(wanted);
      return { kind: "done" };
    }
    if (this.#settled !== undefined && isSame(this.#settled, wanted)) {
      const now = this.#deps.clock.now();
      this.#repairAt ??= now + repairMs;
      if (now < this.#repairAt) return { kind: "requeue-at", at: this.#repairAt };
    }
    const { resourceVersion, uid } = stored.metadata;
    const body = { metadata: { resourceVersion, uid }, data };
    this.#informer.observe(await this.#deps.client.patch(resource, stored.metadata, { body }));
    this.#settle(wanted);
    return { kind: "done" };
  }

  #settle(data: Data): void {
    this.#settled = data;
    this.#repairAt = undefined;
  }

  /** The ConfigMap; undefined if it does not exist, because the gateway may not create it. */
  #stored(): StoredList | undefined {
    const { namespace } = this.#options;
    return this.#informer.store.get(keyOf({ namespace, name: ownObjects.clusterList }));
  }

  /** Undefined until the clusters and the CA are known. */
  #wanted(): Data | undefined {
    const listed = this.#deps.clusters.listed();
    if (listed === undefined || this.#ca === undefined) return undefined;
    const { data, omitted } = clusterList(listed, { ...this.#options, ca: this.#ca });
    if (omitted !== this.#omitted)
      this.#deps.log.warn(
        { clusters: listed.size, omitted },
        "the list of connected clusters is larger than a ConfigMap; the last names are left out",
      );
    this.#omitted = omitted;
    return data;
  }
}
