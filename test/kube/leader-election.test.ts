import { describe, expect, test } from "vitest";
import { LeaderElection, type LeaseNotes } from "../../src/kube/leader-election.ts";
import { microTime } from "../../src/kube/micro-time.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";
import { OneLease } from "./one-lease.ts";

const start = Date.UTC(2026, 0, 1);

class Candidate {
  readonly stop = new AbortController();
  readonly log = recordingLog();
  readonly metric: boolean[] = [];
  /** How often it has reported a restored etcd. */
  restored = 0;
  readonly election: LeaderElection;
  readonly #finish = Promise.withResolvers<void>();
  /** What happened, in order: "leading", "asked to stop", then how the election ended. */
  readonly story: string[] = [];

  constructor(lease: OneLease, clock: TestClock, identity: string, notes?: LeaseNotes) {
    this.election = new LeaderElection({
      client: lease,
      clock,
      random: () => 0,
      log: this.log,
      leading: { set: (value) => void this.metric.push(value === 1) },
      lease: { namespace: "ns", name: "lease" },
      identity,
      onRestored: () => void (this.restored += 1),
      ...(notes === undefined ? {} : { notes }),
    });
    const onLeading = (leading: AbortSignal): Promise<void> => {
      this.story.push("leading");
      leading.addEventListener("abort", () =>
        this.story.push(`asked to stop with ${this.election.remainingMs()} ms`),
      );
      return this.#finish.promise;
    };
    this.election.run({ signal: this.stop.signal, onLeading }).then(
      (end) => this.story.push(end),
      (error: unknown) => this.story.push(String(error)),
    );
  }

  /** Ends the work of the leader. */
  finish(): void {
    this.#finish.resolve();
  }

  fail(): void {
    this.#finish.reject(new Error("work failed"));
  }

  get leads(): boolean {
    return this.story.at(-1) === "leading" && this.election.remainingMs() > 0;
  }
}

function world(): { lease: OneLease; clock: TestClock; join: (identity: string) => Candidate } {
  const [lease, clock] = [new OneLease(), new TestClock(start)];
  return { lease, clock, join: (identity) => new Candidate(lease, clock, identity) };
}

describe("a restored etcd", () => {
  test.for<[string, (lease: OneLease) => void, number]>([
    ["has an older Lease", (lease) => lease.restore(), 1],
    ["has no Lease", (lease) => lease.remove(), 1],
    ["is no reason for a newer Lease", (lease) => lease.put({ renewTime: "later" }), 0],
  ])("%s, which is reported once", async ([, change, reports]) => {
    const { lease, clock, join } = world();
    const a = join("a");
    await clock.run(10_000);
    change(lease);
    await clock.run(10_000);
    expect(a.restored).toBe(reports);
  });
});

describe("acquiring the Lease", () => {
  test("the first candidate creates it and leads at once", async () => {
    const { lease, clock, join } = world();
    const a = join("a");
    await clock.run(0);
    expect(a.leads).toBe(true);
    expect(a.metric).toEqual([false, true]);
    const time = "2026-01-01T00:00:00.000000Z";
    expect(lease.spec).toEqual({
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      acquireTime: time,
      renewTime: time,
      leaseTransitions: 0,
    });
  });

  test("no other candidate leads while the holder renews it", async () => {
    const { clock, join } = world();
    const a = join("a");
    await clock.run(0);
    const b = join("b");
    await clock.run(120_000);
    expect([a.leads, b.story]).toEqual([true, []]);
  });

  test("a Lease is taken after it was observed unchanged for its duration, whatever its times", async () => {
    const { lease, clock, join } = world();
    lease.put({
      holderIdentity: "dead",
      leaseDurationSeconds: 15,
      renewTime: "1999-01-01T00:00:00.000000Z",
      leaseTransitions: 3,
    });
    const b = join("b");
    await clock.run(14_999);
    expect(b.story).toEqual([]);
    await clock.run(2000);
    expect(b.leads).toBe(true);
    expect(lease.spec).toMatchObject({ holderIdentity: "b", leaseTransitions: 4 });
  });

  test("the duration in the Lease applies, not that of the candidate", async () => {
    const { lease, clock, join } = world();
    lease.put({ holderIdentity: "dead", leaseDurationSeconds: 60, leaseTransitions: 0 });
    const b = join("b");
    await clock.run(59_000);
    expect(b.story).toEqual([]);
    await clock.run(3000);
    expect(b.leads).toBe(true);
  });

  test("every renewal restarts the wait", async () => {
    const { lease, clock, join } = world();
    lease.put({ holderIdentity: "other", leaseDurationSeconds: 15 });
    const b = join("b");
    await clock.run(14_000);
    lease.put({ renewTime: microTime(clock.now()) });
    await clock.run(14_000);
    expect(b.story).toEqual([]);
  });

  test("the wall clock has no effect", async () => {
    const { lease, clock, join } = world();
    lease.put({ holderIdentity: "other", leaseDurationSeconds: 15 });
    const b = join("b");
    await clock.run(1000);
    clock.stepWallClock(3_600_000);
    await clock.run(13_000);
    expect(b.story).toEqual([]);
  });

  test("a Lease with the own identity is taken at once, without a transition", async () => {
    const { lease, clock, join } = world();
    lease.put({
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      acquireTime: "2025-01-01T00:00:00.000000Z",
      leaseTransitions: 7,
    });
    const a = join("a");
    await clock.run(0);
    expect(a.leads).toBe(true);
    expect(lease.spec).toMatchObject({
      acquireTime: "2025-01-01T00:00:00.000000Z",
      leaseTransitions: 7,
    });
  });

  test("a released Lease is taken at the next attempt, and its labels are kept", async () => {
    const { lease, clock, join } = world();
    lease.put({ holderIdentity: "", leaseTransitions: 1 }, { team: "ops" });
    const a = join("a");
    await clock.run(0);
    expect(a.leads).toBe(true);
    expect(lease.metadata["labels"]).toEqual({ team: "ops" });
    expect(lease.spec).toMatchObject({ leaseTransitions: 2 });
  });

  test("the notes of a holder are written with each renewal, from what the Lease has", async () => {
    const { lease, clock } = world();
    lease.put({ holderIdentity: "" });
    const notes: LeaseNotes = ({ count = "0" }) => ({ count: `${Number(count) + 1}` });
    new Candidate(lease, clock, "a", notes);
    await clock.run(0);
    expect(lease.metadata["annotations"]).toEqual({ count: "1" });
    await clock.run(2_000);
    expect(lease.metadata["annotations"]).toEqual({ count: "2" });
  });

  test("one of two simultaneous candidates leads", async () => {
    const { clock, join } = world();
    const [a, b] = [join("a"), join("b")];
    await clock.run(60_000);
    expect([a.leads, b.leads].filter(Boolean)).toHaveLength(1);
  });

  test("failures are retried until an attempt succeeds", async () => {
    const { lease, clock, join } = world();
    lease.mishap = () => ({ code: "Network", effect: "none" });
    const a = join("a");
    await clock.run(30_000);
    expect(a.story).toEqual([]);
    expect(a.log.lines[0]).toMatchObject({
      level: "warn",
      fields: { kind: "Lease", object: "lease", code: "Network" },
    });
    lease.mishap = () => undefined;
    await clock.run(2000);
    expect(a.leads).toBe(true);
  });

  test("a stopped candidate ends without leading", async () => {
    const { lease, clock, join } = world();
    lease.put({ holderIdentity: "other", leaseDurationSeconds: 15 });
    const b = join("b");
    await clock.run(3000);
    b.stop.abort();
    await clock.run(0);
    expect(b.story).toEqual(["released"]);
    expect(clock.pending).toBe(0);
  });
});

describe("renewing the Lease", () => {
  test("one request every two seconds renews it", async () => {
    const { lease, clock, join } = world();
    join("a");
    await clock.run(0);
    const before = lease.requests.length;
    await clock.run(60_000);
    expect(lease.requests.slice(before)).toEqual(Array.from({ length: 30 }, () => "replace a"));
    expect(lease.spec).toMatchObject({
      renewTime: microTime(start + 60_000),
      acquireTime: microTime(start),
    });
  });

  test("the renew deadline starts when the renewal is sent", async () => {
    const { clock, join } = world();
    const a = join("a");
    await clock.run(0);
    expect(a.election.remainingMs()).toBe(10_000);
    await clock.run(1500);
    expect(a.election.remainingMs()).toBe(8500);
    await clock.run(500);
    expect(a.election.remainingMs()).toBe(10_000);
  });

  test.for([
    ["fails", { code: "ServerError", effect: "none" }],
    ["succeeds without a response", { code: "Network", effect: "done" }],
  ] as const)("the leader keeps the Lease after a renewal that %s", async ([, mishap]) => {
    const { lease, clock, join } = world();
    const a = join("a");
    await clock.run(0);
    lease.mishap = () => mishap;
    await clock.run(7000);
    lease.mishap = () => undefined;
    await clock.run(60_000);
    expect(a.leads).toBe(true);
  });

  test("a label of another client has no effect", async () => {
    const { lease, clock, join } = world();
    const a = join("a");
    await clock.run(1000);
    lease.put({}, { team: "ops" });
    await clock.run(60_000);
    expect(a.leads).toBe(true);
    expect(lease.metadata["labels"]).toEqual({ team: "ops" });
  });

  test("a deleted Lease is created again", async () => {
    const { lease, clock, join } = world();
    const a = join("a");
    await clock.run(1000);
    lease.remove();
    await clock.run(10_000);
    expect([a.leads, lease.spec["holderIdentity"]]).toEqual([true, "a"]);
  });
});

describe("losing the Lease", () => {
  test.for([
    ["every request fails", { code: "ServerError", effect: "none" }],
    ["no request gets a response", "silence"],
  ] as const)(
    "if %s it is lost ten seconds after the last renewal, and no time to write remains",
    async ([, mishap]) => {
      const { lease, clock, join } = world();
      const a = join("a");
      await clock.run(4000);
      lease.mishap = () => mishap;
      await clock.run(9999);
      expect(a.story).toEqual(["leading"]);
      await clock.run(1);
      expect(a.story).toEqual(["leading", "asked to stop with 0 ms", "lost"]);
      expect([a.election.remainingMs(), a.metric.at(-1)]).toEqual([0, false]);
    },
  );

  test("it is lost at once if another process holds it", async () => {
    const { lease, clock, join } = world();
    const a = join("a");
    await clock.run(0);
    lease.put({ holderIdentity: "b" });
    await clock.run(4000);
    expect(a.story).toEqual(["leading", "asked to stop with 0 ms", "lost"]);
    expect(lease.spec["holderIdentity"]).toBe("b");
  });

  test("the old leader stops before the new one leads", async () => {
    const { lease, clock, join } = world();
    const a = join("a");
    await clock.run(0);
    const b = join("b");
    await clock.run(1000);
    lease.mishap = (verb) => (verb === "replace" && a.leads ? "silence" : undefined);
    let both = 0;
    for (let ms = 0; ms < 40_000; ms += 250) {
      await clock.run(250);
      if (a.election.remainingMs() > 0 && b.election.remainingMs() > 0) both++;
    }
    expect([both, a.story.at(-1), b.leads]).toEqual([0, "lost", true]);
  });

  test("an error of the work after that is ignored", async () => {
    const { lease, clock, join } = world();
    const a = join("a");
    await clock.run(0);
    lease.mishap = () => "silence";
    await clock.run(10_000);
    a.fail();
    await clock.run(0);
    expect(a.story.at(-1)).toBe("lost");
  });
});

describe("releasing the Lease", () => {
  test("it is released after the work has ended, and renewed until then", async () => {
    const { lease, clock, join } = world();
    const a = join("a");
    await clock.run(1000);
    a.stop.abort();
    await clock.run(30_000);
    expect(a.story).toEqual(["leading", "asked to stop with 9000 ms"]);
    expect([lease.spec["holderIdentity"], a.election.remainingMs() > 0]).toEqual(["a", true]);
    a.finish();
    await clock.run(0);
    expect(a.story.at(-1)).toBe("released");
    expect(lease.spec).toMatchObject({
      holderIdentity: "",
      leaseTransitions: 0,
      renewTime: microTime(clock.now()),
    });
    expect([a.election.remainingMs(), clock.pending]).toEqual([0, 0]);
  });

  test("another candidate leads at its next attempt", async () => {
    const { clock, join } = world();
    const a = join("a");
    await clock.run(0);
    const b = join("b");
    a.finish();
    await clock.run(2000);
    expect([a.story.at(-1), b.leads]).toEqual(["released", true]);
  });

  test("it is released after failed work, and the error is passed on", async () => {
    const { lease, clock, join } = world();
    const a = join("a");
    await clock.run(0);
    a.fail();
    await clock.run(0);
    expect([a.story.at(-1), lease.spec["holderIdentity"]]).toEqual(["Error: work failed", ""]);
  });

  test("a failed release is only logged", async () => {
    const { lease, clock, join } = world();
    const a = join("a");
    await clock.run(0);
    lease.mishap = () => ({ code: "Network", effect: "none" });
    a.finish();
    await clock.run(0);
    expect(a.story.at(-1)).toBe("released");
    expect(a.log.lines.at(-1)).toMatchObject({ level: "warn", fields: { code: "Network" } });
  });
});

test("a MicroTime has six fractional digits", () => {
  expect(microTime(start + 7)).toBe("2026-01-01T00:00:00.007000Z");
});
