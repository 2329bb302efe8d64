import { keyOf } from "../api/object.ts";
import type { ObservedAgent } from "../domain/outbox/cluster-obstacle.ts";
import { outboxNamespace, reportName } from "../domain/outbox/outbox-names.ts";
import type { LeaseRecord } from "../kube/lease-record.ts";
import type { LeaderState } from "./memory.ts";

/**
 * Records the heartbeat of an agent, or that its Lease is gone. The age of a heartbeat counts from
 * its observation, because the clocks of two clusters may differ; of the first one that a leader
 * observes, from the time in the Lease.
 */
export function noteHeartbeat(
  cluster: string,
  lease: LeaseRecord | undefined,
  { memory, clock }: LeaderState,
): void {
  const { heartbeats } = memory.agents;
  const renewTime = lease?.spec.renewTime;
  const known = heartbeats.get(cluster);
  if (renewTime === undefined) heartbeats.delete(cluster);
  else if (known?.renewTime !== renewTime) {
    const ageMs = known === undefined ? clock.now() - Date.parse(renewTime) : 0;
    heartbeats.set(cluster, { renewTime, seenAt: clock.monotonic() - Math.max(0, ageMs) });
  }
}

/** Milliseconds since the last heartbeat of an agent; undefined if there is none. */
export function heartbeatAgeMs(
  cluster: string,
  { memory, clock }: LeaderState,
): number | undefined {
  const heartbeat = memory.agents.heartbeats.get(cluster);
  return heartbeat && clock.monotonic() - heartbeat.seenAt;
}

/** What is known of the agent of a cluster. */
export function observeAgent(cluster: string, leader: LeaderState): ObservedAgent {
  const first = keyOf({ namespace: outboxNamespace(cluster), name: reportName(0) });
  return {
    ageMs: heartbeatAgeMs(cluster, leader),
    problem: leader.stores.clusterReports.get(first)?.report.problem,
  };
}
