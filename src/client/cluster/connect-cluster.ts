import { annotations, ownObjects } from "../../api/names.ts";
import type { Manifest, Metadata } from "../../api/object.ts";
import { recordAt, stringAt } from "../../api/parse.ts";
import { kubeconfigKey } from "../../domain/gateway/connected-cluster.ts";
import { connectedCluster, isOutboxOf } from "../../domain/outbox/connected-clusters.ts";
import { outboxNamespace } from "../../domain/outbox/outbox-names.ts";
import {
  agentKeySpec,
  agentNamespaceManifest,
  centralSecretManifest,
  outboxNamespaceObject,
  outboxObjects,
} from "../../domain/outbox/outbox-objects.ts";
import type { ClusterInfo } from "../../kube/credentials/kubeconfig-credentials.ts";
import { resources } from "../../api/resources.ts";
import { UsageError } from "../../runtime/config-values.ts";
import type { Action, ConnectedCli, Flags } from "../cli.ts";
import { kubeconfigContent } from "../connection/cluster-address.ts";
import type { Cluster } from "../connection/cluster.ts";
import { exitCodes, Failure } from "../failure.ts";
import { successorName } from "../keys/key-view.ts";
import { makeKeyAs, newKeyObject } from "../keys/new-key.ts";
import { endAfter } from "../keys/rotate-key.ts";
import { doneText, yamlText } from "../output.ts";
import { createPrivateFile } from "../private-files.ts";
import { type AgentKey, agentKeys } from "./agent-keys.ts";
import { centralServer, isLoopback, namedServer } from "./central-server.ts";
import { applies, applyText, checkWays, namespaceIn, noAddress, reach } from "./cluster-ways.ts";
import { clusterSecrets, ensureClusterSecret, namespaceNamed, secretOf } from "./cluster-secret.ts";
import { requireConnect } from "./connect-right.ts";
import { ensureObject } from "./ensure-object.ts";

type ConnectFlags = Flags<"clusterConnect">;

/** `kubectl latchkey cluster connect`. */
export const connectCluster: Action<"clusterConnect"> = async (
  { flags, args: [name = ""] },
  cli,
) => {
  checkWays(flags);
  const named = namedServer(flags);
  const cluster = await cli.connect(flags);
  const deps = { cluster, cli };
  const { projects, latchkeyNamespace } = flags;
  const { terminal } = cli;
  const isPlain = !flags.gateway && !flags.direct;
  const isOfAgent = flags.agent || isPlain;
  if (isOfAgent) await requireAgent(name, flags, cluster);
  const server = named && (await centralServer(named, latchkeyNamespace, cluster));
  const found = secretOf(await clusterSecrets(cluster, name), name);
  const keys = isOfAgent ? await agentKeysOf(name, { found, flags }, cluster) : [];
  const reached =
    isPlain && !flags.rotateKey ? noAddress : await reach(name, { flags, found }, deps);
  if (isOfAgent || projects !== undefined || Object.keys(reached.data).length > 0) {
    const terms = { name, projects, data: reached.data };
    const secret = await ensureClusterSecret(terms, found, deps);
    if (isOfAgent) await ensureOutbox(name, secret, deps);
    if (isOfAgent && (connectedCluster(secret)?.projects ?? []).length === 0)
      terminal.say(`cluster "${name}" lets no project in; set --projects`);
  }
  if (isOfAgent && flags.replace) await replaceAgent(name, deps);
  const { manifests } = reached;
  const current = keys.filter(({ isExpired }) => !isExpired);
  const isKept = current.length > 0 && !flags.rotateKey;
  const isNew = isOfAgent && !isKept;
  const terms = { flags, keys, current, server, manifests };
  const code = isNew ? await newAgentKey(name, terms, deps) : exitCodes.done.code;
  if (!isNew && (isOfAgent || manifests.length > 0)) printManifests(manifests, flags, cli);
  const own = isNew ? agentSteps(flags) : isOfAgent ? [keptText(current)] : [];
  for (const sentence of new Set([...own, ...reached.sentences])) terminal.say(sentence);
  return code;
};

/** Throws what keeps an agent from being connected, before anything is made. */
async function requireAgent(name: string, flags: ConnectFlags, cluster: Cluster): Promise<void> {
  if (flags.centralServer === undefined && cluster.choice.insecureSkipTlsVerify)
    throw new UsageError(
      "the agent must check the certificate of the central cluster; set --central-server and " +
        "--central-ca, or use a context with certificate-authority-data",
    );
  await requireConnect(name, cluster);
}

/** The keys of the agent; rejects if the namespace of its outbox is another one. */
async function agentKeysOf(
  name: string,
  { found, flags }: { readonly found: Metadata | undefined; readonly flags: ConnectFlags },
  cluster: Cluster,
): Promise<readonly AgentKey[]> {
  const namespace = await namespaceNamed(outboxNamespace(name), cluster);
  refuseForeign(name, { found, namespace, replaces: flags.replace });
  // Without this right, nothing is made that would have no key.
  return agentKeys(name, cluster);
}

/** What exists under the names of a cluster. */
interface Existing {
  readonly found: Metadata | undefined;
  readonly namespace: Metadata | undefined;
  readonly replaces: boolean;
}

/** Throws a Failure if the namespace is not the outbox of this cluster, or will be none. */
function refuseForeign(name: string, { found, namespace, replaces }: Existing): void {
  if (namespace === undefined) return;
  const place = `Namespace "${namespace.name}"`;
  if (namespace.annotations[annotations.clusterUid] === undefined)
    throw new Failure(
      `${place} already exists and is not an outbox; it was not changed; ` +
        "delete it, or give the cluster another name",
    );
  if (namespace.deletionTimestamp !== undefined)
    throw new Failure(`${place} is being deleted; run this again when it is gone`);
  if (!replaces && (found === undefined || !isOutboxOf(namespace, found)))
    throw new Failure(
      `${place} is the outbox of a cluster "${name}" that was connected before; ` +
        `run kubectl latchkey cluster disconnect ${name}, or set --replace`,
    );
}

/** Creates and repairs what an outbox consists of. */
async function ensureOutbox(
  name: string,
  { uid }: Metadata,
  { cluster, cli }: ConnectedCli,
): Promise<void> {
  const objects = [outboxNamespaceObject({ name, uid }), ...outboxObjects(name)];
  const counts = new Map<string, number>();
  for (const object of objects) {
    const done = await ensureObject(object, cluster);
    const what = `${object.manifest.kind} ${done}`;
    if (done !== "unchanged") counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  const changes = [...counts].map(([what, count]) => `${count} ${what}`);
  const what = changes.length === 0 ? "unchanged" : `configured: ${changes.join(", ")}`;
  cli.terminal.say(doneText(resources.namespaces, { name: outboxNamespace(name) }, what));
}

/** Lets the next agent that reports become that of a cluster. */
async function replaceAgent(name: string, { cluster, cli }: ConnectedCli): Promise<void> {
  const ref = { namespace: outboxNamespace(name), name: ownObjects.agentLease };
  const { leases } = resources;
  const holder = stringAt(recordAt(await cluster.get(leases, ref), "spec"), "holderIdentity") ?? "";
  // The API server refuses an empty text.
  if (holder !== "") await cluster.patch(leases, ref, { body: { spec: { holderIdentity: null } } });
  cli.terminal.say(
    `the next agent that reports becomes that of cluster "${name}"; stop the former one first`,
  );
}

/** What decides about the key of the agent. */
interface AgentTerms {
  readonly flags: ConnectFlags;
  readonly keys: readonly AgentKey[];
  /** Those of them that have not expired. */
  readonly current: readonly AgentKey[];
  readonly server: ClusterInfo | undefined;
  /** What the manifest has for the gateway. */
  readonly manifests: readonly Manifest[];
}

/** Makes another key of the agent, and prints the manifest with it; returns the exit code. */
async function newAgentKey(
  name: string,
  { flags, keys, current, server, manifests }: AgentTerms,
  { cluster, cli }: ConnectedCli,
): Promise<number> {
  const { ttl } = flags;
  const namespace = namespaceIn(flags);
  const base = outboxNamespace(name);
  const keyName = keys.length === 0 ? base : successorName(base, cli.clock.now());
  const spec = { ...agentKeySpec(name), ...(ttl === undefined ? {} : { ttl }) };
  const used: ClusterInfo[] = [];
  const textOf = (key: string, central: ClusterInfo): string => {
    used.push(central);
    const secret = connectedSecret({ name, key, namespace }, central);
    return manifestText([secret, ...manifests], namespace);
  };
  const code = await makeKeyAs(
    { textOf: ({ key }, central) => textOf(key, central), server, option: "--central-server" },
    newKeyObject(keyName, spec, cluster),
    { ...flags, cluster, cli },
  );
  for (const central of used.filter(isLoopback))
    cli.terminal.say(
      `the manifest has the server ${central.server}, which only this machine reaches; ` +
        "set --central-server and --rotate-key",
    );
  // Only a key that works may end those before it.
  if (code === exitCodes.done.code)
    for (const { object } of current) await endAfter(object, flags.overlap, { cluster, cli });
  return code;
}

/** The steps after a manifest with a key. */
function agentSteps(flags: ConnectFlags): readonly string[] {
  const start = `then start the agent with ${applies} -k config/cluster-agent, or with the chart`;
  return [applyText(flags), start];
}

/** Prints manifests without a key. */
function printManifests(
  manifests: readonly Manifest[],
  flags: ConnectFlags,
  { terminal }: ConnectedCli["cli"],
): void {
  const { outputFile } = flags;
  const text = manifestText(manifests, namespaceIn(flags));
  if (outputFile === undefined) terminal.print(text);
  else createPrivateFile(outputFile, "--output-file").finish(text);
}

function keptText(keys: readonly AgentKey[]): string {
  const names = keys.map(
    ({ name, problem }) => `"${name}"${problem === undefined ? "" : ` (${problem})`}`,
  );
  return (
    `the agent has OwnedAccessKey ${names.join(" and ")}, so the manifest has no key; ` +
    "set --rotate-key for another one"
  );
}

/** Whose key is in a manifest, and where it goes. */
interface ManifestTerms {
  readonly name: string;
  readonly key: string;
  readonly namespace: string;
}

/** The Secret that an agent needs: the kubeconfig of the central cluster, and its own name. */
function connectedSecret({ name, key, namespace }: ManifestTerms, central: ClusterInfo): Manifest {
  // The agent uses the proxies of its own variables.
  const { "proxy-url": _own, ...server } = central;
  const kubeconfig = yamlText(kubeconfigContent("central", server, { token: key }));
  return centralSecretManifest(namespace, {
    [kubeconfigKey]: Buffer.from(kubeconfig).toString("base64"),
    "cluster-name": Buffer.from(name).toString("base64"),
  });
}

/** Manifests for a connected cluster, with the namespace that Latchkey runs in there. */
function manifestText(manifests: readonly Manifest[], namespace: string): string {
  return [agentNamespaceManifest(namespace), ...manifests].map(yamlText).join("---\n");
}
