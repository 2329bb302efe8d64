import { setTimeout } from "node:timers/promises";
import { afterAll, describe, expect, inject, it } from "vitest";
import { annotations, outboxSecretType } from "../../src/api/names.ts";
import { listAt } from "../../src/api/parse.ts";
import { becomes, becomesGone } from "../support/becomes.ts";
import { api, makeNamespace, unique } from "../support/policy-request.ts";
import { makeSharedSecret, type Place, view } from "../support/shared-secret-requests.ts";
import {
  becomesOffered,
  becomesWithdrawn,
  connectCluster,
  type FakeCluster,
} from "./cluster-fixture.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import { dataOf, to } from "./sync-fixture.ts";

afterAll(expectNoTrouble);

interface Shared {
  readonly cluster: FakeCluster;
  readonly project: string;
  readonly source: Place;
  /** The path of the Secret in the outbox. */
  readonly secret: string;
}

const toClusters = (project: string, clusters: string) =>
  to(project, { [annotations.syncToClusters]: clusters });

/** A SharedSecret that a connected cluster is offered. */
async function share(): Promise<Shared> {
  const project = unique("project");
  const cluster = await connectCluster(project);
  const source = await makeSharedSecret({
    namespace: await makeNamespace(),
    annotations: toClusters(project, cluster.name),
    spec: { data: dataOf("first") },
  });
  const secret = cluster.secretOf(source);
  await becomesOffered(secret, source, project);
  return { cluster, project, source, secret };
}

const annotate = ({ path }: Place, given: Readonly<Record<string, string | null>>) =>
  api.merge(path, { metadata: { annotations: given } });

/** Waits for the reason of the condition about clusters. */
const becomesReason = (source: Place, reason: string) =>
  becomes(`${source.name} to say ${reason}`, () => view(source), {
    conditions: { ClustersSynced: { reason } },
  });

describe.concurrent("a SharedSecret with both consents", () => {
  it("is offered to the cluster with its own data, and said to be synced when the agent says so", async () => {
    const { cluster, source, secret } = await share();
    expect(await api.get(secret)).toMatchObject({
      type: outboxSecretType,
      data: dataOf("first"),
      metadata: { annotations: { [annotations.source]: `${source.namespace}/${source.name}` } },
    });
    await cluster.beat();
    await cluster.reportSynced(source, 3);
    await becomesReason(source, "Synced");
    expect((await view(source)).sync).toMatchObject({
      clusters: [{ name: cluster.name, desired: 3, synced: 3, conflicts: 0, failed: 0 }],
      clusterCounts: { named: 1, synced: 1 },
    });
  });

  it("is offered again with other data, and with other options", async () => {
    const { source, secret } = await share();
    await api.merge(source.path, { spec: { data: dataOf("second") } });
    await becomes("other data", () => api.find(secret), { data: dataOf("second") });
    await annotate(source, { [annotations.syncSecretName]: "renamed" });
    await becomes("the option", () => api.find(secret), {
      metadata: { annotations: { [annotations.syncSecretName]: "renamed" } },
    });
  });

  it("is offered again after somebody has deleted its Secret", async () => {
    const { project, source, secret } = await share();
    const { metadata } = await api.get(secret);
    await api.delete(secret);
    await becomesOffered(secret, source, project);
    expect((await api.get(secret)).metadata.uid).not.toBe(metadata.uid);
  });
});

describe.concurrent("a consent that is withdrawn leaves a tombstone without data", () => {
  it.each<[string, (shared: Shared) => Promise<unknown>]>([
    [
      "the cluster is not named",
      ({ source }) => annotate(source, { [annotations.syncToClusters]: null }),
    ],
    [
      "another cluster is named",
      ({ source }) => annotate(source, { [annotations.syncToClusters]: unique("west") }),
    ],
    [
      "the project is not named",
      ({ source }) => annotate(source, { [annotations.syncToProjects]: unique("project") }),
    ],
    ["the cluster lets in no project", ({ cluster }) => cluster.letIn(null)],
    ["the cluster lets in another project", ({ cluster }) => cluster.letIn(unique("project"))],
    ["the source is deleted", ({ source }) => api.delete(source.path)],
  ])("when %s, until the agent has acted upon it", async (_, withdraw) => {
    const shared = await share();
    await withdraw(shared);
    await becomesWithdrawn(shared.secret, shared.source);
    await shared.cluster.reportDone(shared.source);
    await becomesGone(shared.secret);
  });

  it("and is an offer again when the consent is given again", async () => {
    const { cluster, project, source, secret } = await share();
    await cluster.letIn(null);
    await becomesWithdrawn(secret, source);
    await becomesReason(source, "ProjectNotLetIn");
    await cluster.letIn(`${project}, other`);
    await becomesOffered(secret, source, project);
  });

  it("but not for an invalid option", async () => {
    const { source, secret } = await share();
    const { metadata } = await api.get(secret);
    await annotate(source, { [annotations.syncSecretType]: "helm.sh/release.v1" });
    await becomesReason(source, "InvalidSyncOption");
    expect((await api.get(secret)).metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  it("not when the source was created again: the Secret is the offer of the new one", async () => {
    const { cluster, project, source, secret } = await share();
    await api.delete(source.path);
    await becomesGone(source.path);
    const again = await makeSharedSecret({
      namespace: source.namespace,
      name: source.name,
      annotations: toClusters(project, cluster.name),
      spec: { data: dataOf("again") },
    });
    await becomesOffered(secret, again, project);
    expect((await api.get(secret)).data).toEqual(dataOf("again"));
  });
});

describe.concurrent("the deletion of a source", () => {
  it("waits until a cluster that is heard has acted upon it", async () => {
    const { cluster, source, secret } = await share();
    await cluster.beat();
    await cluster.reportSynced(source);
    // The heartbeat and the deletion arrive by two watches, in any order.
    await becomesReason(source, "Synced");
    await api.delete(source.path);
    await becomesWithdrawn(secret, source);
    expect(await api.find(source.path)).toMatchObject({ code: 200 });
    await cluster.reportDone(source);
    await becomesGone(source.path);
    await becomesGone(secret);
  });

  it("is not needed to say what a cluster cannot remove that is not named any more", async () => {
    const { cluster, source, secret } = await share();
    await cluster.beat();
    await cluster.reportSynced(source);
    await becomesReason(source, "Synced");
    await annotate(source, { [annotations.syncToClusters]: null });
    await becomesWithdrawn(secret, source);
    const report = { ...(await cluster.synced(source, 0)), reason: "RemovalBlocked" };
    const kept = { ...report, message: 'pay/db: finalizers of others keep the Secret: "x/keep"' };
    await cluster.report(source.uid, { sources: new Map([[source.uid, kept]]) });
    await becomesReason(source, "RemovalBlocked");
    expect((await view(source)).sync).toMatchObject({
      clusters: [{ name: cluster.name, reason: "RemovalBlocked", message: kept.message }],
    });
    await cluster.reportDone(source);
    await becomesGone(secret);
    const listed = async () => listAt((await view(source)).sync, "clusters").length;
    await becomes("no word of the cluster", listed, 0);
  });

  it("does not wait for a cluster that is not heard", async () => {
    const { source, secret } = await share();
    await api.delete(source.path);
    await becomesGone(source.path);
    await becomesWithdrawn(secret, source);
  });
});

describe.concurrent("a cluster", () => {
  it("has no Secrets in its outbox when it is disconnected", async () => {
    const { cluster, source, secret } = await share();
    await api.delete(cluster.path);
    await becomesGone(secret);
    await becomesReason(source, "ClusterUnknown");
  });

  it("that is connected anew is offered nothing until its outbox has the uid of its Secret", async () => {
    const { cluster, project, source, secret } = await share();
    await api.delete(cluster.path);
    await becomesGone(secret);
    await cluster.connect(project);
    await becomesOffered(secret, source, project);
    await cluster.mark(null);
    await becomesGone(secret);
    await becomesReason(source, "OutboxMissing");
  });

  it("learns that a source which it has copies of is gone", async () => {
    const { cluster } = await share();
    const gone = { namespace: unique("team"), name: "gone", uid: unique("uid"), path: "" };
    const place = `${gone.namespace}/${gone.name}`;
    await cluster.report(gone.uid, { unknown: new Map([[gone.uid, place]]) });
    await becomesWithdrawn(cluster.secretOf(gone), gone);
    await cluster.reportDone(gone);
    await becomesGone(cluster.secretOf(gone));
  });

  it("changes nothing by a report that is not valid", async () => {
    const { cluster, project, source, secret } = await share();
    const before = await cluster.secrets();
    const { uid } = source;
    const done = { [uid]: String((await api.get(secret)).metadata.resourceVersion) };
    const hostile = [
      JSON.stringify({ format: 1, done }),
      "{",
      "[]",
      "null",
      JSON.stringify({ format: 2, done: { [uid]: "1" } }),
      JSON.stringify({ format: 1, done: { [uid]: "1" }, unknown: { [uid]: "../../etc" } }),
      JSON.stringify({ format: 1, sources: { [uid]: { synced: -1, desired: 1e300, seen: {} } } }),
      JSON.stringify({ format: 1, unknown: { __proto__: "a/b", constructor: "a" }, done: [uid] }),
      JSON.stringify({ format: 1, unknown: { "": "team/x" }, x: "x".repeat(60_000) }),
    ];
    for (const text of hostile) await cluster.reportText(uid, text);
    await cluster.reportSynced(source);
    await becomesReason(source, "Synced");
    await becomesOffered(secret, source, project);
    expect(await cluster.secrets()).toEqual(before);
  });

  it("changes nothing by a report about the Secrets of another one", async () => {
    const { cluster, source, secret } = await share();
    await annotate(source, { [annotations.syncToClusters]: null });
    await becomesWithdrawn(secret, source);
    const { metadata } = await api.get(secret);
    const other = await connectCluster("*");
    const place = `${source.namespace}/${source.name}`;
    await other.report(source.uid, {
      sources: new Map([[source.uid, await cluster.synced(source)]]),
      done: new Map([[source.uid, String(metadata.resourceVersion)]]),
      unknown: new Map([[source.uid, place]]),
    });
    await becomesWithdrawn(other.secretOf(source), source);
    expect((await api.get(secret)).metadata).toEqual(metadata);
  });

  it("has metrics of its outbox", async () => {
    const { cluster, source } = await share();
    await cluster.beat();
    await annotate(source, { [annotations.syncToClusters]: null });
    await becomesWithdrawn(cluster.secretOf(source), source);
    const see = async () => {
      const text = await (await fetch(`${inject("controller").url}/metrics`)).text();
      return text.split("\n").filter((line) => line.includes(`cluster="${cluster.name}"`));
    };
    await becomes("the metrics", see, [
      `latchkey_outbox_secrets{cluster="${cluster.name}"} 1`,
      `latchkey_outbox_withdrawals{cluster="${cluster.name}"} 1`,
      `latchkey_outbox_bytes{cluster="${cluster.name}"} 0`,
      expect.stringMatching(/^latchkey_cluster_agent_heartbeat_age_seconds\{.*\} \d/),
    ]);
  });

  it("causes no write while its agent renews its Lease and reports of other sources", async () => {
    const { cluster, source, secret } = await share();
    await cluster.beat();
    await cluster.reportSynced(source);
    await becomesReason(source, "Synced");
    const states = async () =>
      Promise.all(
        [source.path, secret].map(async (path) => (await api.get(path)).metadata.resourceVersion),
      );
    const before = await states();
    const synced = await cluster.synced(source);
    for (let beats = 0; beats < 20; beats += 1) {
      await cluster.beat();
      const sources = new Map([
        [source.uid, synced],
        [`uid-${beats}`, synced],
      ]);
      await cluster.report(source.uid, { sources });
    }
    await setTimeout(1_000);
    expect(await states()).toEqual(before);
  });
});
