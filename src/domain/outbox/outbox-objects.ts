import { annotations, components, labels, ownLabel, ownObjects } from "../../api/names.ts";
import type { Manifest } from "../../api/object.ts";
import { apiVersionOf, type Resource, resources } from "../../api/resources.ts";
import type { Wire } from "../../api/wire.ts";
import { clustersNamespace } from "../gateway/connected-cluster.ts";
import type { ConnectedCluster } from "./consents.ts";
import { agentUser, outboxNamespace, reportCount, reportName } from "./outbox-names.ts";

/** An object as `cluster connect` creates it. */
export interface OutboxObject {
  readonly resource: Resource;
  readonly manifest: Manifest;
  /** What becomes of one that exists: an administrator may have given it other bounds. */
  readonly existing: "repaired" | "kept";
}

/** Labels of a namespace in which no pod needs a privilege. */
const namespaceLabels = { ...ownLabel, "pod-security.kubernetes.io/enforce": "restricted" };

/** The name of the objects of an outbox of which there is one of each kind. */
const agentName = ownObjects.agentLease;

/** Bounds of an outbox: its Secrets, and its reports with what controllers put everywhere. */
const hard = { pods: "0", secrets: "20000", configmaps: String(reportCount + 16) };

const reading = ["get", "list", "watch"];
const updating = ["get", "update"];

/** What an agent may do in its outbox: its Role, and the scope of its key. */
function rights(): readonly Right[] {
  const reports = Array.from({ length: reportCount }, (_, number) => reportName(number));
  return [
    { resource: resources.secrets, names: [], verbs: reading },
    { resource: resources.configMaps, names: reports, verbs: updating },
    { resource: resources.leases, names: [agentName], verbs: updating },
  ];
}

interface Right {
  readonly resource: Resource;
  /** Empty for all objects of the namespace. */
  readonly names: readonly string[];
  readonly verbs: readonly string[];
}

/** The namespace with the kubeconfigs and consents of connected clusters. */
export const clustersNamespaceObject: OutboxObject = {
  resource: resources.namespaces,
  existing: "kept",
  manifest: manifestOf(resources.namespaces, { name: clustersNamespace, labels: namespaceLabels }),
};

/** The Secret that connects a cluster; `projects` is the text of its annotation. */
export function clusterSecretObject(cluster: string, projects: string | undefined): OutboxObject {
  const marks = projects === undefined ? {} : { [annotations.projects]: projects };
  return {
    resource: resources.secrets,
    existing: "kept",
    manifest: manifestOf(resources.secrets, {
      namespace: clustersNamespace,
      name: cluster,
      annotations: marks,
      labels: { ...ownLabel, [labels.cluster]: cluster },
    }),
  };
}

/** The namespace with the outbox of a cluster. */
export function outboxNamespaceObject({ name, uid }: ClusterIdentity): OutboxObject {
  return {
    resource: resources.namespaces,
    existing: "repaired",
    manifest: manifestOf(resources.namespaces, {
      name: outboxNamespace(name),
      labels: namespaceLabels,
      annotations: { [annotations.clusterUid]: uid },
    }),
  };
}

type ClusterIdentity = Pick<ConnectedCluster, "name" | "uid">;

/**
 * What an outbox has from its begin, in the order of creation: the quota is last, because the API
 * server refuses everything in its namespace until a controller has counted.
 */
export function outboxObjects(cluster: string): readonly OutboxObject[] {
  const namespace = outboxNamespace(cluster);
  const object = (
    resource: Resource,
    { name = agentName, component = "", ...content }: OutboxContent = {},
  ): OutboxObject => ({
    resource,
    existing: resource === resources.resourceQuotas ? "kept" : "repaired",
    manifest: {
      ...manifestOf(resource, {
        namespace,
        name,
        labels: component === "" ? ownLabel : { ...ownLabel, [labels.component]: component },
      }),
      ...content,
    },
  });
  const { group: apiGroup, kind } = resources.roles;
  return [
    object(resources.roles, {
      rules: rights().map(({ resource, names, verbs }) => ({
        apiGroups: [resource.group],
        resources: [resource.plural],
        verbs,
        ...(names.length === 0 ? {} : { resourceNames: names }),
      })),
    } satisfies Pick<Wire<"Role">, "rules">),
    object(resources.roleBindings, {
      roleRef: { apiGroup, kind, name: agentName },
      subjects: [{ apiGroup, kind: "User", name: agentUser(cluster) }],
    } satisfies Pick<Wire<"RoleBinding">, "roleRef" | "subjects">),
    ...Array.from({ length: reportCount }, (_, number) =>
      object(resources.configMaps, {
        name: reportName(number),
        component: components.clusterReport,
      }),
    ),
    object(resources.leases, { component: components.clusterAgent }),
    object(resources.resourceQuotas, {
      name: "outbox",
      spec: { hard } satisfies Wire<"ResourceQuota">["spec"],
    }),
  ];
}

interface OutboxContent {
  readonly name?: string;
  readonly component?: string;
  readonly [field: string]: unknown;
}

/** The spec of the OwnedAccessKey of an agent: what its Role permits and nothing else. */
export function agentKeySpec(cluster: string): Readonly<Record<string, unknown>> {
  const namespaces = [outboxNamespace(cluster)];
  return {
    subject: agentUser(cluster),
    displayName: `Agent of cluster ${cluster}`,
    description: `Reads the outbox of cluster ${cluster} and reports what became of it`,
    scope: {
      rules: rights().map(({ resource: { group, plural }, names, verbs }) => ({
        verbs,
        namespaces,
        requestTargets: ["Management"],
        resources: [{ group, resources: [plural] }],
        ...(names.length === 0 ? {} : { resourceNames: names }),
      })),
    },
  };
}

/** The namespace of the agent in a connected cluster. */
export function agentNamespaceManifest(namespace: string): Manifest {
  return manifestOf(resources.namespaces, { name: namespace, labels: namespaceLabels });
}

/** The Secret with the kubeconfig of the central cluster, in a connected cluster; base64 values. */
export function centralSecretManifest(
  namespace: string,
  data: Readonly<Record<string, string>>,
): Manifest {
  const { secrets } = resources;
  const name = ownObjects.central;
  return { ...manifestOf(secrets, { namespace, name, labels: ownLabel }), data };
}

function manifestOf(resource: Resource, metadata: Manifest["metadata"]): Manifest {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
}
