import { components, labels, ownObjects, revokedTokensName } from "../../src/api/names.ts";
import { clustersNamespace } from "../../src/domain/gateway/connected-cluster.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import { connectorKeySecret } from "../../src/tokens/connector-data.ts";
import { admin, patchTypes } from "../support/cluster-connection.ts";
import { eastOf, isVisible, type View } from "../support/visible-objects.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

const leasesOf = (system: string) => `/apis/coordination.k8s.io/v1/namespaces/${system}/leases`;
const secretsOf = (system: string) => `/api/v1/namespaces/${system}/secrets`;
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const api = "/apis/management.service/v1";
const clusterSecrets = `/api/v1/secrets?labelSelector=${encodeURIComponent(labels.cluster)}`;
const requesterHash = encodeURIComponent(labels.requesterHash);

/** Plays runs one after the other, in namespaces that no other worker uses. */
export class Worker {
  readonly cluster: ProxiedCluster;
  readonly #name: string;
  #runs = 0;

  private constructor(cluster: ProxiedCluster, name: string) {
    this.cluster = cluster;
    this.#name = name;
  }

  static async open(cluster: ProxiedCluster, name: string): Promise<Worker> {
    await cluster.arrange({
      method: "POST",
      path: "/api/v1/namespaces",
      body: { metadata: { name: `${name}-system` } },
    });
    // One for all workers.
    await cluster.ask(admin, {
      method: "POST",
      path: "/api/v1/namespaces",
      body: { metadata: { name: clustersNamespace } },
    });
    // Created by the first webhook that needs it, and kept, so that runs do not differ.
    await cluster.arrange({
      method: "POST",
      path: secretsOf(`${name}-system`),
      body: JSON.parse(encodeBody(connectorKeySecret(`${name}-system`))),
    });
    return new Worker(cluster, name);
  }

  /** New names for one run; the Lease has no holder. */
  async nextView(): Promise<View> {
    this.#runs += 1;
    const system = `${this.#name}-system`;
    for (const lease of [ownObjects.lease, ownObjects.agentLease])
      await this.cluster.ask(admin, { method: "DELETE", path: `${leasesOf(system)}/${lease}` });
    return { prefix: `${this.#name}x${this.#runs}-`, system };
  }

  /** Deletes the objects of a run, by force. */
  async tidy(view: View): Promise<void> {
    await Promise.all([this.#tidy(view), this.#tidy(eastOf(view))]);
  }

  async #tidy(view: View): Promise<void> {
    const clusterWide = [
      `${api}/ownedaccesskeys`,
      `${api}/directclusterendpointtokens`,
      `${rbac}/clusterroles?labelSelector=${requesterHash}`,
      `${rbac}/clusterrolebindings?labelSelector=${requesterHash}`,
    ];
    await Promise.all(
      [...clusterWide, `${api}/sharedsecrets`, clusterSecrets].map((path) =>
        this.#removeAll(view, path),
      ),
    );
    const namespaces = listAt(
      await this.cluster.arrange({ method: "GET", path: "/api/v1/namespaces" }),
      "items",
    ).filter((item) => isVisible(view, "namespaces", item));
    await this.cluster.ask(admin, {
      method: "DELETE",
      path: `${secretsOf(view.system)}?labelSelector=${encodeURIComponent(`${labels.component} in (${components.connectorData},${components.webhookCertificates})`)}`,
    });
    // The entries stay until the tokens would expire, and would be removed during a later run.
    await this.cluster.ask(admin, {
      method: "PATCH",
      path: `/api/v1/namespaces/${view.system}/configmaps/${revokedTokensName(0)}`,
      type: patchTypes.merge,
      body: { data: null },
    });
    await Promise.all(
      namespaces.map((namespace) =>
        this.#removeNamespace(stringAt(recordAt(namespace, "metadata"), "name") ?? ""),
      ),
    );
  }

  async #removeAll(view: View, path: string): Promise<void> {
    const items = listAt(await this.cluster.arrange({ method: "GET", path }), "items").filter(
      (item) => isVisible(view, "", item),
    );
    const [collection = ""] = path.split("?");
    for (const item of items) {
      const { name, namespace } = recordAt(item, "metadata");
      const place =
        typeof namespace === "string"
          ? collection.replace(/\/([^/]+)$/, `/namespaces/${namespace}/$1`)
          : collection;
      await this.cluster.ask(admin, {
        method: "PATCH",
        path: `${place}/${String(name)}`,
        type: patchTypes.merge,
        body: { metadata: { finalizers: null } },
      });
      await this.cluster.ask(admin, { method: "DELETE", path: `${place}/${String(name)}` });
    }
  }

  /** There is no controller manager that would finish it. */
  async #removeNamespace(name: string): Promise<void> {
    const inside = [
      `/api/v1/namespaces/${name}/secrets`,
      `/api/v1/namespaces/${name}/configmaps`,
      `/apis/coordination.k8s.io/v1/namespaces/${name}/leases`,
      `${rbac}/namespaces/${name}/roles`,
      `${rbac}/namespaces/${name}/rolebindings`,
      `/apis/events.k8s.io/v1/namespaces/${name}/events`,
    ];
    await Promise.all(inside.map((path) => this.cluster.ask(admin, { method: "DELETE", path })));
    const path = `/api/v1/namespaces/${name}`;
    await this.cluster.ask(admin, { method: "DELETE", path });
    await this.cluster.ask(admin, {
      method: "PUT",
      path: `${path}/finalize`,
      body: { apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: { finalizers: [] } },
    });
  }
}
