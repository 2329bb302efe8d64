import { createHash } from "node:crypto";
import { keyOf, type Metadata } from "../api/object.ts";
import { parseMetadata, recordAt, stringAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import type { RequestLocations } from "../authn/request-locations.ts";
import {
  type ClusterAccess,
  parseClusterKubeconfig,
  type RefusedKubeconfig,
} from "../domain/gateway/cluster-kubeconfig.ts";
import type { ListedClusters } from "../domain/gateway/cluster-list.ts";
import {
  clusterOfSecret,
  clustersNamespace,
  connectedBySecret,
  connectedLocation,
  connectionName,
  currentOf,
  kubeconfigKey,
  virtualClusterNamespaceOf,
} from "../domain/gateway/connected-cluster.ts";
import {
  type DirectAddress,
  directKeys,
  parseDirectAddress,
} from "../domain/gateway/direct-address.ts";
import { credentialState } from "../domain/gateway/credential-end.ts";
import type { Validity } from "../domain/lifetime.ts";
import { throttledReason, throttledText } from "../domain/outbox/cluster-overview.ts";
import type { RequestLocation } from "../domain/scope/scoped-request.ts";
import { clusterKubeconfigYaml } from "../kube/credentials/kubeconfig.ts";
import type { EventRecorder } from "../kube/event-recorder.ts";
import type { InformerDeps } from "../kube/informer/informer-options.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { Change } from "../kube/informer/store.ts";
import { type WatchReading, watchReadings } from "../kube/informer/watch-metrics.ts";
import { credentialValidity } from "../tokens/cluster-credential.ts";
import type { GatewayUpstream } from "./upstreams.ts";

/** Dependencies of {@link ConnectedClusters}. */
interface ConnectedClustersDeps extends InformerDeps {
  readonly events: Pick<EventRecorder, "record">;
  /** Opens the way to a cluster; `base` is the location of every request to it. */
  readonly connect: (access: ClusterAccess, base: RequestLocation) => ConnectedUpstream;
  /** Called after a cluster was connected, disconnected or connected in another way. */
  readonly onChange: () => void;
}

/** The way to a connected cluster. */
export interface ConnectedUpstream extends GatewayUpstream {
  readonly locations: RequestLocations;
  /** Whether the API server answers, and accepts the credential of the kubeconfig. */
  isReachable(): Promise<boolean>;
  /** Whether it has sent more than the gateway reads of one cluster for half a minute. */
  readonly isThrottled: boolean;
  close(): Promise<void>;
}

/** A Secret that connects a cluster. */
interface ClusterSecret {
  readonly metadata: Metadata;
  /** Undefined for a cluster that the gateway does not reach: only its agent connects it. */
  readonly kubeconfig: ClusterAccess | RefusedKubeconfig | undefined;
  /** When the credential of the kubeconfig is valid, if it says so. */
  readonly validity: Validity | undefined;
  /** The address for direct tokens, or why that of the Secret is not published. */
  readonly direct: DirectAddress | string | undefined;
  /** Changes with the kubeconfig, and with the namespace of a virtual cluster. */
  readonly digest: string;
}

interface Connection {
  readonly digest: string;
  readonly upstream: ConnectedUpstream;
}

const nameIndex = "connection";
/** Maximum number of clusters that warnings name. */
const mostWarnings = 10;

/**
 * The connected clusters: kubeconfigs in Secrets of a namespace of their own. A cluster is
 * connected when it is first used; another kubeconfig is another connection, and ends what the
 * former one carries.
 */
export class ConnectedClusters {
  readonly #deps: ConnectedClustersDeps;
  readonly #informer: Informer<ClusterSecret>;
  readonly #connections = new Map<string, Connection>();
  /** The hour of the last Event about each throttled cluster. */
  readonly #throttledIn = new Map<string, number>();

  constructor(deps: ConnectedClustersDeps) {
    this.#deps = deps;
    this.#informer = new Informer<ClusterSecret>(
      {
        listOptions: { resource: resources.secrets, namespace: clustersNamespace },
        parse: parseClusterSecret,
        indexers: { [nameIndex]: ({ metadata }) => [connectionName(metadata) ?? ""] },
        onChange: (change) => this.#changed(change),
      },
      deps,
    );
  }

  /** Follows the Secrets until the signal aborts, and closes all connections. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#informer.run(signal);
    await Promise.all([...this.#connections.values()].map(({ upstream }) => upstream.close()));
  }

  /** Resolves when the Secrets are listed. */
  get synced(): Promise<void> {
    return this.#informer.synced;
  }

  /**
   * The connected clusters with their direct addresses, without virtual clusters; undefined until
   * the Secrets are listed.
   */
  listed(): ListedClusters | undefined {
    if (!this.#informer.watchState.isSynced) return undefined;
    const names = [...this.#informer.store.values()].map(({ metadata }) =>
      clusterOfSecret(metadata),
    );
    return new Map(
      [...new Set(names)].flatMap((cluster) => {
        const current = cluster && this.#access(`cluster/${cluster}`);
        if (!current) return [];
        const { direct } = current;
        return [[cluster, typeof direct === "string" ? undefined : direct] as const];
      }),
    );
  }

  /** The names of all clusters with a kubeconfig, also with one that is not usable. */
  names(): readonly string[] {
    const { store } = this.#informer;
    return [...store.namesIn(nameIndex)].filter(
      (name) => name !== "" && currentOf(store.by(nameIndex, name))?.kubeconfig !== undefined,
    );
  }

  /** Number of clusters whose credential is in the last tenth of its lifetime. */
  expiring(): number {
    const now = this.#deps.clock.now();
    return this.names().filter((name) => {
      const validity = this.#access(name)?.validity;
      return validity !== undefined && credentialState(validity, now) === "Expiring";
    }).length;
  }

  /** Says in an Event, once an hour, that a cluster is throttled. */
  reportThrottled(name: string): void {
    const secret = currentOf(this.#informer.store.by(nameIndex, name));
    const hour = Math.floor(this.#deps.clock.now() / 3_600_000);
    if (secret === undefined || this.#throttledIn.get(name) === hour) return;
    this.#throttledIn.set(name, hour);
    const note = `${throttledText(clusterOfSecret(secret.metadata) ?? name)}.`;
    this.#report(secret, throttledReason, note, String(hour));
  }

  /** The watch and the number of Secrets. */
  watches(): readonly WatchReading[] {
    return watchReadings([this.#informer], this.#deps.clock);
  }

  /** The way to a cluster; undefined if no Secret with a usable kubeconfig has its name. */
  find(name: string): ConnectedUpstream | undefined {
    const access = this.#access(name);
    if (access === undefined) return undefined;
    const { digest, kubeconfig, metadata } = access;
    const open = this.#connections.get(name);
    if (open?.digest === digest) return open.upstream;
    // The Secret changed, and its change is not settled yet.
    void open?.upstream.close();
    const { namespace } = virtualClusterNamespaceOf(metadata);
    const base = connectedLocation(access.connects, namespace);
    const upstream = this.#deps.connect(kubeconfig, base);
    this.#connections.set(name, { digest, upstream });
    return upstream;
  }

  /** Where labels of namespaces do not count, although a scope needs them, one sentence each. */
  warnings(): readonly string[] {
    const all = [...this.#connections.values()].flatMap(({ upstream }) =>
      upstream.locations.warnings(),
    );
    const more = all.length - mostWarnings;
    return more > 0 ? [...all.slice(0, mostWarnings), `the same in ${more} more clusters`] : all;
  }

  /** Whether labels of namespaces count, by the name of each cluster where a scope needs them. */
  trust(): readonly (readonly [cluster: string, areTrusted: boolean])[] {
    return [...this.#connections].flatMap(([name, { upstream }]) => {
      const { areTrusted } = upstream.locations;
      return areTrusted === undefined ? [] : [[name, areTrusted] as const];
    });
  }

  /** What the Secret of a cluster says, if its kubeconfig is usable. */
  #access(name: string) {
    const current = currentOf(this.#informer.store.by(nameIndex, name));
    const connects = current && connectedBySecret(current.metadata);
    if (connects === undefined || current?.kubeconfig?.kind !== "access") return undefined;
    return { ...current, kubeconfig: current.kubeconfig, connects };
  }

  #changed({ before, after }: Change<ClusterSecret>): void {
    const names = [before, after].flatMap((secret) =>
      secret === undefined ? [] : (connectionName(secret.metadata) ?? []),
    );
    // The store has the change when this turn of the event loop is over.
    queueMicrotask(() => {
      for (const name of new Set(names)) this.#settle(name);
      this.#deps.onChange();
    });
  }

  /** Closes a connection that is not the current one any more, and reports what is not used. */
  #settle(name: string): void {
    const secrets = this.#informer.store.by(nameIndex, name);
    const current = currentOf(secrets);
    const open = this.#connections.get(name);
    const isCurrent = current?.kubeconfig?.kind === "access" && open?.digest === current.digest;
    if (open !== undefined && !isCurrent) {
      this.#connections.delete(name);
      this.#throttledIn.delete(name);
      void open.upstream.close();
    }
    for (const secret of secrets) {
      const { kubeconfig, direct, metadata } = secret;
      const { problem } = virtualClusterNamespaceOf(metadata);
      if (problem !== undefined)
        this.#report(secret, "InvalidVirtualClusterNamespace", `${problem}.`);
      if (typeof direct === "string") this.#report(secret, "InvalidDirectAddress", `${direct}.`);
      if (kubeconfig?.kind === "refused")
        this.#report(secret, "InvalidKubeconfig", `data[${kubeconfigKey}]: ${kubeconfig.problem}.`);
      else if (current !== undefined && secret !== current)
        this.#report(
          secret,
          "DuplicateCluster",
          `Secret ${JSON.stringify(keyOf(current.metadata))} is older and connects the same ` +
            "cluster, so this one is not used. Delete one of them, or change its labels.",
        );
    }
  }

  #report({ metadata, digest }: ClusterSecret, reason: string, note: string, when = ""): void {
    const { namespace, name, uid } = metadata;
    void this.#deps.events.record({
      resource: resources.secrets,
      subject: { ...(namespace === undefined ? {} : { namespace }), name, uid },
      type: "Warning",
      reason,
      note,
      deduplicationKey: `${digest} ${note} ${when}`,
    });
  }
}

function parseClusterSecret(raw: unknown): ClusterSecret {
  const decoded = (key: string): string | undefined => {
    const encoded = stringAt(recordAt(raw, "data"), key);
    return encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8");
  };
  const text = decoded(kubeconfigKey);
  const metadata = parseMetadata(raw);
  const { namespace = "" } = virtualClusterNamespaceOf(metadata);
  const kubeconfig =
    text === undefined ? undefined : parseClusterKubeconfig(clusterKubeconfigYaml(text));
  return {
    metadata,
    kubeconfig,
    validity: kubeconfig?.kind === "access" ? credentialValidity(kubeconfig) : undefined,
    direct: parseDirectAddress(decoded(directKeys.server), decoded(directKeys.ca)),
    digest: createHash("sha256")
      .update(`${namespace}/${text ?? ""}`)
      .digest("hex"),
  };
}
