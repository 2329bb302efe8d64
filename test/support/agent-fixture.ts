import { annotations, labels } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { parseSharedSecret } from "../../src/api/shared-secret.ts";
import {
  type ClusterReport,
  parseReport,
  reportKey,
} from "../../src/domain/outbox/cluster-report.ts";
import { outboxName, outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import {
  clusterSecretObject,
  clustersNamespaceObject,
  type OutboxObject,
  outboxNamespaceObject,
  outboxObjects,
} from "../../src/domain/outbox/outbox-objects.ts";
import { outboxManifest, tombstoneManifest } from "../../src/domain/outbox/outbox-secret.ts";
import { clustersNamespace } from "../../src/domain/gateway/connected-cluster.ts";
import { collectionPath } from "../../src/kube/client/paths.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import { createDataDigest } from "../../src/tokens/data-digest.ts";
import { observedSource } from "../../src/tokens/observed-data.ts";
import { type Answer, type Ask, get, mergePatch, post, remove } from "./cluster-connection.ts";
import { type DedicatedCluster, startDedicatedCluster } from "./dedicated-cluster.ts";
import { kubeconfigFor } from "./control-plane-handle.ts";
import { eventually } from "./eventually.ts";
import { applyClusterAgentRbac } from "./install.ts";
import {
  type LatchkeyOptions,
  type LatchkeyProcess,
  startClusterAgent,
} from "./latchkey-process.ts";
import { latchkeyAccount, unique } from "./policy-request.ts";
import { base64 } from "./shared-secret-requests.ts";

/** The name of the connected cluster. */
const cluster = "east";
const outbox = outboxNamespace(cluster);
/** The user of the agent in the central cluster. */
export const agentUser = `latchkey-cluster-agent:${cluster}`;
/** The namespace of all sources; it need not exist. */
const home = "team-a";

/** A user of the connected cluster without any right. */
export const tenantUser = "bob";

/** The path of the Lease in the outbox. */
export const centralLeasePath = `/apis/coordination.k8s.io/v1/namespaces/${outbox}/leases/latchkey-cluster-agent`;

/** A source, as the central cluster offers it to the connected one. */
export interface Offered {
  readonly name: string;
  readonly uid: string;
}

/** What a test offers. */
interface Offer {
  readonly project: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** An agent between two clusters; the test plays the controller of the central one. */
export interface AgentFixture {
  readonly central: DedicatedCluster;
  readonly east: DedicatedCluster;
  readonly agent: LatchkeyProcess;
  /** Writes an entry of a source into the outbox, or replaces it. */
  offer(source: Offered, offer: Offer): Promise<void>;
  /** Changes annotations of an entry. */
  annotate(source: Offered, changes: Readonly<Record<string, string>>): Promise<void>;
  /** Replaces an entry by its tombstone, or creates that. */
  withdraw(source: Offered): Promise<void>;
  /** Deletes an entry. */
  forget(source: Offered): Promise<void>;
  /** What all reports of the agent say together. */
  report(): Promise<ClusterReport>;
  /** The Secret in the connected cluster; its code is 404 if there is none. */
  secret(namespace: string, name: string): Promise<Answer>;
  /** Waits until the Secret has these values, in plain text. */
  arrives(place: Place, data: Readonly<Record<string, string>>): Promise<Answer>;
  /** Waits until there is no such Secret. */
  goes(place: Place): Promise<void>;
  /** The argument with the credential of the agent. */
  readonly credential: string;
  /** Starts another agent with these arguments; its files are in a new directory. */
  startAgent(
    args: readonly string[],
    identity?: string,
    options?: Pick<LatchkeyOptions, "env" | "restart">,
  ): Promise<LatchkeyProcess>;
  stop(): Promise<void>;
}

/** A Secret in the connected cluster. */
export interface Place {
  readonly namespace: string;
  readonly name: string;
}

/** A source that no other test uses. */
export function newSource(): Offered {
  return { name: unique("db"), uid: unique("uid") };
}

/** The path of a Secret, or of all Secrets of a namespace. */
export function secretPath({ namespace, name = "" }: Partial<Place>): string {
  return `/api/v1/namespaces/${namespace}/secrets${name === "" ? "" : `/${name}`}`;
}

/** Creates a namespace of a project that asks for copies. */
export async function makeTarget(
  east: DedicatedCluster,
  project: string,
  others: Readonly<Record<string, string>> = {},
): Promise<string> {
  const name = unique("target");
  const metadata = {
    name,
    labels: { [labels.project]: project },
    annotations: { [annotations.sync]: "enabled", ...others },
  };
  await east.arrange(post("/api/v1/namespaces", { metadata }));
  return name;
}

/** Starts both clusters, prepares the outbox, and starts an agent with more arguments. */
export async function startAgentFixture(args: readonly string[] = []): Promise<AgentFixture> {
  const [central, east] = await Promise.all([
    startDedicatedCluster({ users: [{ name: agentUser, groups: [] }] }),
    // It serves no SharedSecrets.
    startDedicatedCluster({ install: "nothing", users: [{ name: tenantUser, groups: [] }] }),
  ]);
  const agents: LatchkeyProcess[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(agents.map((agent) => agent.stop()));
    await Promise.all([central.stop(), east.stop()]);
  };
  const startAgent: AgentFixture["startAgent"] = async (more, identity = "agent", options = {}) => {
    const agent = await startClusterAgent({
      controlPlane: east.controlPlane,
      program: east.program,
      identity,
      args: [`--cluster-name=${cluster}`, ...more],
      ...options,
    });
    agents.push(agent);
    return agent;
  };
  try {
    await makeOutbox(central);
    await applyClusterAgentRbac(east.controlPlane);
    const credential = `--central-kubeconfig=${kubeconfigFor(central.controlPlane, agentUser)}`;
    const agent = await startAgent([credential, ...args]);
    await agent.waitReady();
    return {
      central,
      east,
      agent,
      credential,
      startAgent,
      stop,
      ...outboxOf(central),
      ...secretsOf(east),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Connects the cluster, which may be connected already, and lets all projects in. */
export async function makeOutbox(central: DedicatedCluster): Promise<void> {
  const create = async ({ resource, manifest }: OutboxObject): Promise<void> => {
    const collection = collectionPath(resource, manifest.metadata.namespace);
    const { code, message } = await central.ask({}, post(collection, manifest));
    if (code !== 201 && code !== 409) throw new Error(`${manifest.kind}: ${code} ${message}`);
  };
  // It exists where the gateway is installed.
  await create(clustersNamespaceObject);
  await create(clusterSecretObject(cluster, "*"));
  const path = secretPath({ namespace: clustersNamespace, name: cluster });
  const uid = String((await central.arrange(get(path))).metadata["uid"]);
  for (const object of [outboxNamespaceObject({ name: cluster, uid }), ...outboxObjects(cluster)])
    await create(object);
}

function outboxOf(
  central: DedicatedCluster,
): Pick<AgentFixture, "offer" | "annotate" | "withdraw" | "forget" | "report"> {
  const controller = latchkeyAccount("latchkey-controller");
  const collection = secretPath({ namespace: outbox });
  const pathOf = ({ name }: Offered): string =>
    `${collection}/${outboxName({ namespace: home, name })}`;
  const asController = async (request: Ask): Promise<Answer> => {
    const answer = await central.ask(controller, request);
    if (answer.code < 300) return answer;
    throw new Error(`${request.method} ${request.path}: ${answer.code} ${answer.message}`);
  };
  const write = async (source: Offered, manifest: object): Promise<void> => {
    const body: unknown = JSON.parse(encodeBody(manifest));
    const { code } = await central.ask(controller, get(pathOf(source)));
    await asController(
      code === 404 ? post(collection, body) : { method: "PUT", path: pathOf(source), body },
    );
  };
  return {
    offer: (source, offer) => write(source, offeredManifest(source, offer)),
    annotate: async (source, changes) =>
      void (await asController(mergePatch(pathOf(source), { metadata: { annotations: changes } }))),
    withdraw: ({ name, uid }) =>
      write(
        { name, uid },
        tombstoneManifest({ cluster, source: { namespace: home, name }, uid }, now()),
      ),
    forget: async (source) => void (await asController(remove(pathOf(source)))),
    async report() {
      const found = await central.arrange(get(`/api/v1/namespaces/${outbox}/configmaps`));
      const reports = listAt(found, "items").map((item) =>
        parseReport(stringAt(recordAt(item, "data"), reportKey) ?? ""),
      );
      const problem = reports.find((each) => each.problem !== undefined)?.problem;
      return {
        sources: new Map(reports.flatMap(({ sources }) => [...sources])),
        done: new Map(reports.flatMap(({ done }) => [...done])),
        unknown: new Map(reports.flatMap(({ unknown }) => [...unknown])),
        ...(problem === undefined ? {} : { problem }),
      };
    },
  };
}

function offeredManifest({ name, uid }: Offered, { project, data, ...offer }: Offer): object {
  const values = Object.entries(data ?? { password: "canary" });
  const raw = {
    metadata: {
      namespace: home,
      name,
      uid,
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: now(),
      annotations: { ...offer.annotations, [annotations.syncToProjects]: project },
    },
    spec: { data: Object.fromEntries(values.map(([key, value]) => [key, base64(value)])) },
  };
  const source = observedSource(raw, createDataDigest());
  const { data: own } = parseSharedSecret(raw);
  return outboxManifest({ source, cluster, projects: [project], data: own }, now());
}

function now(): string {
  return new Date().toISOString().replace(/\.\d+/, "");
}

function secretsOf(east: DedicatedCluster): Pick<AgentFixture, "secret" | "arrives" | "goes"> {
  const secret = (namespace: string, name: string): Promise<Answer> =>
    east.ask({}, get(secretPath({ namespace, name })));
  return {
    secret,
    arrives: ({ namespace, name }, data) =>
      eventually(
        async () => {
          const found = await secret(namespace, name);
          const values = Object.fromEntries(
            Object.entries(recordAt(found, "data")).map(([key, value]) => [
              key,
              Buffer.from(String(value), "base64").toString(),
            ]),
          );
          return JSON.stringify(values) === JSON.stringify(data) && found;
        },
        { what: `the data of Secret ${namespace}/${name}`, within: 60_000 },
      ),
    goes: async ({ namespace, name }) => {
      await eventually(async () => (await secret(namespace, name)).code === 404, {
        what: `the end of Secret ${namespace}/${name}`,
        within: 60_000,
      });
    },
  };
}
