import { components, labels, ownObjects } from "../../api/names.ts";
import { type Key, keyOf, refOf } from "../../api/object.ts";
import { parseLatchkeyMetadata, recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import {
  parseReport,
  type ClusterReport,
  reportKey,
  unknownByName,
} from "../../domain/outbox/cluster-report.ts";
import { clusterOfOutbox, reportCount, reportName } from "../../domain/outbox/outbox-names.ts";
import { isSame } from "../../domain/plan/merge-patch.ts";
import type { Change } from "../../kube/informer/store.ts";
import { type LeaseRecord, parseLease } from "../../kube/lease-record.ts";
import { noteHeartbeat } from "../cluster-agents.ts";
import type { CentralEnqueuer } from "../central-enqueuer.ts";
import { agentKey, enqueueNaming, outboxKey } from "../outbox-keys.ts";
import { indexes, type ReportConfigMap } from "../stores.ts";
import type { World } from "../world.ts";
import type { WatchedKind } from "./watched-kind.ts";

/** ConfigMaps in outboxes, in which agents report; the data of another administrator. */
export function clusterReportKind(): WatchedKind<ReportConfigMap, World> {
  return {
    listOptions: {
      resource: resources.configMaps,
      labelSelector: `${labels.component}=${components.clusterReport}`,
    },
    isReadOnly: true,
    isOptional: true,
    parse: parseReportConfigMap,
    indexers: { [indexes.outboxName]: ({ unknown }) => [...unknown.keys()] },
    enqueue: enqueueReported,
    enqueueAll: async (enqueuer) => {
      for (const { metadata, unknown } of enqueuer.stores.clusterReports.values()) {
        const cluster = clusterOfOutbox(metadata.namespace ?? "") ?? "";
        for (const name of unknown.keys())
          enqueuer.queues.outbox.add(outboxKey(cluster, name), "low");
      }
    },
  };
}

const reportNames: ReadonlySet<string> = new Set(
  Array.from({ length: reportCount }, (_, number) => reportName(number)),
);

function parseReportConfigMap(raw: unknown): ReportConfigMap | undefined {
  const metadata = parseLatchkeyMetadata(raw);
  const cluster = clusterOfOutbox(metadata.namespace ?? "");
  if (cluster === undefined || !reportNames.has(metadata.name)) return undefined;
  const report = parseReport(stringAt(recordAt(raw, "data"), reportKey) ?? "");
  return { metadata, report, unknown: unknownByName(report) };
}

/** Enqueues the sources and the Secrets of the outbox of which a report says something else. */
function enqueueReported(change: Change<ReportConfigMap>, enqueuer: CentralEnqueuer): void {
  const { queues, stores } = enqueuer;
  const { before, after } = change;
  const { namespace = "" } = refOf(change.key);
  const cluster = clusterOfOutbox(namespace) ?? "";
  for (const uid of changedKeys(change, ({ sources }) => sources))
    for (const source of stores.sharedSecrets.by(indexes.uid, uid)) enqueuer.status(source);
  for (const uid of changedKeys(change, ({ done }) => done))
    for (const key of stores.outboxes.keysBy(indexes.uid, uid))
      if (refOf(key).namespace === namespace) queues.outbox.add(key, "normal");
  for (const name of after?.unknown.keys() ?? [])
    if (before?.unknown.has(name) !== true) queues.outbox.add(outboxKey(cluster, name), "low");
  if (!isSame(before?.report.problem, after?.report.problem)) enqueueNaming(cluster, enqueuer);
}

/** The keys whose values differ before and after a change. */
function changedKeys(
  { before, after }: Change<ReportConfigMap>,
  of: (report: ClusterReport) => ReadonlyMap<string, unknown>,
): readonly string[] {
  const [former, current] = [before, after].map((found) => found && of(found.report));
  const keys = new Set([...(former?.keys() ?? []), ...(current?.keys() ?? [])]);
  return [...keys].filter((key) => !isSame(former?.get(key), current?.get(key)));
}

/** Leases in outboxes: the heartbeats of agents. */
export function agentLeaseKind(): WatchedKind<LeaseRecord, World> {
  return {
    listOptions: {
      resource: resources.leases,
      labelSelector: `${labels.component}=${components.clusterAgent}`,
    },
    isReadOnly: true,
    isOptional: true,
    parse: parseAgentLease,
    enqueue: ({ key, before, after }, enqueuer) => {
      const cluster = clusterOfLease(key);
      noteHeartbeat(cluster, after, enqueuer);
      // Each heartbeat changes the Lease, and only the first after a pause changes anything else.
      const { unreachable } = enqueuer.memory.agents;
      if (before === undefined || after === undefined || unreachable.has(cluster))
        enqueuer.queues.outbox.add(agentKey(cluster), "high");
    },
    enqueueAll: async (enqueuer) => {
      for (const lease of enqueuer.stores.agentLeases.values())
        noteHeartbeat(clusterOfLease(keyOf(lease.metadata)), lease, enqueuer);
    },
  };
}

function parseAgentLease(raw: unknown): LeaseRecord | undefined {
  const lease = parseLease(raw);
  const { namespace = "", name } = lease.metadata;
  const isAgents = clusterOfOutbox(namespace) !== undefined && name === ownObjects.agentLease;
  return isAgents ? lease : undefined;
}

function clusterOfLease(key: Key): string {
  return clusterOfOutbox(refOf(key).namespace ?? "") ?? "";
}
