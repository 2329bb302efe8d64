import { keyOf } from "../api/object.ts";
import type { ObservedAgent } from "../domain/outbox/cluster-obstacle.ts";
import { outboxNamespace, reportName } from "../domain/outbox/outbox-names.ts";
import type { LeaseRecord } from "../kube/lease-record.ts";
import { heartbeatIn } from "./heartbeat.ts";
import type { LeaderState } from "./memory.ts";

/** Records the heartbeat of an agent as it arrives, or that its Lease is gone. */
export function noteHeartbeat(
  cluster: string,
  lease: LeaseRecord | undefined,
  { memory, clock }: LeaderState,
): void {
  const { heartbeats } = memory.agents;
  const known = heartbeats.get(cluster);
  const withinMs = known === undefined ? Infinity : 0;
  const heartbeat = heartbeatIn(lease, known, { clock, withinMs });
  if (heartbeat === undefined) heartbeats.delete(cluster);
  else heartbeats.set(cluster, heartbeat);
}

/** Milliseconds since the last heartbeat of an agent; undefined if there is none. */
export function heartbeatAgeMs(
  cluster: string,
  { memory, clock }: LeaderState,
): number | undefined {
  const heartbeat = memory.agents.heartbeats.get(cluster);
  return heartbeat && clock.monotonic() - heartbeat.writtenAt;
}

/** What is known of the agent of a cluster. */
export function observeAgent(cluster: string, leader: LeaderState): ObservedAgent {
  const first = keyOf({ namespace: outboxNamespace(cluster), name: reportName(0) });
  return {
    ageMs: heartbeatAgeMs(cluster, leader),
    problem: leader.stores.clusterReports.get(first)?.report.problem,
  };
}
