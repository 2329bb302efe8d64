import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Snapshot } from "../support/snapshot.ts";
import { bundle } from "../support/bundle.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import type { AskedWrite } from "./logbook.ts";
import { openWorker, openWorkers } from "./in-process-play.ts";
import { playSample } from "./process-sample.ts";
import type { LeaseSeconds, ProcessInstance } from "./process-instance.ts";
import { type HandOver, Pair } from "./two-controllers.ts";
import { startProxiedCluster, type ProxiedCluster } from "../support/proxied-cluster.ts";

const seed = Number(process.env.SEED || 7);
/** PROCESS_RUNS= sets the number of runs. */
const runs = Number(process.env.PROCESS_RUNS ?? 8);
const workerCount = 4;
/** LEASE=15,10,2 sets the default times. */
const lease = leaseFrom(process.env.LEASE ?? "5,3,1");

let cluster: ProxiedCluster;
let program: string;

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

function leaseFrom(text: string): LeaseSeconds {
  const [duration = 0, deadline = 0, retry = 0] = text.split(",").map(Number);
  return { duration, deadline, retry };
}

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  cluster = await startProxiedCluster((line) => say(`control plane: ${line}`));
  program = await bundle(() => {});
});

afterAll(() => cluster?.stop());

describe.skipIf(!hasDedicatedClusters)("a real process", () => {
  it(`reaches the same end state when it is killed or paused at a write (${runs} runs, SEED=${seed})`, async () => {
    const workers = await openWorkers(cluster, "process", workerCount);
    const sample = await playSample({ workers, program, seed, runs });
    say(
      `real processes: ${sample.runs} runs of ${sample.scenarios} scenarios with 1 seed (SEED=${seed}), ${sample.injected} injected at their write`,
    );
    expect(sample.problems).toEqual({});
    expect(sample.injected).toBeGreaterThan(sample.runs / 2);
  });
});

describe.skipIf(!hasDedicatedClusters)("one of two controllers", () => {
  let pair: Pair;
  let undisturbed: Snapshot;
  const excused = new Set<AskedWrite>();

  beforeAll(async () => {
    const worker = await openWorker(cluster, "pair");
    pair = await Pair.start({ worker, program, lease });
  });

  // Also after a failure: the next test begins with two.
  afterEach(() => pair?.recover());
  afterAll(async () => {
    await pair?.stream.halt();
    await pair?.run.end();
  });

  function reportTimes(what: string, { firstWriteMs, effectiveMs }: HandOver): void {
    const times = `${lease.duration}/${lease.deadline}/${lease.retry} s`;
    say(
      `two controllers, ${what}: first write of the next leader after ${firstWriteMs} ms, the last change effective after ${effectiveMs} ms (Lease ${times})`,
    );
  }

  /** The requests of a process, without their bodies. */
  function sentencesOf(process: string): readonly string[] {
    return pair.run.logbook.fencedWrites(process).map(({ sentence }) => sentence);
  }

  /** The invariants after any fault of a leader. */
  async function expectNoHarm(): Promise<void> {
    await pair.recover();
    expect(await pair.outcome()).toEqual(undisturbed);
    expect(await pair.run.quiet()).toEqual([]);
    expect(pair.run.logbook.overlaps(excused)).toEqual([]);
    expect(pair.run.backend.instances.flatMap((instance) => instance.mistakes())).toEqual([]);
  }

  it("does all the work without a fault", async () => {
    const { leader, other } = await pair.roles();
    pair.stream.begin();
    await pair.stream.mark("amid changes");
    undisturbed = await pair.outcome();
    expect(undisturbed.length).toBeGreaterThan(20);
    expect(sentencesOf(other.process)).toEqual([]);
    expect(sentencesOf(leader.process)).not.toEqual([]);
    await expectNoHarm();
  });

  it("takes over from a leader that is killed", async () => {
    pair.stream.begin();
    const { leader, other } = await pair.roles();
    const handOver = await pair.handOver(async (one) => {
      await pair.atNextWrite(one, () => one.controller.kill("SIGKILL"));
      await one.controller.exited();
    });
    reportTimes("SIGKILL", handOver);
    expect(handOver.holders).toEqual([other.identity]);
    expect(leader.exits.at(-1)).toEqual({ code: null, signal: "SIGKILL" });
    await expectNoHarm();
  });

  it("takes over from a leader that is paused and that starts no write when it is resumed", async () => {
    pair.stream.begin();
    const { leader, other } = await pair.roles();
    const handOver = await pair.handOver((one) => pair.atNextWrite(one, () => one.pause()));
    reportTimes("SIGSTOP", handOver);
    expect(handOver.holders).toEqual([other.identity]);
    const woken = performance.now();
    const exited = leader.controller.exited();
    leader.resume();
    expect(await exited).toEqual({ code: 1, signal: null });
    // A process cannot check its Lease and send a request atomically: a write between the two steps
    // at the time of the pause is sent now.
    const late = pair.run.logbook.fencedWrites(handOver.old).filter(({ at }) => at >= woken);
    expect(late.map(({ sentence }) => sentence).slice(1)).toEqual([]);
    say(
      `two controllers, SIGSTOP: ${late.length} writes went into their sockets while the process was stopped`,
    );
    for (const write of late) excused.add(write);
    await expectNoHarm();
  });

  it("takes over from a leader without a network after that has exited", async () => {
    pair.stream.begin();
    const { leader, other } = await pair.roles();
    const exited = leader.controller.exited();
    const handOver = await pair.handOver((one) => pair.atNextWrite(one, () => one.proxy.hold()));
    reportTimes("loss of the network", handOver);
    expect(handOver.holders).toEqual([other.identity]);
    expect(await exited).toEqual({ code: 1, signal: null });
    const { refused, accepted } = await pair.deliverLate(leader, handOver);
    expect(refused + accepted).toBeGreaterThan(0);
    say(
      `two controllers, loss of the network: ${refused + accepted} writes were in flight and arrived late, ${refused} were refused`,
    );
    await expectNoHarm();
  });

  it("takes over from a leader that gets SIGTERM without waiting for the Lease to expire, twice", async () => {
    pair.stream.begin();
    for (const turn of ["first", "second"]) {
      const { other } = await pair.roles();
      const handOver = await pair.handOver(terminate);
      reportTimes(`SIGTERM, ${turn} restart of a rolling update`, handOver);
      expect(handOver.holders).toEqual(["", other.identity]);
      await pair.recover();
    }
    await expectNoHarm();
  });
});

async function terminate(leader: ProcessInstance): Promise<void> {
  const exited = leader.controller.exited();
  leader.controller.kill("SIGTERM");
  expect(await exited).toEqual({ code: 0, signal: null });
}
