import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Priority, WorkQueue } from "../../../src/kube/queue/work-queue.ts";
import { TestClock } from "../../support/test-clock.ts";
import { QueueModel } from "./queue-model.ts";
import { runs } from "../../support/property-runs.ts";

const start = Date.UTC(2026, 0, 1);

function makeQueue(random = 0): { queue: WorkQueue; clock: TestClock } {
  const clock = new TestClock(start);
  return { queue: new WorkQueue({ clock, random: () => random }), clock };
}

async function takeAll(queue: WorkQueue): Promise<string[]> {
  const keys: string[] = [];
  while (queue.depth > 0) keys.push((await queue.get()) ?? "closed");
  return keys;
}

describe("like the model after any sequence of calls", () => {
  const key = fc.constantFrom("a", "b", "c", "d");
  const urgency = fc.constantFrom<Priority>("high", "normal", "low");
  const command = fc.oneof(
    fc.record({ do: fc.constant("add" as const), key, urgency }),
    fc.record({
      do: fc.constant("addAt" as const),
      key,
      ms: fc.integer({ min: -100, max: 200_000 }),
    }),
    fc.record({ do: fc.constant("take" as const) }),
    fc.record({ do: fc.constant("succeed" as const), key }),
    fc.record({
      do: fc.constant("fail" as const),
      key,
      atLeastMs: fc.integer({ min: 0, max: 5000 }),
    }),
    fc.record({ do: fc.constant("advance" as const), ms: fc.integer({ min: 0, max: 100_000 }) }),
  );

  test("keys come out in the same order", async () => {
    const history = fc.array(command, { maxLength: 80, size: "max" });
    await fc.assert(
      fc.asyncProperty(history, async (commands) => {
        const { seen, expected } = await replay(commands);
        expect(seen).toEqual(expected);
      }),
      runs(300),
    );
  });

  type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

  /**
   * The results of the queue and of the model: the key of each take, and the depth after each step.
   */
  async function replay(
    commands: readonly Command[],
  ): Promise<Record<"seen" | "expected", unknown[]>> {
    const clock = new TestClock(0);
    const queue = new WorkQueue({ clock, random: () => 0 });
    const model = new QueueModel();
    const [seen, expected]: [unknown[], unknown[]] = [[], []];
    for (const step of commands) {
      if (step.do === "take") {
        if (model.waiting.length > 0) seen.push(await queue.get());
        if (model.waiting.length > 0) expected.push(model.take());
      } else follow(step, { queue, model, clock });
      clock.advance(0);
      model.advance(0);
      seen.push(queue.depth);
      expected.push(model.waiting.length);
    }
    return { seen, expected };
  }

  function follow(
    step: Exclude<Command, { do: "take" }>,
    { queue, model, clock }: { queue: WorkQueue; model: QueueModel; clock: TestClock },
  ): void {
    if (step.do === "add") {
      queue.add(step.key, step.urgency);
      model.add(step.key, step.urgency);
    } else if (step.do === "addAt") {
      const at = model.freeInstant(Math.max(1, model.now + step.ms));
      queue.addAt(step.key, at);
      model.addAt(step.key, at);
    } else if (step.do === "advance") {
      clock.advance(step.ms);
      model.advance(step.ms);
    } else if (model.working.has(step.key)) {
      if (step.do === "succeed") {
        queue.forget(step.key);
        model.failures.delete(step.key);
      } else {
        const wait =
          model.freeInstant(model.now + Math.max(model.backoff(step.key), step.atLeastMs)) -
          model.now;
        queue.addAfterFailure(step.key, wait);
        model.fail(step.key, wait);
      }
      queue.done(step.key);
      model.done(step.key);
    }
  }
});

describe("waiting and processing", () => {
  test("a key is queued once", async () => {
    const { queue } = makeQueue();
    for (const key of ["a", "b", "a"]) queue.add(key, "low");
    expect(await takeAll(queue)).toEqual(["a", "b"]);
  });

  test("keys are returned by priority, and a key whose priority rises moves up", async () => {
    const { queue } = makeQueue();
    queue.add("a", "low");
    queue.add("d", "low");
    queue.add("d", "normal");
    queue.add("b", "low");
    queue.add("c", "high");
    queue.add("b", "high");
    queue.add("c", "low");
    expect(await takeAll(queue)).toEqual(["c", "b", "d", "a"]);
  });

  test("a key that is added while it is processed is returned again only after done", async () => {
    const { queue } = makeQueue();
    queue.add("a", "high");
    expect(await queue.get()).toBe("a");
    queue.add("a", "low");
    queue.add("a", "high");
    expect(queue.depth).toBe(0);
    queue.add("b", "high");
    queue.done("a");
    expect(await takeAll(queue)).toEqual(["b", "a"]);
  });

  test("callers of get are served in FIFO order", async () => {
    const { queue } = makeQueue();
    const taken = [queue.get(), queue.get()];
    queue.add("a", "low");
    queue.add("b", "low");
    expect(await Promise.all(taken)).toEqual(["a", "b"]);
  });

  test("close resolves every caller of get, drops waiting keys and leaves no timer", async () => {
    const { queue, clock } = makeQueue();
    const waiting = queue.get();
    queue.addAt("later", start + 1000);
    queue.addAfterFailure("failed");
    queue.close();
    queue.add("a", "high");
    queue.addAt("a", start);
    queue.addAfterFailure("a");
    expect([await waiting, await queue.get(), queue.depth, clock.pending]).toEqual([
      undefined,
      undefined,
      0,
      0,
    ]);
  });
});

describe("scheduled times", () => {
  test("a key is added at its time, not earlier", () => {
    const { queue, clock } = makeQueue();
    queue.addAt("a", start + 5000);
    clock.advance(4999);
    expect(queue.depth).toBe(0);
    clock.advance(1);
    expect(queue.depth).toBe(1);
  });

  test("the earliest time of a key applies, once", async () => {
    const { queue, clock } = makeQueue();
    for (const ms of [3000, 1000, 2000]) queue.addAt("a", start + ms);
    clock.advance(1000);
    expect(await queue.get()).toBe("a");
    queue.done("a");
    clock.advance(10_000);
    expect(queue.depth).toBe(0);
  });

  test("the scheduled time of a key is discarded when it is processed", async () => {
    const { queue, clock } = makeQueue();
    queue.addAt("a", start + 3_600_000);
    queue.add("a", "high");
    expect(await queue.get()).toBe("a");
    expect(clock.pending).toBe(0);
    queue.addAt("a", start + 5000);
    queue.done("a");
    clock.advance(5000);
    expect(await takeAll(queue)).toEqual(["a"]);
    queue.done("a");
    clock.advance(3_600_000);
    expect(queue.depth).toBe(0);
  });

  test("a time in the past applies at once", () => {
    const { queue, clock } = makeQueue();
    queue.addAt("a", start - 5000);
    clock.advance(0);
    expect(queue.depth).toBe(1);
  });

  test("a wall clock that is set back delays, one that is set forward is noticed within a minute", () => {
    const { queue, clock } = makeQueue();
    queue.addAt("a", start + 5000);
    clock.stepWallClock(-3000);
    clock.advance(7999);
    expect(queue.depth).toBe(0);
    clock.advance(1);
    expect(queue.depth).toBe(1);
    queue.addAt("b", clock.now() + 3_600_000);
    clock.stepWallClock(3_600_000);
    clock.advance(60_000);
    expect(queue.depth).toBe(2);
  });

  test("a time three days away applies exactly", () => {
    const { queue, clock } = makeQueue();
    queue.addAt("a", start + 3 * 86_400_000);
    clock.advance(3 * 86_400_000 - 1);
    expect(queue.depth).toBe(0);
    clock.advance(1);
    expect(queue.depth).toBe(1);
  });
});

describe("failures", () => {
  function waits(failures: number, random: number): number[] {
    const { queue, clock } = makeQueue(random);
    return Array.from({ length: failures }, () => {
      const began = clock.monotonic();
      queue.addAfterFailure("a");
      const depth = queue.depth;
      while (queue.depth === depth) clock.advance(clock.untilNext ?? 0);
      void queue.get();
      queue.done("a");
      return clock.monotonic() - began;
    });
  }

  test("the wait doubles from 5 ms to 50 s", () => {
    const expected = [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10_240, 20_480, 40_960];
    expect(waits(16, 0)).toEqual([...expected, 50_000, 50_000]);
  });

  test("no wait is longer than a minute, including jitter", () => {
    expect(waits(20, 0.999_999).at(-1)).toBeLessThanOrEqual(60_000);
  });

  test("retry adds a key now, and its next failure waits 0.64 s", () => {
    const { queue, clock } = makeQueue();
    for (let count = 0; count < 14; count++) queue.addAfterFailure("a");
    clock.advance(5);
    void queue.get();
    queue.done("a");
    queue.retry("a");
    expect(queue.depth).toBe(1);
    void queue.get();
    queue.addAfterFailure("a");
    queue.done("a");
    clock.advance(639);
    expect(queue.depth).toBe(0);
    clock.advance(1);
    expect(queue.depth).toBe(1);
  });

  test("jitter adds at most 20%", () => {
    expect(waits(3, 0.999_999)).toEqual([6, 12, 24]);
  });

  test("forget resets the back-off", () => {
    const { queue, clock } = makeQueue();
    for (let count = 0; count < 10; count++) queue.addAfterFailure("a");
    clock.advance(10_000);
    queue.forget("a");
    queue.addAfterFailure("b");
    clock.advance(5);
    expect(queue.depth).toBe(2);
  });

  test("the wait is at least the given minimum", () => {
    const { queue, clock } = makeQueue();
    queue.addAfterFailure("a", 3000);
    clock.advance(2999);
    expect(queue.depth).toBe(0);
    clock.advance(1);
    expect(queue.depth).toBe(1);
  });

  test("the wall clock has no effect", () => {
    const { queue, clock } = makeQueue();
    queue.addAfterFailure("a");
    clock.stepWallClock(-3_600_000);
    clock.advance(5);
    expect(queue.depth).toBe(1);
  });
});

test("100,000 keys are returned in order, added or scheduled", async () => {
  const { queue, clock } = makeQueue();
  const keys = Array.from({ length: 100_000 }, (_, index) => `ns/${index}`);
  for (const key of keys) queue.add(key, "low");
  const first = await takeAll(queue);
  expect(first).toEqual(keys);
  for (const key of first) queue.done(key);
  for (const [index, key] of keys.entries()) queue.addAt(key, start + 1 + index);
  clock.advance(100_000);
  expect(await takeAll(queue)).toEqual(keys);
});

describe("retryNow", () => {
  test("adds the keys that wait after a failure, and resets their back-off", async () => {
    const { queue, clock } = makeQueue();
    for (let count = 0; count < 10; count++) queue.addAfterFailure("a");
    queue.addAfterFailure("b", 60_000);
    queue.retryNow();
    expect(await takeAll(queue)).toEqual(["a", "b"]);
    queue.done("a");
    queue.addAfterFailure("a");
    await clock.run(5);
    expect(await takeAll(queue)).toEqual(["a"]);
  });

  test("does not add scheduled keys", async () => {
    const { queue, clock } = makeQueue();
    queue.addAt("a", start + 1_000);
    queue.retryNow();
    expect(queue.depth).toBe(0);
    await clock.run(1_000);
    expect(await takeAll(queue)).toEqual(["a"]);
  });
});

test("metrics get how long a key waited, how long its work took, and the work in progress", async () => {
  const clock = new TestClock(start);
  const seen: string[] = [];
  let inProgress: () => readonly number[] = () => [];
  const queue = new WorkQueue({
    clock,
    random: () => 0,
    metrics: {
      added: (depth) => void seen.push(`added ${depth}`),
      taken: (depth, waited) => void seen.push(`taken ${depth} after ${waited} s`),
      done: (worked) => void seen.push(`done after ${worked} s`),
      retried() {},
      inProgress: (read) => void (inProgress = read),
    },
  });
  queue.add("a", "low");
  clock.advance(1_000);
  queue.add("a", "high");
  clock.advance(1_000);
  await queue.get();
  clock.advance(3_000);
  expect(inProgress()).toEqual([3]);
  queue.add("a", "high");
  queue.done("a");
  expect(inProgress()).toEqual([]);
  expect(seen).toEqual(["added 1", "added 1", "taken 0 after 2 s", "done after 3 s", "added 1"]);
});
