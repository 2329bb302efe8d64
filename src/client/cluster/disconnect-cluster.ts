import { annotations, labels, ownObjects } from "../../api/names.ts";
import { keyOf, type Metadata, type ObjectRef } from "../../api/object.ts";
import { recordAt } from "../../api/parse.ts";
import { type Resource, resources } from "../../api/resources.ts";
import { outboxNamespace } from "../../domain/outbox/outbox-names.ts";
import { collectionPath, withQuery } from "../../kube/client/paths.ts";
import type { Action, ConnectedCli } from "../cli.ts";
import { Failure } from "../failure.ts";
import { agentKeys } from "./agent-keys.ts";
import { clusterSecrets, namespaceNamed } from "./cluster-secret.ts";
import { requireConnect } from "./connect-right.ts";
import { existing } from "../missing-right.ts";
import { doneText } from "../output.ts";

/** `kubectl latchkey cluster disconnect`. */
export const disconnectCluster: Action<"clusterDisconnect"> = async (
  { flags, args: [name = ""] },
  cli,
) => {
  const cluster = await cli.connect(flags);
  const deps = { cluster, cli };
  await requireConnect(name, cluster);
  const keys = await agentKeys(name, cluster);
  const secrets = await clusterSecrets(cluster, name);
  const namespace = await namespaceNamed(outboxNamespace(name), cluster);
  const hasOutbox = namespace?.annotations[annotations.clusterUid] !== undefined;
  if (keys.length === 0 && secrets.length === 0 && !hasOutbox)
    throw new Failure(`no cluster "${name}" is connected`, "notFound");
  // The agent loses its access before it could read what the rest of this does.
  for (const key of keys) await remove(resources.ownedAccessKeys, { name: key.name }, deps);
  for (const secret of secrets) await endConsent(secret, flags, deps);
  if (hasOutbox) await removeOutbox(namespace, deps);
  else if (namespace !== undefined)
    cli.terminal.say(`Namespace "${namespace.name}" is not an outbox, so it was not changed`);
  for (const sentence of remains(name)) cli.terminal.say(sentence);
};

/** What an agent leaves behind, and how it goes. */
function remains(name: string): readonly string[] {
  const kubectl = "kubectl --context=<connected cluster>";
  return [
    `copies in cluster "${name}" stay; delete its agent, then delete them with ` +
      `${kubectl} delete secrets --all-namespaces -l ${labels.outboxUid}`,
    `its kubeconfig has no access any more; delete it with ` +
      `${kubectl} -n <namespace of the agent> delete secret ${ownObjects.central}`,
  ];
}

/** Deletes the Secret of a cluster; if a gateway uses it, the cluster only lets no project in. */
async function endConsent(
  { name, namespace = "" }: Metadata,
  { all }: { readonly all: boolean },
  deps: ConnectedCli,
): Promise<void> {
  const { cluster, cli } = deps;
  const ref = { namespace, name };
  const found = await existing(() => cluster.get(resources.secrets, ref));
  if (found === undefined) return;
  if (all || Object.keys(recordAt(found, "data")).length === 0)
    return remove(resources.secrets, ref, deps);
  const metadata = { annotations: { [annotations.projects]: null } };
  await cluster.patch(resources.secrets, ref, { body: { metadata } });
  const what = `unset projects in ${namespace} namespace`;
  cli.terminal.print(doneText(resources.secrets, ref, what));
  cli.terminal.say(`Secret "${keyOf(ref)}" stays for the gateway; --all deletes it`);
}

/** Deletes what an outbox has, and its namespace last. */
async function removeOutbox({ name: namespace }: Metadata, deps: ConnectedCli): Promise<void> {
  await deps.cluster.send({
    method: "DELETE",
    path: withQuery(collectionPath(resources.secrets, namespace), {
      labelSelector: labels.outboxUid,
    }),
  });
  const agent = { namespace, name: ownObjects.agentLease };
  await remove(resources.roleBindings, agent, deps);
  await remove(resources.roles, agent, deps);
  await remove(resources.namespaces, { name: namespace }, deps);
}

/** Deletes an object, which may be gone already, and says so. */
async function remove(
  resource: Resource,
  ref: ObjectRef,
  { cluster, cli }: ConnectedCli,
): Promise<void> {
  const deleted = await existing(async () => {
    await cluster.delete(resource, ref);
    return true;
  });
  const what = `deleted${ref.namespace === undefined ? "" : ` from ${ref.namespace} namespace`}`;
  if (deleted) cli.terminal.print(doneText(resource, ref, what));
}
