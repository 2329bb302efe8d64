import { describe, expect, inject, it } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { becomes } from "../support/becomes.ts";
import { api, makeNamespace, unique } from "../support/policy-request.ts";
import { reportProblems } from "../support/report-shape.ts";
import { runCli } from "../support/run-cli.ts";
import { makeSharedSecret, type Place, view } from "../support/shared-secret-requests.ts";
import { becomesOffered, becomesWithdrawn, FakeCluster } from "../product/cluster-fixture.ts";
import { dataOf, to } from "../product/sync-fixture.ts";

/** A SharedSecret that is offered to a cluster, which `cluster connect` has connected. */
async function share(letIn: string | undefined) {
  const project = unique("project");
  const cluster = new FakeCluster(unique("east"));
  const words = ["cluster", "connect", cluster.name, `--projects=${letIn ?? project}`];
  expect((await runCli(words)).code).toBe(0);
  const source = await makeSharedSecret({
    namespace: await makeNamespace(),
    annotations: to(project, { [annotations.syncToClusters]: cluster.name }),
    spec: { data: dataOf("first") },
  });
  return { cluster, project, source };
}

/** The items about connected clusters of a report: their states, reasons and messages. */
async function clusterItems(words: readonly string[], { namespace }: Place) {
  const { stdout } = await runCli([...words, "-n", namespace, "-o", "json"]);
  const report: unknown = JSON.parse(stdout);
  const command = words[0] === "cluster" ? "cluster list" : words[0] === "why" ? "why" : "status";
  expect(reportProblems(report, command)).toEqual([]);
  return listAt(report, "items")
    .filter((item) => stringAt(recordAt(item, "object"), "kind") === "Cluster")
    .map((item) => [`${stringAt(item, "state")} ${stringAt(item, "reason")}`, item] as const);
}

const statesIn = async (words: readonly string[], source: Place) =>
  (await clusterItems(words, source)).map(([state]) => state);

describe.skipIf(inject("cli") === undefined)("SharedSecrets in a cluster of the client", () => {
  it("why, status and cluster list follow an offer from the outbox to the report", async () => {
    const { cluster, project, source } = await share(undefined);
    const why = ["why", `shsec/${source.name}`];
    await becomesOffered(cluster.secretOf(source), source, project);
    expect(await statesIn(why, source)).toEqual(["problem ClusterUnreachable"]);
    await cluster.beat();
    expect(await statesIn(why, source)).toEqual(["unknown Progressing"]);
    const waiting = await clusterItems(["status"], source);
    expect(waiting.map(([, item]) => recordAt(item, "cluster"))).toContainEqual(
      expect.objectContaining({ offered: 1, synced: 0, unseenAge: expect.any(Number) }),
    );
    await cluster.reportSynced(source, 2);
    expect(await statesIn(why, source)).toEqual(["ok Arrives"]);
    const counted = { sync: { clusterCounts: { named: 1, synced: 1 } } };
    await becomes("the status to count it", () => view(source), counted);
    expect(await statesIn(["status"], source)).toEqual(["ok Arrives", "ok Synced"]);
    const [, listed] =
      (await clusterItems(["cluster", "list"], source)).find(
        ([, item]) => stringAt(recordAt(item, "object"), "name") === cluster.name,
      ) ?? [];
    expect(recordAt(listed, "cluster")).toMatchObject({ offered: 1, synced: 1, withdrawals: 0 });
  });

  it("why names the consent that is missing, and what a user may not read", async () => {
    const { cluster, project, source } = await share("other");
    const [[state, item] = []] = await clusterItems(["why", `shsec/${source.name}`], source);
    expect([state, stringAt(item, "message")]).toEqual([
      "problem ProjectNotLetIn",
      `The cluster does not let project "${project}" in.`,
    ]);
    await becomes("the status to say it", () => view(source), {
      sync: { clusters: [{ name: cluster.name, reason: "ProjectNotLetIn" }] },
    });
    await api.merge(source.path, { spec: { access: [{ verbs: ["get"], users: ["bob"] }] } });
    const args = ["why", `shsec/${source.name}`, "-n", source.namespace];
    const asBob = () => runCli(args, { user: "bob" });
    await becomes("bob to read it", asBob, { code: 0 });
    expect((await asBob()).stdout).toContain(`Cluster "${cluster.name}": `);
  });

  it("status follows a consent, so that it says what why says", async () => {
    const { cluster, project, source } = await share("other");
    const status = (reason: string) => ({ sync: { clusters: [{ name: cluster.name, reason }] } });
    await becomes("the status to say it", () => view(source), status("ProjectNotLetIn"));
    const words = ["cluster", "connect", cluster.name, `--projects=${project}`];
    expect((await runCli(words)).code).toBe(0);
    await becomes("it to follow", () => view(source), status("ClusterUnreachable"));
    for (const command of [["status"], ["why", `shsec/${source.name}`]])
      expect((await statesIn(command, source))[0]).toBe("problem ClusterUnreachable");
  });

  it("plan says what a change of either consent gives and takes", async () => {
    const { cluster, project, source } = await share(undefined);
    const offer = cluster.secretOf(source);
    await becomesOffered(offer, source, project);
    const planned = async (manifest: object) => {
      const { stdout, stderr } = await runCli(["plan", "-f", "-", "--force-conflicts"], {
        input: JSON.stringify(manifest),
      });
      expect(stderr).toBe("");
      return stdout.split("\n").filter((line) => line.includes(`Cluster "${cluster.name}"`));
    };
    const named = `SharedSecret "${source.namespace}/${source.name}"`;
    const loses = `  - Cluster "${cluster.name}" loses ${named}, and the copies there are removed.`;
    const ofSource = {
      apiVersion: "management.service/v1",
      kind: "SharedSecret",
      metadata: {
        namespace: source.namespace,
        name: source.name,
        annotations: { [annotations.syncToClusters]: "north" },
      },
    };
    expect(await planned(ofSource)).toEqual([loses]);
    const ofCluster = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        namespace: "latchkey-clusters",
        name: cluster.name,
        annotations: { [annotations.projects]: "pay" },
      },
    };
    expect(await planned(ofCluster)).toEqual([loses]);
    // And it is so.
    expect((await runCli(["cluster", "connect", cluster.name, "--projects="])).code).toBe(0);
    await becomesWithdrawn(offer, source);
    const withdrawn = await clusterItems(["cluster", "list"], source);
    expect(withdrawn.map(([, item]) => recordAt(item, "cluster"))).toContainEqual(
      expect.objectContaining({ projects: [], offered: 0, withdrawals: 1 }),
    );
  });

  it("disconnect takes what was offered away", async () => {
    const { cluster, project, source } = await share(undefined);
    const offer = cluster.secretOf(source);
    await becomesOffered(offer, source, project);
    expect((await runCli(["cluster", "disconnect", cluster.name])).code).toBe(0);
    await becomes("the offer to end", () => api.find(offer), { code: 404 });
    expect(await statesIn(["why", `shsec/${source.name}`], source)).toEqual([
      "problem ClusterUnknown",
    ]);
  });
});
