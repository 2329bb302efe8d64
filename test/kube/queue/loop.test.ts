import type { Result } from "../../../src/api/result.ts";
import { describe, expect, test } from "vitest";
import { KubeError, type KubeErrorCode } from "../../../src/kube/client/kube-error.ts";
import { runLoop } from "../../../src/kube/queue/loop.ts";
import { WorkQueue } from "../../../src/kube/queue/work-queue.ts";
import { Yielder } from "../../../src/runtime/yielder.ts";
import { type Clock, systemClock } from "../../../src/runtime/clock.ts";
import type { ControllerMetrics } from "../../../src/runtime/work-metrics.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { settled, TestClock } from "../../support/test-clock.ts";

const done: Result = { kind: "done" };

function recordingMetrics(): ControllerMetrics & { readonly counts: string[] } {
  const counts: string[] = [];
  return {
    counts,
    began() {},
    ended: (result, seconds) => void counts.push(`${result} ${seconds}`),
    unexpectedError: () => void counts.push("bug"),
  };
}

/** The options of a loop, beside its workers and what they do. */
function loopOptions<C extends Clock>(clock: C, signal: AbortSignal) {
  return {
    name: "test",
    clock,
    signal,
    log: recordingLog(),
    metrics: recordingMetrics(),
    queue: new WorkQueue({ clock, random: () => 0 }),
    yielder: new Yielder(clock),
  };
}

function started(reconcile: (key: string) => Promise<Result>, workers = 2) {
  const stop = new AbortController();
  const options = loopOptions(new TestClock(), stop.signal);
  return { ...options, stop, ended: runLoop({ ...options, reconcile, workers }) };
}

test("after done, a key is reconciled again only when it is added", async () => {
  const seen: string[] = [];
  const { clock, queue, metrics } = started(async (key) => {
    seen.push(key);
    return done;
  });
  queue.add("a", "high");
  await clock.run(10_000);
  queue.add("a", "high");
  await settled();
  expect(seen).toEqual(["a", "a"]);
  expect(metrics.counts).toEqual(["success 0", "success 0"]);
});

test("after requeue-at, a key is reconciled again at exactly that time", async () => {
  const seen: number[] = [];
  const { clock, queue, metrics } = started(async () => {
    seen.push(clock.now());
    return seen.length === 1 ? { kind: "requeue-at", at: clock.now() + 5000 } : done;
  });
  queue.add("a", "high");
  await clock.run(60_000);
  expect(seen.map((at) => at - (seen[0] ?? 0))).toEqual([0, 5000]);
  expect(metrics.counts).toEqual(["requeue_after 0", "success 0"]);
});

test("after requeue-with-backoff, a key is reconciled again with back-off and without an error", async () => {
  const seen: number[] = [];
  const { clock, queue, log, metrics } = started(async () => {
    seen.push(clock.now());
    return seen.length < 4 ? { kind: "requeue-with-backoff" } : done;
  });
  queue.add("a", "high");
  await clock.run(60_000);
  expect(seen.map((at) => at - (seen[0] ?? 0))).toEqual([0, 5, 15, 35]);
  expect(metrics.counts).toEqual([
    "requeue_after 0",
    "requeue_after 0",
    "requeue_after 0",
    "success 0",
  ]);
  expect(log.lines).toEqual([]);
});

describe("a failure", () => {
  const why = "POST /api/v1/namespaces/ns/secrets: 429 too many requests";
  const failed = (code: KubeErrorCode, status: number, retryAfterMs?: number) =>
    new KubeError(why, { code, status, ...(retryAfterMs !== undefined && { retryAfterMs }) });
  const retryLater = failed("TooManyRequests", 429, 3000);
  const fenced = failed("Fenced", 0);

  test.for<[string, unknown, number, string, string]>([
    [
      "of the API server is retried after the back-off, and logged at warn",
      failed("ServerError", 500),
      5,
      "warn",
      "error 0",
    ],
    ["of a stale read is logged at info", failed("Conflict", 409), 5, "info", "error 0"],
    ["with a Retry-After is retried after it", retryLater, 3000, "warn", "error 0"],
    [
      "of the fence is retried, and does not count as an error",
      fenced,
      5,
      "debug",
      "requeue_after 0",
    ],
  ])("%s", async ([, error, wait, level, count]) => {
    const seen: number[] = [];
    const { clock, queue, log, metrics } = started(async () => {
      seen.push(clock.monotonic());
      if (seen.length === 1) throw error;
      return done;
    });
    queue.add("ns/a", "high");
    await clock.run(10_000);
    expect(seen).toEqual([0, wait]);
    expect(metrics.counts).toEqual([count, "success 0"]);
    expect(log.lines).toHaveLength(1);
    expect(log.lines[0]).toMatchObject({
      level,
      fields: { controller: "test", object: "ns/a", why },
    });
  });

  test("other than a KubeError is logged as an error, counted as a bug, and retried", async () => {
    let passes = 0;
    const bug = new TypeError("undefined is not a function");
    const { clock, queue, log, metrics } = started(async () => {
      passes++;
      if (passes === 1) throw bug;
      return done;
    });
    queue.add("a", "high");
    await clock.run(5);
    expect(passes).toBe(2);
    expect(metrics.counts).toEqual(["error 0", "bug", "success 0"]);
    expect(log.lines).toEqual([
      {
        level: "error",
        fields: { controller: "test", object: "a", error: bug },
        message: expect.any(String),
      },
    ]);
  });

  test("of one key does not delay other keys, and each failure waits longer", async () => {
    const seen: string[] = [];
    const { clock, queue } = started(async (key) => {
      seen.push(`${key}@${clock.monotonic()}`);
      if (key === "bad") throw new KubeError("no", { code: "Network", status: 0 });
      return done;
    }, 1);
    queue.add("bad", "high");
    queue.add("good", "high");
    await clock.run(40);
    expect(seen).toEqual(["bad@0", "good@0", "bad@5", "bad@15", "bad@35"]);
  });
});

test("as many keys are reconciled concurrently as there are workers, and no key twice", async () => {
  let [now, most] = [0, 0];
  const { clock, queue } = started(async () => {
    now++;
    most = Math.max(most, now);
    await new Promise<void>((resolve) => clock.wakeAfter(10, resolve));
    now--;
    return done;
  }, 3);
  for (const key of ["a", "b", "c", "d", "e"]) queue.add(key, "low");
  await settled();
  queue.add("a", "high");
  expect(now).toBe(3);
  await clock.run(100);
  expect([now, most]).toEqual([0, 3]);
});

test("it ends when its signal aborts, after the running reconciles and without a new one", async () => {
  const seen: string[] = [];
  const { clock, queue, stop, ended } = started(async (key) => {
    await new Promise<void>((resolve) => clock.wakeAfter(100, resolve));
    seen.push(key);
    return done;
  }, 1);
  queue.add("a", "high");
  queue.add("b", "high");
  await settled();
  stop.abort();
  await clock.run(100);
  await ended;
  expect(seen).toEqual(["a"]);
});

test("it ends at once if its signal is aborted already", async () => {
  const stop = new AbortController();
  stop.abort();
  const options = loopOptions(new TestClock(), stop.signal);
  await runLoop({ ...options, workers: 2, reconcile: async () => done });
  expect(await options.queue.get()).toBeUndefined();
});

test("reconciles without requests do not block timers", async () => {
  const stop = new AbortController();
  const options = loopOptions(systemClock, stop.signal);
  const { queue } = options;
  const reconcile = async (key: string): Promise<Result> => {
    queue.add(key, "low");
    return done;
  };
  for (let key = 0; key < 10; key++) queue.add(String(key), "low");
  setTimeout(() => stop.abort(), 1);
  await runLoop({ ...options, workers: 4, reconcile });
  expect(options.metrics.counts.length).toBeGreaterThan(0);
});
