import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as core from "../../../src/kube/queue/queue-state.ts";
import type { Priority, QueueState } from "../../../src/kube/queue/queue-state.ts";
import { WorkQueue } from "../../../src/kube/queue/work-queue.ts";
import { runs } from "../../support/property-runs.ts";
import { TestClock } from "../../support/test-clock.ts";

/** A queue to which "a" was added at 1, and which processes it if `taken`. */
function withKey(urgency: Priority, taken = false): QueueState {
  const state = core.emptyQueue();
  core.addKey(state, "a", urgency, 1);
  if (taken) core.takeKey(state, "a", 2);
  return state;
}

describe("addKey", () => {
  test.each<[existing: Priority, added: Priority, result: Priority]>([
    ["low", "low", "low"],
    ["low", "normal", "normal"],
    ["low", "high", "high"],
    ["normal", "low", "normal"],
    ["normal", "high", "high"],
    ["high", "normal", "high"],
  ])("a key of priority %s that is added as %s waits as %s", (existing, added, result) => {
    const state = withKey(existing);
    const item = { key: "a", urgency: result, since: 1 };
    expect(core.addKey(state, "a", added, 9)).toEqual(existing === result ? undefined : item);
    expect(state.waiting).toEqual(new Map([["a", item]]));
  });

  test("a key in process is added at its end, with the highest priority of the meantime", () => {
    const state = withKey("high", true);
    for (const urgency of ["low", "normal", "low"] as const)
      expect(core.addKey(state, "a", urgency, 3)).toBe(undefined);
    expect(state.waiting.size).toBe(0);
    expect(core.doneKey(state, "a", 4)).toEqual({ key: "a", urgency: "normal", since: 4 });
    expect([state.waiting.size, state.working.size]).toEqual([1, 0]);
  });
});

describe("takeKey and doneKey", () => {
  test("taking a key discards its scheduled time, and neither its retry nor its failures", () => {
    const state = withKey("low");
    core.addKeyAt(state, "a", 100);
    core.addKeyAfterFailure(state, "a", { monotonic: 1, random: 0, atLeastMs: 0 });
    core.takeKey(state, "a", 2);
    expect(state).toEqual({
      waiting: new Map(),
      working: new Map([["a", { since: 2, urgency: undefined }]]),
      failures: new Map([["a", 1]]),
      instants: new Map(),
      retries: new Map([["a", 6]]),
    });
  });

  test("a key that was not added meanwhile is gone after its end", () => {
    const state = withKey("low", true);
    expect(core.doneKey(state, "a", 3)).toBe(undefined);
    expect(state).toEqual(core.emptyQueue());
  });
});

describe("times", () => {
  test("the earliest time of a key applies", () => {
    const state = core.emptyQueue();
    expect([300, 100, 200].map((at) => core.addKeyAt(state, "a", at))).toEqual([true, true, false]);
    expect([99, 100].map((now) => core.dueKeys(state.instants, now))).toEqual([[], ["a"]]);
  });

  test.each(["instants", "retries"] as const)("a key of %s is woken with its priority", (times) => {
    const state = core.emptyQueue();
    state[times].set("a", 1);
    const item = { key: "a", urgency: "last" } as const;
    expect(core.wakeKey(state, times, item, 2)).toEqual({ ...item, since: 2 });
    expect(state[times].size).toBe(0);
  });

  test.each([
    { failures: 0, random: 0, atLeastMs: 0, wait: 5 },
    { failures: 0, random: 0.5, atLeastMs: 0, wait: 5.5 },
    { failures: 1, random: 0, atLeastMs: 0, wait: 10 },
    { failures: 13, random: 0, atLeastMs: 0, wait: 40_960 },
    { failures: 14, random: 0, atLeastMs: 0, wait: 50_000 },
    { failures: 2_000, random: 0.5, atLeastMs: 0, wait: 55_000 },
    { failures: 0, random: 0.5, atLeastMs: 3_000, wait: 3_300 },
    { failures: 20, random: 0, atLeastMs: 3_000, wait: 50_000 },
    { failures: 20, random: 0, atLeastMs: 90_000, wait: 90_000 },
  ])("a retry after $failures failures, random $random and at least $atLeastMs ms", (one) => {
    const state = core.emptyQueue();
    state.failures.set("a", one.failures);
    core.addKeyAfterFailure(state, "a", { ...one, monotonic: 1_000 });
    expect(state.retries.get("a")).toBeCloseTo(1_000 + one.wait);
    expect(state.failures.get("a")).toBe(one.failures + 1);
  });
});

describe("failures", () => {
  test.each([
    { change: core.retryKey, before: 3, after: 3 },
    { change: core.retryKey, before: 20, after: 7 },
    { change: core.recoverKey, before: 20, after: undefined },
    { change: core.forgetKey, before: 20, after: undefined },
  ])("after $change.name, $before failures count as $after", ({ change, before, after }) => {
    const state = core.emptyQueue();
    state.failures.set("a", before);
    change(state, "a", 1);
    expect(state.failures.get("a")).toBe(after);
  });

  test("recoverKey adds a key in place of its retry, with normal priority", () => {
    const state = core.emptyQueue();
    core.addKeyAfterFailure(state, "a", { monotonic: 1, random: 0, atLeastMs: 0 });
    expect(core.recoverKey(state, "a", 2)).toEqual({ key: "a", urgency: "normal", since: 2 });
    expect([state.retries.size, state.failures.size]).toEqual([0, 0]);
  });
});

test("dropKeys leaves only the keys in process, which are not added again", () => {
  const state = withKey("low", true);
  for (const key of ["a", "b"]) core.addKey(state, key, "high", 3);
  core.addKeyAt(state, "c", 4);
  core.addKeyAfterFailure(state, "d", { monotonic: 3, random: 0, atLeastMs: 0 });
  core.dropKeys(state);
  expect([state.waiting.size, state.instants.size, state.retries.size]).toEqual([0, 0, 0]);
  expect([state.working.size, core.doneKey(state, "a", 5)]).toEqual([1, undefined]);
});

test("a clone has the same keys and does not change with its original", () => {
  const state = withKey("low");
  const clone = structuredClone(state);
  core.takeKey(state, "a", 2);
  expect(clone).toEqual(withKey("low"));
});

describe("the queue and its rules", () => {
  interface Both {
    readonly clock: TestClock;
    readonly queue: WorkQueue;
    readonly state: QueueState;
    /** Of each key that the queue returned, in seconds. */
    readonly waits: number[];
  }

  interface Step {
    readonly call: keyof typeof calls;
    readonly key: string;
    readonly urgency: Priority;
    readonly ms: number;
  }

  const calls = {
    add({ clock, queue, state }: Both, { key, urgency }: Step) {
      queue.add(key, urgency);
      core.addKey(state, key, urgency, clock.monotonic());
    },
    addAt({ clock, queue, state }: Both, { key, ms }: Step) {
      const at = clock.now() + ms - 100;
      queue.addAt(key, at);
      core.addKeyAt(state, key, at);
    },
    fail({ clock, queue, state }: Both, { key, ms }: Step) {
      queue.addAfterFailure(key, ms);
      const options = { monotonic: clock.monotonic(), random: 0.5, atLeastMs: ms };
      core.addKeyAfterFailure(state, key, options);
    },
    forget({ queue, state }: Both, { key }: Step) {
      queue.forget(key);
      core.forgetKey(state, key);
    },
    retry({ clock, queue, state }: Both, { key }: Step) {
      queue.retry(key);
      core.retryKey(state, key, clock.monotonic());
    },
    retryNow({ clock, queue, state }: Both) {
      queue.retryNow();
      for (const key of [...state.retries.keys()]) core.recoverKey(state, key, clock.monotonic());
    },
    async take({ clock, queue, state, waits }: Both) {
      if (state.waiting.size === 0) return;
      const key = (await queue.get()) ?? "closed";
      const items = [...state.waiting.values()];
      const { urgency, since } = items.find((item) => item.key === key) ?? {};
      expect(urgency).toBe(
        core.priorities.find((one) => items.some((item) => item.urgency === one)),
      );
      expect(waits.at(-1)).toBe((clock.monotonic() - (since ?? Number.NaN)) / 1_000);
      core.takeKey(state, key, clock.monotonic());
    },
    done({ clock, queue, state }: Both, { key }: Step) {
      queue.done(key);
      core.doneKey(state, key, clock.monotonic());
    },
    advance({ clock, state }: Both, { ms }: Step) {
      for (const end = clock.monotonic() + ms; clock.monotonic() < end;) {
        clock.advance(Math.min(clock.untilNext ?? Infinity, end - clock.monotonic()));
        wakeDue(state, clock);
      }
    },
  };

  function wakeDue(state: QueueState, clock: TestClock): void {
    clock.advance(0);
    for (const [times, now] of [
      ["instants", clock.now()],
      ["retries", clock.monotonic()],
    ] as const)
      for (const key of core.dueKeys(state[times], now))
        core.wakeKey(state, times, { key, urgency: "high" }, clock.monotonic());
  }

  function makeBoth(): Both {
    const clock = new TestClock();
    const waits: number[] = [];
    const metrics = {
      added() {},
      done() {},
      retried() {},
      inProgress() {},
      taken: (_: number, waited: number) => void waits.push(waited),
    };
    const queue = new WorkQueue({ clock, random: () => 0.5, metrics });
    return { clock, queue, state: core.emptyQueue(), waits };
  }

  test("agree after any calls: the keys, their priorities, and since when they wait", async () => {
    const step: fc.Arbitrary<Step> = fc.record({
      call: fc.constantFrom(
        ...(["add", "addAt", "fail", "forget", "retry", "retryNow", "take", "done"] as const),
        ...(["take", "done", "advance", "advance"] as const),
      ),
      key: fc.constantFrom("a", "b", "c", "d"),
      urgency: fc.constantFrom(...core.priorities),
      ms: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 70_000 })),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80, size: "max" }), async (steps) => {
        const both = makeBoth();
        for (const one of steps) {
          await calls[one.call](both, one);
          wakeDue(both.state, both.clock);
          const { waiting, instants, retries } = both.state;
          const timers = [instants, retries].filter(({ size }) => size > 0).length;
          expect([both.queue.depth, both.clock.pending]).toEqual([waiting.size, timers]);
        }
      }),
      runs(300),
    );
  });
});
