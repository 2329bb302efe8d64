import { annotations, components, labels, ownObjects } from "../../src/api/names.ts";
import { keyOf } from "../../src/api/object.ts";
import {
  type ClusterReport,
  emptyReport,
  reportKey,
  reportText,
} from "../../src/domain/outbox/cluster-report.ts";
import {
  outboxName,
  outboxNamespace,
  reportName,
  reportNumberOf,
} from "../../src/domain/outbox/outbox-names.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import { isRecord, recordAt } from "../../src/api/parse.ts";
import { rawSharedSecret } from "./fake-informers.ts";
import { rawObject, type RawObject } from "./fake-list-watch.ts";

/** The Secret that connects a cluster; its uid is `uid-<cluster>`. */
export function rawCluster(
  cluster: string,
  projects?: string,
  metadata: Readonly<Record<string, unknown>> = {},
): RawObject {
  return rawObject({
    namespace: "latchkey-clusters",
    name: cluster,
    labels: { [labels.cluster]: cluster },
    annotations: projects === undefined ? {} : { [annotations.projects]: projects },
    ...metadata,
  });
}

/** The namespace with the outbox of a cluster. */
export function rawOutboxNamespace(cluster: string, clusterUid = `uid-${cluster}`): RawObject {
  return rawObject({
    name: outboxNamespace(cluster),
    annotations: { [annotations.clusterUid]: clusterUid },
  });
}

/** A SharedSecret in `team` that syncs to project `web` in cluster `east`, with these changes. */
export function rawShared(
  name: string,
  {
    projects = "web",
    clusters = "east",
    data,
    ...metadata
  }: Readonly<Record<string, unknown>> & {
    readonly projects?: string;
    readonly clusters?: string | undefined;
    readonly data?: Readonly<Record<string, string>>;
  } = {},
): RawObject {
  const marks = {
    [annotations.syncToProjects]: projects,
    ...(clusters === "" ? {} : { [annotations.syncToClusters]: clusters }),
  };
  const all = { annotations: marks, generation: 1, ...metadata };
  return rawSharedSecret(name, { ...(data === undefined ? {} : { data }), metadata: all });
}

/** The key of the Secret of `team/<name>` in the outbox of a cluster. */
export function outboxKeyOf(name: string, cluster = "east"): string {
  return keyOf({
    namespace: outboxNamespace(cluster),
    name: outboxName({ namespace: "team", name }),
  });
}

/** A Secret of an outbox as it was sent, with these changes of its metadata. */
export function rawSent(
  body: unknown,
  metadata: Readonly<Record<string, unknown>> = {},
): RawObject {
  const sent: unknown = JSON.parse(encodeBody(isRecord(body) ? body : {}));
  const raw = isRecord(sent) ? sent : {};
  return rawObject({ uid: "uid-sent", ...recordAt(raw, "metadata"), ...metadata }, raw);
}

/** A ConfigMap in which the agent of `east` reports. */
export function rawReport(
  report: Partial<ClusterReport>,
  { number = 0, cluster = "east" }: { readonly number?: number; readonly cluster?: string } = {},
): RawObject {
  return rawReportText(reportText({ ...emptyReport, ...report }), { number, cluster });
}

/** The same with a text of its own. */
export function rawReportText(
  text: string,
  { number = 0, cluster = "east" }: { readonly number?: number; readonly cluster?: string } = {},
): RawObject {
  const metadata = {
    namespace: outboxNamespace(cluster),
    name: reportName(number),
    labels: { [labels.component]: components.clusterReport },
  };
  return rawObject(metadata, { data: { [reportKey]: text } });
}

/** The report about one uid, in the ConfigMap that it belongs to. */
export function rawReportOf(uid: string, report: Partial<ClusterReport>): RawObject {
  return rawReport(report, { number: reportNumberOf(uid) });
}

/** The Lease of an agent that it has renewed at a time, in milliseconds since the epoch. */
export function rawHeartbeat(at: number, cluster = "east"): RawObject {
  const metadata = {
    namespace: outboxNamespace(cluster),
    name: ownObjects.agentLease,
    labels: { [labels.component]: components.clusterAgent },
  };
  const renewTime = new Date(at).toISOString().replace("Z", "000Z");
  return rawObject(metadata, { spec: { holderIdentity: "uid-kube-system", renewTime } });
}
