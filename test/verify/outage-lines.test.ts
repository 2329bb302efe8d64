import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringAt } from "../../src/api/parse.ts";
import { type AgentFixture, startAgentFixture } from "../support/agent-fixture.ts";
import { type DedicatedCluster, hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { applyGateway } from "../support/install.ts";
import type { LatchkeyProcess } from "../support/latchkey-process.ts";
import { type SharedWithEast, shareWithEast } from "../support/shared-with-east.ts";

type Name = "controller" | "webhook" | "gateway" | "agent";
const names = ["controller", "webhook", "gateway", "agent"] as const;

let fixture: AgentFixture;
let processes: Readonly<Record<Name, LatchkeyProcess>>;
let shared: SharedWithEast;

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  fixture = await startAgentFixture();
  const { central } = fixture;
  await applyGateway(central.controlPlane);
  const options = { restart: "at-once" } as const;
  processes = {
    controller: await central.run(options),
    webhook: await central.runWebhook(),
    gateway: await central.runGateway(),
    agent: await fixture.startAgent([fixture.credential], "agent", options),
  };
  await fixture.agent.stop();
  await Promise.all(names.map((name) => processes[name].waitReady()));
  shared = await shareWithEast(fixture, 5);
});
afterAll(() => fixture?.stop());

/** What a process logs from now on, and how many times it starts. */
function recordLines(name: Name) {
  const { log, starts } = processes[name];
  const from = readFileSync(log).length;
  const lines = (): readonly unknown[] =>
    readFileSync(log)
      .subarray(from)
      .toString()
      .split("\n")
      .flatMap((line): unknown[] => (line.startsWith("{") ? [JSON.parse(line)] : []));
  return {
    name,
    lives: () => 1 + processes[name].starts - starts,
    warnings: () =>
      lines().filter((line) => ["warn", "error"].includes(stringAt(line, "level") ?? "")),
    says: (message: string) => lines().some((line) => stringAt(line, "message") === message),
  };
}

/**
 * Stops an API server until these processes have said so, and starts it again until all work.
 * Returns what they logged meanwhile.
 */
async function restart({ controlPlane }: DedicatedCluster, concerned: readonly Name[]) {
  const records = names.map(recordLines);
  const saying = records.filter(({ name }) => concerned.includes(name));
  await controlPlane.interrupt("kube-apiserver", async () => {
    for (const { name, says } of saying)
      await eventually(() => says("the API server serves no request"), {
        what: `${name} to say so`,
      });
  });
  // A process that has lost its Lease starts again, and has nothing to say then.
  for (const { name, says, lives } of saying)
    await eventually(() => lives() > 1 || says("the API server serves requests again"), {
      what: `${name} to say that it does again`,
    });
  await Promise.all(names.map((name) => processes[name].waitReady()));
  const password = `after an outage of ${concerned.join(", ")}`;
  await shared.change(password);
  for (const place of shared.places) await fixture.arrives(place, { password });
  return records;
}

/** Lines beyond three of a process, and beyond the first request that fails, for each of its lives. */
function excessOf(
  records: Awaited<ReturnType<typeof restart>>,
  concerned: readonly Name[],
): readonly unknown[] {
  return records.flatMap(({ name, lives, warnings }) => {
    const found = warnings();
    const failed = found.filter((line) => stringAt(line, "code") !== undefined);
    const counts = `${found.length} warnings and errors, ${failed.length} of requests`;
    process.stdout.write(`${name}: ${counts}, in ${lives()} lives\n`);
    const most = concerned.includes(name) ? 3 * lives() : 0;
    // A process that starts during an outage does not know of it yet.
    return [...found.slice(most), ...failed.slice(2 * lives() - 1)].map((line) => ({ name, line }));
  });
}

describe.skipIf(!hasDedicatedClusters)("while kube-apiserver restarts", () => {
  it("each process of its cluster and the agent of another one say so in three lines", async () => {
    expect(excessOf(await restart(fixture.central, names), names)).toEqual([]);
  });

  it("the agent of its cluster says so in three lines, and those of another one say nothing", async () => {
    expect(excessOf(await restart(fixture.east, ["agent"]), ["agent"])).toEqual([]);
  });
});
