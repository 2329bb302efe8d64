import { annotations, components, labels, ownLabel, ownObjects } from "../../src/api/names.ts";
import type { Metadata } from "../../src/api/object.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import {
  type ClusterReport,
  emptyReport,
  reportKey,
  reportText,
  type SourceReport,
} from "../../src/domain/outbox/cluster-report.ts";
import {
  outboxName,
  outboxNamespace,
  reportCount,
  reportName,
  reportNumberOf,
} from "../../src/domain/outbox/outbox-names.ts";
import { becomes } from "../support/becomes.ts";
import { api, type Answer, unique } from "../support/policy-request.ts";
import { secretPath, type Place } from "../support/shared-secret-requests.ts";

const clustersPath = "/api/v1/namespaces/latchkey-clusters/secrets";

/** A connected cluster whose agent is the test. */
export class FakeCluster {
  readonly name: string;
  readonly namespace: string;
  /** The path of the Secret that connects it. */
  readonly path: string;

  constructor(name: string) {
    this.name = name;
    this.namespace = outboxNamespace(name);
    this.path = `${clustersPath}/${name}`;
  }

  /** The path of the Secret of a source in the outbox. */
  secretOf(source: Place): string {
    return secretPath(this.namespace, outboxName(source));
  }

  /** Lets in projects; none if absent. */
  letIn(projects: string | null): Promise<Answer> {
    return api.merge(this.path, {
      metadata: { annotations: { [annotations.projects]: projects } },
    });
  }

  /** Creates the Secret that connects the cluster, and gives its uid to the outbox. */
  async connect(projects: string): Promise<void> {
    const given = { [annotations.projects]: projects };
    const { metadata } = await api.create(clustersPath, {
      metadata: { name: this.name, labels: { [labels.cluster]: this.name }, annotations: given },
    });
    await this.mark(String(metadata.uid));
  }

  /** Gives a uid of the cluster's Secret to the namespace of the outbox. */
  async mark(uid: string | null): Promise<void> {
    const marks = { metadata: { annotations: { [annotations.clusterUid]: uid } } };
    await api.merge(`/api/v1/namespaces/${this.namespace}`, marks);
  }

  /** Reports about one source as an agent does; other sources of the same report are lost. */
  report(uid: string, report: Partial<ClusterReport>): Promise<Answer> {
    return this.reportText(uid, reportText({ ...emptyReport, ...report }));
  }

  /** The same with a text of its own. */
  reportText(uid: string, text: string): Promise<Answer> {
    const name = reportName(reportNumberOf(uid));
    const path = `/api/v1/namespaces/${this.namespace}/configmaps/${name}`;
    return api.merge(path, { data: { [reportKey]: text } });
  }

  /** What an agent reports of a source when every target is synced. */
  async synced(source: Place, targets = 1): Promise<SourceReport> {
    const { metadata } = await api.get(this.secretOf(source));
    const seen = String(metadata.resourceVersion);
    return { seen, desired: targets, synced: targets, conflicts: 0, failed: 0 };
  }

  /** Reports that every target of a source is synced. */
  async reportSynced(source: Place, targets = 1): Promise<void> {
    const synced = await this.synced(source, targets);
    await this.report(source.uid, { sources: new Map([[source.uid, synced]]) });
  }

  /** Reports that the tombstone of a source is done. */
  async reportDone(source: Place): Promise<void> {
    const { metadata } = await api.get(this.secretOf(source));
    const done = new Map([[source.uid, String(metadata.resourceVersion)]]);
    await this.report(source.uid, { done });
  }

  /** Renews the Lease. */
  beat(): Promise<Answer> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${this.namespace}/leases`;
    const renewTime = new Date().toISOString().replace("Z", "000Z");
    return api.merge(`${path}/${ownObjects.agentLease}`, { spec: { renewTime } });
  }

  /** The names of the Secrets in the outbox. */
  async secrets(): Promise<readonly string[]> {
    const list = await api.get(`/api/v1/namespaces/${this.namespace}/secrets`);
    return listAt(list, "items").map((item) => stringAt(recordAt(item, "metadata"), "name") ?? "");
  }
}

/** Connects a cluster that lets in these projects, as kubectl latchkey cluster connect does. */
export async function connectCluster(projects: string): Promise<FakeCluster> {
  const cluster = new FakeCluster(unique("east"));
  const namespaces = "/api/v1/namespaces";
  if ((await api.find(`${namespaces}/latchkey-clusters`)).code === 404)
    await api.create(namespaces, { metadata: { name: "latchkey-clusters" } }).catch(() => {});
  await api.create(namespaces, { metadata: { name: cluster.namespace, labels: ownLabel } });
  const labelled = (name: string, component: string): { readonly metadata: Partial<Metadata> } => ({
    metadata: { name, labels: { [labels.component]: component } },
  });
  for (let number = 0; number < reportCount; number += 1)
    await api.create(
      `${namespaces}/${cluster.namespace}/configmaps`,
      labelled(reportName(number), components.clusterReport),
    );
  await api.create(
    `/apis/coordination.k8s.io/v1/namespaces/${cluster.namespace}/leases`,
    labelled(ownObjects.agentLease, components.clusterAgent),
  );
  await cluster.connect(projects);
  return cluster;
}

/** Waits until the Secret of a source in an outbox is an offer of these projects. */
export function becomesOffered(path: string, { uid }: Place, projects: string): Promise<void> {
  return becomes(`${path} to be an offer`, () => api.find(path), {
    code: 200,
    metadata: {
      labels: { [labels.outboxUid]: uid },
      annotations: { [annotations.syncToProjects]: projects },
    },
  });
}

/** Waits until the Secret of a source in an outbox withdraws it, without data. */
export function becomesWithdrawn(path: string, { uid }: Pick<Place, "uid">): Promise<void> {
  const see = async () => {
    const { code, metadata, data } = await api.find(path);
    return { code, annotations: metadata?.annotations, data };
  };
  return becomes(`${path} to be withdrawn`, see, {
    code: 200,
    annotations: { [annotations.withdrawn]: uid },
    data: undefined,
  });
}
