import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { faults, type InProcessFault } from "./faults.ts";
import { deletesWithdrawn, givesUp, makesAnew, neverRests } from "./broken-controllers.ts";
import type { Worker } from "./worker.ts";
import { cellName, cellsOf, learn, type Played, playAll } from "./matrix.ts";
import { type Expectation, judge } from "./oracles.ts";
import { type InProcessPlayOptions, openWorkers, play } from "./in-process-play.ts";
import type { Scenario } from "./scenario.ts";
import { scenarios } from "./scenarios.ts";
import { shuffled } from "../support/seeded-random.ts";
import { startProxiedCluster, type ProxiedCluster } from "../support/proxied-cluster.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";

// Always the same sample, so that a change is tested on its own. SEED= selects other samples, and
// make faults plays all runs.
const seed = Number(process.env.SEED || 7);
const sample = { scenarios: 6, runs: 28, workers: 8 };

/** Each of its faults has a different effect. */
const copying = scenarios.filter(({ name }) => name === "sharedsecret: change data");
/** The only one whose users reach the API server through a program of Latchkey. */
const forwarding = scenarios.filter(({ name }) => name === "key: used through the gateway");
const withdrawing = scenarios.filter(({ name }) => name.startsWith("cluster: a SharedSecret is"));
/** The only one of two programs that both write what the other reads. */
const acting = scenarios.filter(({ name }) => name === "agent: create, drift, withdrawal");
/** Its Secrets are read with their data, so faults at reads happen, too. */
const following = scenarios.filter(({ name }) => name.startsWith("followed: supplied"));
const always = [...copying, ...forwarding, ...withdrawing, ...acting, ...following];
const drawn = shuffled(
  scenarios.filter((scenario) => !always.includes(scenario)),
  seed,
).slice(0, sample.scenarios - always.length);

let cluster: ProxiedCluster;
let workers: readonly Worker[];
let learned: ReadonlyMap<Scenario, Expectation>;

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startProxiedCluster(
    (line) => void process.stderr.write(`control plane: ${line}\n`),
  );
  workers = await openWorkers(cluster, "worker", sample.workers);
  learned = await learn(workers, [...always, ...drawn], { seed, lessons: 2, play });
});

afterAll(() => cluster?.stop());

describe.skipIf(!hasDedicatedClusters)("a program behind a faulty network", () => {
  it(`reaches the same end state by the same writes with any fault (${sample.runs} runs, SEED=${seed})`, async () => {
    const played: Played<InProcessFault>[] = [];
    await playAll(workers, shuffled(cellsOf(learned, faults, seed), seed).slice(0, sample.runs), {
      learned,
      play,
      onPlayed: (one) => played.push(one),
    });
    const failed = played.filter(({ problems }) => problems.length > 0);
    expect(Object.fromEntries(failed.map((one) => [cellName(one), one.problems]))).toEqual({});
    expect(played).toHaveLength(sample.runs);
  });
});

interface Broken {
  readonly what: string;
  readonly assemble: NonNullable<InProcessPlayOptions["assemble"]>;
  readonly scenario?: Scenario | undefined;
  readonly fault: string;
  /** Selects the writes of which the n-th is disturbed, in the format of the ledger. */
  readonly of: RegExp;
  readonly number: number;
  readonly oracle: "endState" | "counts" | "quiet";
}

const brokenOnes: readonly Broken[] = [
  {
    what: "does not retry a rejected write",
    assemble: givesUp,
    fault: "answer-500",
    of: /^update secrets/,
    number: 4,
    oracle: "endState",
  },
  {
    what: "deletes an object that it cannot replace",
    assemble: makesAnew,
    fault: "answer-409",
    of: /^update secrets/,
    number: 4,
    oracle: "counts",
  },
  {
    what: "repeats a write forever after it was rejected once",
    assemble: neverRests,
    fault: "answer-503",
    of: /^update sharedsecrets /,
    number: 1,
    oracle: "quiet",
  },
  {
    what: "does not retry a withdrawal from an outbox",
    assemble: givesUp,
    scenario: withdrawing[0],
    fault: "answer-500",
    of: /^update secrets \S+west\/entry/,
    number: 1,
    oracle: "endState",
  },
  {
    what: "deletes an entry of an outbox that it cannot withdraw",
    assemble: deletesWithdrawn,
    scenario: withdrawing[0],
    fault: "answer-500",
    of: /^update secrets \S+west\/entry/,
    number: 1,
    oracle: "counts",
  },
];

describe.skipIf(!hasDedicatedClusters)("the oracles", () => {
  it("detect a gateway that acts as another user", async () => {
    const [[scenario], worker] = [forwarding, workers.at(-1)];
    if (!scenario || !worker) throw new Error("there is no gateway");
    const changes: Scenario["changes"] = (view) =>
      scenario
        .changes(view)
        .map((change) =>
          "use" in change ? { use: { ...change.use, username: "somebody" } } : change,
        );
    const { mistakes } = await play({ worker, scenario: { ...scenario, changes }, seed });
    expect(mistakes).toEqual([expect.stringContaining("to a key of somebody")]);
  });

  it.concurrent.each(brokenOnes)(
    "detect a controller that $what, by $oracle",
    async ({ what, assemble, scenario = copying[0], fault: name, of, number, oracle }) => {
      const fault = faults.find((one) => one.name === name);
      const worker = workers[brokenOnes.findIndex((one) => one.what === what)];
      const expected = scenario && learned.get(scenario);
      if (!scenario || !fault || !worker || !expected) throw new Error("there is nothing to break");
      const calm = await play({ worker, scenario, seed, assemble });
      expect(judge(calm, expected, fault)).toEqual({
        endState: [],
        counts: [],
        quiet: [],
        mistakes: [],
      });
      const disturbed = await play({
        worker,
        scenario,
        seed,
        assemble,
        injection: { fault, moment: { at: "call", number, of } },
      });
      expect(disturbed.injectedAt).toMatch(of);
      expect(judge(disturbed, expected, fault)[oracle]).not.toEqual([]);
    },
  );
});
