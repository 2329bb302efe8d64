import { describe, expect, test } from "vitest";
import { recordAt, stringAt } from "../../../src/api/parse.ts";
import {
  clusterReportReconciler,
  reportKeys,
} from "../../../src/controllers/cluster-agent/cluster-report.ts";
import { sourceReportReconciler } from "../../../src/controllers/cluster-agent/source-report.ts";
import { parseReport, reportKey } from "../../../src/domain/outbox/cluster-report.ts";
import { reportName, reportNumberOf } from "../../../src/domain/outbox/outbox-names.ts";
import { KubeError } from "../../../src/kube/client/kube-error.ts";
import { agentWorld } from "./agent-world.ts";
import type { Request } from "../../support/fake-client.ts";
import { projectNamespace, rawCopy } from "../../support/fake-informers.ts";
import { rawObject, type RawObject } from "../../support/fake-list-watch.ts";
import { outbox, rawEntry, rawTombstone } from "../../support/raw-outbox.ts";

const key = reportName(reportNumberOf("uid-db"));
const labelled = { labels: { kept: "yes" }, annotations: { also: "kept" } };

/** An agent, and the ConfigMap of the report about `team/db`. */
async function setup(
  listed: Readonly<Record<string, readonly RawObject[]>> & { entries: readonly RawObject[] },
  problem?: { readonly reason: string; readonly message: string },
) {
  const state = { resourceVersion: "1", error: undefined as Error | undefined, of: /./ };
  const answer = ({ verb, ref }: Request): unknown => {
    if (state.error !== undefined && state.of.test(verb)) return state.error;
    if (verb === "replace") state.resourceVersion += "1";
    const { resourceVersion } = state;
    return rawObject({ ...ref, uid: "uid-report", resourceVersion, ...labelled });
  };
  const agent = await agentWorld(listed, { answer, ...(problem && { problem }) });
  const reconciler = clusterReportReconciler({ outbox, problem: () => problem });
  const run = (name = key) => agent.reconcile(reconciler, name);
  const written = () =>
    agent.client.requests
      .filter(({ verb }) => verb === "replace")
      .map(({ body }) => parseReport(stringAt(recordAt(body, "data"), reportKey) ?? ""));
  return { ...agent, state, run, written };
}

const count = (agent: Awaited<ReturnType<typeof setup>>) =>
  agent.reconcile(sourceReportReconciler, "team/db");

describe("a report", () => {
  test("says what became of its sources, and keeps the metadata of its ConfigMap", async () => {
    const agent = await setup({ entries: [rawEntry("db")], namespaces: [projectNamespace("pay")] });
    await count(agent);
    await agent.run();
    expect([...(agent.written()[0]?.sources ?? [])]).toMatchObject([["uid-db", { desired: 1 }]]);
    expect(agent.client.requests.at(-1)).toMatchObject({
      verb: "replace",
      ref: { namespace: outbox, name: key },
      body: { metadata: { uid: "uid-report", resourceVersion: "1", ...labelled } },
    });
  });

  test("is not written before all sources are counted", async () => {
    const agent = await setup({ entries: [rawEntry("db")] });
    expect(await agent.run()).toMatchObject({ kind: "requeue-at" });
    expect(agent.client.lines).toEqual([]);
  });

  test("names what is done, and copies of sources that are unknown", async () => {
    const done = await setup({ entries: [rawTombstone("db")] });
    await count(done);
    await done.run();
    expect([...(done.written()[0]?.done.keys() ?? [])]).toEqual(["uid-db"]);
    const left = await setup({ entries: [rawTombstone("db")], secrets: [rawCopy("db", "pay")] });
    await count(left);
    await left.run();
    expect(left.written()[0]?.done.size).toBe(0);
    const unknown = await setup({ entries: [], secrets: [rawCopy("db", "pay")] });
    await unknown.run();
    expect([...(unknown.written()[0]?.unknown ?? [])]).toEqual([["uid-db", "team/db"]]);
  });

  test("is the first one if it is about the agent", async () => {
    const problem = { reason: "PoliciesMissing", message: "it is gone" };
    const agent = await setup({ entries: [] }, problem);
    for (const name of reportKeys.slice(0, 2)) await agent.run(name);
    expect(agent.written().map((each) => each.problem)).toEqual([problem, undefined]);
  });

  test("is written again only if it has changed, and not within 5 s", async () => {
    const agent = await setup({ entries: [rawEntry("db")], namespaces: [projectNamespace("pay")] });
    await count(agent);
    await agent.run();
    agent.world.memory.sourceReports.delete("team/db");
    await agent.run();
    expect(agent.written()).toHaveLength(1);
    await agent.clock.run(5_000);
    await agent.run();
    expect(agent.written()).toHaveLength(2);
    await agent.clock.run(5_000);
    await agent.run();
    await agent.clock.run(60_000);
    await agent.run();
    expect(agent.written()).toHaveLength(2);
  });

  test("is written again where its ConfigMap is not what was written", async () => {
    const agent = await setup({ entries: [] });
    await agent.run();
    await agent.clock.run(5_000);
    await agent.run();
    agent.state.resourceVersion = "99";
    await agent.clock.run(300_000);
    await agent.run();
    expect(agent.written()).toHaveLength(2);
  });

  test.each(["Forbidden", "Conflict", "Network", "ServerError"] as const)(
    "is written again after a write that the central cluster answers %s",
    async (code) => {
      const agent = await setup({ entries: [] });
      agent.state.of = /^replace$/;
      agent.state.error = new KubeError("refused", { code, status: 0 });
      await agent.run();
      agent.state.error = undefined;
      await agent.clock.run(5_000);
      await agent.run();
      expect(agent.written()).toHaveLength(2);
    },
  );

  test.each(["Forbidden", "NotFound", "Network"] as const)(
    "waits while the central cluster answers %s, without a word for each try",
    async (code) => {
      const agent = await setup({ entries: [] });
      agent.state.error = new KubeError("refused", { code, status: 0 });
      expect(await agent.run()).toMatchObject({ kind: expect.stringMatching(/^requeue/) });
      expect([agent.log.lines, agent.written()]).toEqual([[], []]);
      agent.state.error = undefined;
      await agent.run();
      expect(agent.written()).toHaveLength(1);
    },
  );
});
