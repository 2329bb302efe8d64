import { ownObjects } from "../api/names.ts";
import type { Metadata } from "../api/object.ts";
import { parseMetadata, stringMapAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import type { Result } from "../api/result.ts";
import { clusterList } from "../domain/gateway/cluster-list.ts";
import { isSame, mergePatch } from "../domain/plan/merge-patch.ts";
import { pauseMs, recordRepair, type Repair } from "../domain/plan/repairs.ts";
import type { Client } from "../kube/client/client.ts";
import { ObjectController, type ObjectControllerDeps } from "../kube/object-controller.ts";
import type { ConnectedClusters } from "./connected-clusters.ts";

/** Dependencies of {@link PublishedClusterList}. */
interface ClusterListDeps extends ObjectControllerDeps {
  readonly client: Pick<Client, "patch">;
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
/** The first wait before a change by another writer is undone, in milliseconds. */
const repairMs = 60_000;

/**
 * The ConfigMap from which every authenticated user learns the connected clusters. Every replica
 * writes it. A change by another writer is undone after a wait, because it may be that of a replica
 * which observed a cluster earlier, or which has other options during a rolling update; each wait
 * is longer than the one before.
 */
export class PublishedClusterList {
  readonly #deps: ClusterListDeps;
  readonly #options: ClusterListOptions;
  readonly #list: ObjectController<StoredList>;
  #ca: string | undefined;
  /** What the ConfigMap had when it was last as wanted. */
  #settled: Data | undefined;
  /** The last write. */
  #repair: Repair | undefined;
  /** When a change by another writer is undone, in milliseconds since the epoch. */
  #repairAt: number | undefined;
  #omitted = 0;

  constructor(deps: ClusterListDeps, options: ClusterListOptions) {
    const { namespace } = options;
    this.#deps = deps;
    this.#options = options;
    this.#list = new ObjectController<StoredList>(deps, {
      name,
      resource,
      objects: new Map([[name, { namespace, name: ownObjects.clusterList }]]),
      parse: (raw) => ({ metadata: parseMetadata(raw), data: stringMapAt(raw, "data") }),
      reconcile: () => this.#reconcile(),
    });
  }

  /** Writes the list after every change until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clusters } = this.#deps;
    void Promise.all([clusters.synced, this.#list.synced]).then(() => this.changed());
    await this.#list.run(signal);
  }

  /** Records that a cluster was connected or disconnected. */
  changed(): void {
    this.#list.enqueue(name);
  }

  /** Sets the CA of the gateway's certificates (PEM). */
  useCa(ca: string): void {
    this.#ca = ca;
    this.changed();
  }

  async #reconcile(): Promise<Result> {
    const { clock, client } = this.#deps;
    // The gateway may not create it.
    const stored = this.#list.get(name);
    const wanted = this.#wanted();
    if (stored === undefined || wanted === undefined) return { kind: "done" };
    const data = mergePatch(stored.data, wanted);
    if (data === undefined) {
      this.#settle(wanted);
      return { kind: "done" };
    }
    if (this.#settled !== undefined && isSame(this.#settled, wanted)) {
      const now = clock.now();
      this.#repairAt ??= now + (this.#repair ? pauseMs(this.#repair, repairMs, 0) : repairMs);
      if (now < this.#repairAt) return { kind: "requeue-at", at: this.#repairAt };
    }
    const { resourceVersion, uid } = stored.metadata;
    const body = { metadata: { resourceVersion, uid }, data };
    this.#list.observe(name, await client.patch(resource, stored.metadata, { body }));
    this.#repair = recordRepair(this.#repair, JSON.stringify(wanted), clock.monotonic());
    this.#settle(wanted);
    return { kind: "done" };
  }

  #settle(data: Data): void {
    this.#settled = data;
    this.#repairAt = undefined;
  }

  /** Undefined until the clusters and the CA are known. */
  #wanted(): Data | undefined {
    const listed = this.#deps.clusters.listed();
    if (listed === undefined || this.#ca === undefined) return undefined;
    const { data, omitted } = clusterList(listed, { ...this.#options, ca: this.#ca });
    if (omitted !== this.#omitted)
      this.#deps.log.warn(
        { count: listed.size, omitted },
        "the list of connected clusters is larger than a ConfigMap; the last names are left out",
      );
    this.#omitted = omitted;
    return data;
  }
}
