import { parseMetadata, recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { readyOf } from "../../domain/object-state.ts";
import { agentUser } from "../../domain/outbox/outbox-names.ts";
import type { Cluster } from "../connection/cluster.ts";

/** An access key of the agent of a cluster. */
export interface AgentKey {
  readonly name: string;
  /** The object, for a later change. */
  readonly object: unknown;
  /** Whether its lifetime has ended. */
  readonly isExpired: boolean;
  /** Why it is not valid, as its condition Ready says; undefined if it is valid or not judged. */
  readonly problem: string | undefined;
}

/** Every access key with which the agent of a cluster can log in: those with its username. */
export async function agentKeys(
  cluster: string,
  { list }: Pick<Cluster, "list">,
): Promise<readonly AgentKey[]> {
  const found = await list(resources.ownedAccessKeys);
  return found.flatMap((object) => {
    const metadata = parseMetadata(object);
    const isOwn = stringAt(recordAt(object, "spec"), "subject") === agentUser(cluster);
    if (!isOwn || metadata.deletionTimestamp !== undefined) return [];
    const ready = readyOf(object);
    const problem = ready?.status === "False" ? `${ready.reason}, ${ready.message}` : undefined;
    return [{ name: metadata.name, object, isExpired: ready?.reason === "Expired", problem }];
  });
}
