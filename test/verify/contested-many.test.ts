import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { auditLength, latchkeyRecords, mutations } from "../support/audit-log.ts";
import { admin, get, mergePatch, post } from "../support/cluster-connection.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { median } from "../support/percentile.ts";

const contested = 1_000;
const rounds = 15;
/** Writes of an object that somebody undoes, in its first minute (docs/decisions/failed-writes.md). */
const mostInMinute = 10;

const home = "many-home";
const sources = `/apis/${apiVersion}/namespaces/${home}/sharedsecrets`;
const secretsIn = (namespace: string) => `/api/v1/namespaces/${namespace}/secrets`;
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** Adds a key to the data of each Secret that is written in the namespace `many-contested`. */
const overwriting = {
  mutatingadmissionpolicies: {
    metadata: { name: "overwrite" },
    spec: {
      reinvocationPolicy: "Never",
      matchConstraints: {
        namespaceSelector: { matchLabels: { [labels.project]: "many-contested" } },
        resourceRules: [
          {
            apiGroups: [""],
            apiVersions: ["v1"],
            operations: ["CREATE", "UPDATE"],
            resources: ["secrets"],
          },
        ],
      },
      mutations: [
        {
          patchType: "JSONPatch",
          jsonPatch: {
            expression: '[JSONPatch{op: "add", path: "/data/injected", value: "eA=="}]',
          },
        },
      ],
    },
  },
  mutatingadmissionpolicybindings: {
    metadata: { name: "overwrite" },
    spec: { policyName: "overwrite" },
  },
} as const;

describe.skipIf(!hasDedicatedClusters)("beside a thousand contested copies", () => {
  let cluster: DedicatedCluster;
  let quiet = 0;

  beforeAll(async () => {
    cluster = await startDedicatedCluster();
    await cluster.run({ identity: "many" });
    await cluster.arrange(post("/api/v1/namespaces", { metadata: { name: home } }));
    for (const name of ["many-contested", "many-honest"])
      await cluster.arrange(
        post("/api/v1/namespaces", {
          metadata: {
            name,
            labels: { [labels.project]: name },
            annotations: { [annotations.sync]: "enabled" },
          },
        }),
      );
    for (const [plural, body] of Object.entries(overwriting))
      await cluster.arrange(post(`/apis/admissionregistration.k8s.io/v1/${plural}`, body));
    const isInForce = async () => {
      const probe = { metadata: { name: "probe" }, data: { first: "eA==" } };
      const answer = await cluster.ask(
        admin,
        post(`${secretsIn("many-contested")}?dryRun=All`, probe),
      );
      return recordAt(answer, "data")["injected"] !== undefined;
    };
    await eventually(isInForce, { what: "the policy to be in force" });
    await share("honest", "many-honest");
    quiet = await medianArrivalMs();
  });
  afterAll(() => cluster?.stop());

  const share = (name: string, project: string) =>
    cluster.arrange(
      post(sources, {
        apiVersion,
        kind: "SharedSecret",
        metadata: { name, annotations: { [annotations.syncToProjects]: project } },
        spec: { data: { password: base64(name) } },
      }),
    );

  /** The median time from a change of the honest SharedSecret to its copy, in milliseconds. */
  async function medianArrivalMs(): Promise<number> {
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const value = base64(`value ${round} ${Math.random()}`);
      const began = performance.now();
      await cluster.arrange(
        mergePatch(`${sources}/honest`, { spec: { data: { password: value } } }),
      );
      const hasArrived = async () => {
        const copy = await cluster.ask(admin, get(`${secretsIn("many-honest")}/honest`));
        return recordAt(copy, "data")["password"] === value;
      };
      await eventually(hasArrived, { what: "the copy to have the value", every: 5 });
      times.push(performance.now() - began);
    }
    return median(times);
  }

  it("a deleted copy and a changed one are repaired", async () => {
    const names = Array.from({ length: rounds }, (_, index) => `repaired-${index}`);
    await Promise.all(names.map((name) => share(name, "many-honest")));
    const times: Record<"deleted" | "changed", number[]> = { deleted: [], changed: [] };
    for (const name of names) {
      const path = `${secretsIn("many-honest")}/${name}`;
      const isRight = async () =>
        recordAt(await cluster.ask(admin, get(path)), "data")["password"] === base64(name);
      await eventually(isRight, { what: "the copy" });
      const undo = {
        deleted: () => cluster.arrange({ method: "DELETE", path }),
        changed: () => cluster.arrange(mergePatch(path, { data: { password: "eA==" } })),
      };
      for (const how of ["deleted", "changed"] as const) {
        const began = performance.now();
        await undo[how]();
        await eventually(isRight, { what: `the copy that was ${how} to be right`, every: 5 });
        times[how].push(performance.now() - began);
      }
    }
    expect([times.deleted.length, times.changed.length]).toEqual([rounds, rounds]);
    for (const [how, all] of Object.entries(times))
      process.stdout.write(`a ${how} copy is right after ${Math.round(median(all))} ms\n`);
  });

  it("a new value arrives, and no contested copy is written without bound", async () => {
    const from = auditLength(cluster.audit);
    const names = Array.from({ length: contested }, (_, index) => `noise-${index}`);
    for (let at = 0; at < names.length; at += 20)
      await Promise.all(names.slice(at, at + 20).map((name) => share(name, "many-contested")));
    const beside = await medianArrivalMs();
    const isSaid = async () => {
      const { status } = await cluster.arrange(get(`${sources}/noise-0`));
      return JSON.stringify(status).includes("Contested");
    };
    await eventually(isSaid, { what: "the status to say so", within: 300_000 });
    const writes = new Map<string, number[]>();
    for (const { objectRef, requestReceivedTimestamp } of mutations(
      latchkeyRecords(cluster.audit, from),
    )) {
      const { resource, namespace, name = "" } = objectRef ?? { resource: "" };
      if (resource !== "secrets" || namespace !== "many-contested") continue;
      const times = writes.get(name) ?? [];
      writes.set(name, [...times, Date.parse(requestReceivedTimestamp)]);
    }
    const inFirstMinute = [...writes.values()].map(
      (times) => times.filter((time) => time < Math.min(...times) + 60_000).length,
    );
    expect(writes.size).toBe(contested);
    expect(Math.max(...inFirstMinute)).toBeLessThanOrEqual(mostInMinute);
    process.stdout.write(
      `a new value beside ${contested} contested copies arrives after ${Math.round(beside)} ms, ` +
        `${(beside / quiet).toFixed(2)} times the quiet ${Math.round(quiet)} ms (medians of ` +
        `${rounds}); at most ${Math.max(...inFirstMinute)} writes of a contested copy in its first minute\n`,
    );
  });
});
