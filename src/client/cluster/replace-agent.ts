import { ownObjects } from "../../api/names.ts";
import { recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { outboxNamespace } from "../../domain/outbox/outbox-names.ts";
import type { ConnectedCli } from "../cli.ts";

/** Lets the next agent that reports become that of a cluster. */
export async function replaceAgent(name: string, { cluster, cli }: ConnectedCli): Promise<void> {
  const ref = { namespace: outboxNamespace(name), name: ownObjects.agentLease };
  const { leases } = resources;
  const holder = stringAt(recordAt(await cluster.get(leases, ref), "spec"), "holderIdentity") ?? "";
  // The API server refuses an empty text.
  if (holder !== "") await cluster.patch(leases, ref, { body: { spec: { holderIdentity: null } } });
  cli.terminal.say(
    `the next agent that reports becomes that of cluster "${name}"; stop the former one first`,
  );
}
