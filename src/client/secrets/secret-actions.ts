import { labels } from "../../api/names.ts";
import { keyOf } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import type { Action } from "../cli.ts";
import { isCentral, readAgentCopies } from "../cluster/agent-copies.ts";
import { agentCopyItem } from "../explain/connected-items.ts";
import { Failure } from "../failure.ts";
import { rightText } from "../missing-right.ts";
import { tableText } from "../output.ts";
import { deleteOf, listOf } from "../objects/object-actions.ts";

/** `kubectl latchkey list`; in a connected cluster, the copies of the central one's. */
export const listSharedSecrets: Action<"list"> = async ({ flags }, cli) => {
  const cluster = await cli.connect(flags);
  const list = listOf(resources.sharedSecrets);
  if (await isCentral(cluster)) return list({ flags }, cli, cluster);
  const { output, allNamespaces } = flags;
  if (output !== undefined)
    throw new Failure(
      "this cluster serves no SharedSecrets, so there is none to print; " +
        `kubectl get secrets -l ${labels.outboxUid} has the copies of a connected cluster`,
      "notFound",
    );
  const namespace = allNamespaces ? undefined : cluster.choice.namespace;
  const { found, missing } = await readAgentCopies(cluster, namespace);
  const { terminal } = cli;
  terminal.say("this cluster serves no SharedSecrets; these are copies of a central cluster's");
  for (const right of missing) terminal.say(`you may not ${rightText(right)}`);
  if (found.length === 0) return;
  const rows = found.map((copy) => {
    const { state, reason, message } = agentCopyItem(copy);
    const said = state === "problem" ? [reason, message] : ["", ""];
    return [keyOf(copy.source), keyOf(copy.secret), ...said];
  });
  terminal.print(tableText(["SHAREDSECRET", "COPY", "REASON", "MESSAGE"], rows));
};

/** `kubectl latchkey delete`. */
export const deleteSharedSecrets: Action<"delete"> = deleteOf(resources.sharedSecrets);
