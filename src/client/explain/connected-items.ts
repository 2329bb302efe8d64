import { annotations, ownObjects } from "../../api/names.ts";
import { keyOf } from "../../api/object.ts";
import { recordAt, stringMapAt } from "../../api/parse.ts";
import type { ReportItem } from "../../api/report.ts";
import { type Resource, resources } from "../../api/resources.ts";
import { connectedPolicies } from "../../domain/gateway/connected-policy.ts";
import { spanText } from "../../domain/lifetime.ts";
import { copyItem } from "../../domain/sync/sync-report.ts";
import { type AgentCopy, readAgentCopies } from "../cluster/agent-copies.ts";
import { type Readable, readObject, rightText } from "../missing-right.ts";
import { plainItem } from "../report.ts";
import { type Checked, leaseItem } from "./lease-item.ts";
import { policyItem } from "./policy-items.ts";

/**
 * What Latchkey has in a connected cluster, as far as the user may see it; empty if there is no
 * sign of it. Where Latchkey's kinds are served, too, an agent is the sign.
 */
export async function connectedItems(
  checked: Checked,
  isServed: boolean,
): Promise<readonly ReportItem[]> {
  const { cluster, namespace } = checked;
  const read = (resource: Resource, name: string) =>
    readObject(resource, { namespace, name }, cluster.getMetadata);
  const lease = await read(resources.leases, ownObjects.agentLease);
  if (isServed && lease.found === undefined) return [];
  const central = await read(resources.secrets, ownObjects.central);
  const { projectAssignment, ownSecrets } = connectedPolicies;
  const policies = await Promise.all(
    [projectAssignment, ownSecrets].map((policy) => policyItem(policy, checked, connectedTexts)),
  );
  const isAgentHere = lease.found !== undefined || central.found !== undefined;
  const isGuarded = policies.some(({ state }) => state === "ok");
  return isAgentHere || isGuarded
    ? [...(await agentItems(checked, lease.found, isAgentHere)), ...policies]
    : [];
}

const connectedTexts = {
  isCentral: false,
  config: "config/connected-policies",
  consequence: "the agent creates and replaces nothing",
} as const;

async function agentItems(
  checked: Checked,
  lease: unknown,
  isAgentHere: boolean,
): Promise<readonly ReportItem[]> {
  const { cluster, namespace } = checked;
  if (!isAgentHere) {
    const object = { kind: resources.secrets.kind, namespace, name: ownObjects.central };
    const message =
      "No agent runs here, so there are no copies of SharedSecrets; " +
      "the gateway and the direct endpoint need none.";
    return [plainItem(object, ["info", "NotFound"], message)];
  }
  return [
    await leaseItem(checked, { name: ownObjects.agentLease, process: "latchkey cluster-agent" }),
    ...silenceItems(lease, namespace),
    copiesItem(await readAgentCopies(cluster, undefined)),
  ];
}

/** That the agent does not hear the central cluster, as it notes in its Lease after a minute. */
function silenceItems(lease: unknown, namespace: string): readonly ReportItem[] {
  const marks = stringMapAt(recordAt(lease, "metadata"), "annotations");
  const seconds = Number(marks[annotations.unheardSeconds] ?? 0);
  if (!(seconds > 0)) return [];
  const object = { kind: resources.leases.kind, namespace, name: ownObjects.agentLease };
  return [
    plainItem(
      object,
      ["problem", "CentralSilent"],
      `The agent has not heard the central cluster for ${spanText(seconds)}, so copies stay as ` +
        "they are; look at its log, and at cluster list there. If its key has ended, " +
        "kubectl latchkey cluster connect NAME --rotate-key there prints another.",
    ),
  ];
}

/** How many copies a connected cluster has, and how many of them are not as they should be. */
function copiesItem({ found, missing }: Readable<readonly AgentCopy[]>): ReportItem {
  const object = { kind: resources.secrets.kind };
  const [right] = missing;
  if (right !== undefined)
    return plainItem(object, ["unknown", "Forbidden"], `You may not ${rightText(right)}.`);
  const wrong = found.map(agentCopyItem).filter(({ state }) => state === "problem").length;
  const sources = new Set(found.map(({ source }) => keyOf(source))).size;
  const counts =
    `SharedSecrets of the central cluster with copies here: ${sources}; ` +
    `copies: ${found.length}`;
  return wrong === 0
    ? plainItem(object, ["ok", "CopyFound"], `${counts}, which record no error.`)
    : plainItem(
        object,
        ["problem", "NotCurrent"],
        `${counts}, of which ${wrong} are not current; kubectl latchkey status -A lists them.`,
      );
}

/** What a copy of a connected cluster says itself; one that is paused is as somebody wants it. */
export function agentCopyItem({ secret }: AgentCopy): ReportItem {
  const item = copyItem(secret, annotations.clusterSyncError);
  const { reason } = item;
  if (reason === "CopyPaused") return { ...item, state: "info" };
  return reason === "CopyFound" ? { ...item, state: "ok" } : item;
}
