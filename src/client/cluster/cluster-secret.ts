import { annotations, labels } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import { parseLatchkeyMetadata } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { clustersNamespace } from "../../domain/gateway/connected-cluster.ts";
import { secretsByCluster } from "../../domain/outbox/connected-clusters.ts";
import {
  clusterSecretObject,
  clustersNamespaceObject,
} from "../../domain/outbox/outbox-objects.ts";
import type { ConnectedCli } from "../cli.ts";
import { type Cluster, preconditions } from "../connection/cluster.ts";
import { existing, type Readable, readWith } from "../missing-right.ts";
import { doneText } from "../output.ts";
import type { ClusterData } from "./cluster-address.ts";
import { ensureObject } from "./ensure-object.ts";

const namespace = clustersNamespace;
const { secrets } = resources;

/** The metadata of the Secrets that connect clusters: of one name, or of all without it. */
export async function clusterSecrets(
  { select }: Pick<Cluster, "select">,
  cluster?: string,
): Promise<readonly Metadata[]> {
  const labelSelector = cluster === undefined ? labels.cluster : `${labels.cluster}=${cluster}`;
  const found = await select({ resource: secrets, namespace, labelSelector, metadataOnly: true });
  return found.map(parseLatchkeyMetadata);
}

/** The same of all of them, for a user who may not list them. */
export function readClusterSecrets(cluster: Cluster): Promise<Readable<readonly Metadata[]>> {
  const right = { verb: "list", resource: secrets, namespace } as const;
  return readWith(right, () => clusterSecrets(cluster), []);
}

/** What the Secret of a cluster shall have. */
interface SecretTerms {
  readonly name: string;
  /** Its list of projects, which stays if this is undefined. */
  readonly projects: string | undefined;
  /** The data that changes. */
  readonly data: ClusterData;
}

/** Creates the Secret that connects a cluster if there is none, or gives it what it shall have. */
export async function ensureClusterSecret(
  { name, projects, data }: SecretTerms,
  found: Metadata | undefined,
  { cluster, cli: { terminal } }: ConnectedCli,
): Promise<Metadata> {
  if (found === undefined) {
    await ensureObject(clustersNamespaceObject, cluster);
    const { manifest } = clusterSecretObject(name, projects);
    const given = Object.fromEntries(Object.entries(data).filter(([, text]) => text !== null));
    const content = Object.keys(given).length === 0 ? {} : { data: given };
    const created = await cluster.create(secrets, { ...manifest, ...content });
    terminal.say(doneText(secrets, { name }, `created in ${namespace} namespace`));
    return parseLatchkeyMetadata(created);
  }
  const isOther = projects !== undefined && found.annotations[annotations.projects] !== projects;
  const changes = [...(isOther ? ["projects"] : []), ...Object.keys(data)];
  if (changes.length === 0) return found;
  const marks = isOther ? { annotations: { [annotations.projects]: projects } } : {};
  const metadata = { ...preconditions({ metadata: found }), ...marks };
  const ref = { namespace, name: found.name };
  const body = { metadata, ...(Object.keys(data).length === 0 ? {} : { data }) };
  const stored = await cluster.patch(secrets, ref, { body });
  const what = `set ${changes.join(", ")} in ${namespace} namespace`;
  terminal.say(doneText(secrets, ref, what));
  return parseLatchkeyMetadata(stored);
}

/** The Secret that counts of those with the name of a cluster. */
export function secretOf(found: readonly Metadata[], cluster: string): Metadata | undefined {
  return secretsByCluster(found).get(cluster);
}

/** The metadata of a namespace; undefined if it does not exist. */
export async function namespaceNamed(
  name: string,
  { getMetadata }: Pick<Cluster, "getMetadata">,
): Promise<Metadata | undefined> {
  const raw = await existing(() => getMetadata(resources.namespaces, { name }));
  return raw === undefined ? undefined : parseLatchkeyMetadata(raw);
}
