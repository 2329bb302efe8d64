import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { seededRandom } from "../support/seeded-random.ts";
import { auditLength, latchkeyRecords, mutations, shortcomings } from "../support/audit-log.ts";
import type { LatchkeyProcess } from "../support/latchkey-process.ts";
import {
  allowRequesters,
  play,
  playBeginning,
  playGrounds,
  shortLivesOver,
} from "../support/scenario-play.ts";
import { scenario } from "../support/scenario.ts";
import { reasonsOf, snapshotOf, type Snapshot } from "../support/snapshot.ts";
import { eventually } from "../support/eventually.ts";
import {
  hasDedicatedClusters,
  settled,
  startDedicatedCluster,
  type DedicatedCluster,
} from "../support/dedicated-cluster.ts";

const seed = Number(process.env.LATCHKEY_TEST_SEED ?? Date.now() % 1_000_000);
const kills = 20;

let cluster: DedicatedCluster;
let controller: LatchkeyProcess;
let undisturbed: Snapshot;

/** The reasons of Ready at the end of the scenario. */
const verdicts = {
  "SharedSecret api": "Ready",
  "SharedSecret broken": "InvalidAccessRule",
  "SharedSecret db": "Ready",
  "SharedSecret reborn": "Ready",
  "SharedSecret taken": "Ready",
  "SharedSecret tls": "Ready",
  "OwnedAccessKey accounts": "Active",
  "OwnedAccessKey digest": "Active",
  "OwnedAccessKey long": "Active",
  "OwnedAccessKey nothing": "MissingKey",
  "OwnedAccessKey paused": "Disabled",
  "OwnedAccessKey plain": "Active",
  "OwnedAccessKey short": "Expired",
  "OwnedAccessKey younger": "DuplicateKey",
  "DirectClusterEndpointToken accounts": "UnsupportedRequester",
  "DirectClusterEndpointToken bobs": "Minted",
  "DirectClusterEndpointToken long": "Minted",
  "DirectClusterEndpointToken reborn": "Minted",
  "DirectClusterEndpointToken short": "Expired",
};

/**
 * These, 16 copies, an unmanaged Secret, 6 Roles with their bindings, 2 requesters' grants and an
 * Event for each expiry.
 */
const objects = Object.keys(verdicts).length + 16 + 1 + 6 * 2 + 2 * 2 + 2;

/**
 * When to kill: right after this number of writes since the last start, or after this number of
 * milliseconds.
 */
type Point = { readonly writes: number } | { readonly ms: number };

function points(): readonly Point[] {
  const random = seededRandom(seed);
  return Array.from({ length: kills }, () =>
    random() < 0.75
      ? { writes: 1 + Math.floor(random() * 16) }
      : { ms: Math.floor(random() * 1_500) },
  );
}

async function reached(point: Point, since: number): Promise<void> {
  const begun = Date.now();
  const look = () =>
    "ms" in point
      ? Date.now() >= begun + point.ms
      : mutations(latchkeyRecords(cluster.audit, since)).length >= point.writes;
  await eventually(look, { what: `the point ${JSON.stringify(point)}`, every: 10 });
}

/** Kills the controller at each point and restarts it at once. */
async function killAt(all: readonly Point[]): Promise<void> {
  for (const point of all) {
    await reached(point, auditLength(cluster.audit));
    const exited = controller.exited();
    controller.kill("SIGKILL");
    expect(await exited).toMatchObject({ signal: "SIGKILL" });
    controller.start();
  }
}

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startDedicatedCluster();
  await allowRequesters(cluster);
  controller = await cluster.run();
});

afterAll(() => cluster?.stop());

describe.skipIf(!hasDedicatedClusters)("a busy controller", () => {
  it("reconciles everything without a fault", async () => {
    await playGrounds(cluster, "calm");
    await playBeginning(cluster, "calm");
    const { stir, end } = scenario("calm");
    await play(cluster, [...stir(0), ...end]);
    await shortLivesOver(cluster, "calm");
    await settled(controller);
    undisturbed = await snapshotOf(cluster, "calm");
    expect(await reasonsOf(cluster, "calm")).toEqual(verdicts);
    expect(undisturbed).toHaveLength(objects);
  });

  it(`reaches the same end state when it is killed ${kills} times (LATCHKEY_TEST_SEED=${seed})`, async () => {
    const { stir, end } = scenario("wild");
    await playGrounds(cluster, "wild");
    let over = false;
    const killing = killAt(points()).finally(() => (over = true));
    const stirring = (async () => {
      await playBeginning(cluster, "wild");
      for (let round = 0; !over; round += 1) await play(cluster, stir(round));
      await play(cluster, end);
    })();
    await Promise.all([killing, stirring]);
    await shortLivesOver(cluster, "wild");
    await controller.waitReady();
    await settled(controller);
    expect(await snapshotOf(cluster, "wild")).toEqual(undisturbed);
    expect(controller.starts).toBe(kills + 1);
  });

  it("sends no request that the shipped RBAC forbids, and logs no error", () => {
    expect(shortcomings(latchkeyRecords(cluster.audit))).toEqual([]);
    const lines = readFileSync(controller.log, "utf8").split("\n");
    expect(lines.filter((line) => line.includes('"level":"error"'))).toEqual([]);
  });
});
