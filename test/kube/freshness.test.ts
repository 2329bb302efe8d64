import fc from "fast-check";
import { expect, test } from "vitest";
import { type Resource, resources } from "../../src/api/resources.ts";
import {
  isFresh,
  provingWatchTimes,
  relaxedWatchTimes,
  staleReason,
  untilFresh,
  watchGraceMs,
  watchReadings,
  type WatchState,
} from "../../src/kube/freshness.ts";
import { TestClock } from "../support/test-clock.ts";

const now = 100_000;
const freshForMs = 30_000;

test.each<[string, WatchState, string | undefined]>([
  [
    "that was never listed",
    { isSynced: false, openedAt: undefined, freshForMs },
    "pods not synced yet",
  ],
  [
    "that was never listed, even with an open watch",
    { isSynced: false, openedAt: now, freshForMs },
    "pods not synced yet",
  ],
  [
    "that was listed and never watched",
    { isSynced: true, openedAt: undefined, freshForMs },
    "pods: no watch response from the API server; check the connection",
  ],
  ["whose watch was opened now", { isSynced: true, openedAt: now, freshForMs }, undefined],
  [
    "whose watch was opened a moment less than 30 s ago",
    { isSynced: true, openedAt: now - 29_999, freshForMs },
    undefined,
  ],
  [
    "whose watch was opened 30 s ago",
    { isSynced: true, openedAt: now - 30_000, freshForMs },
    "pods: no watch response from the API server for 30 s; check the connection",
  ],
  [
    "of a process that was suspended for an hour",
    { isSynced: true, openedAt: now - 3_600_000, freshForMs },
    "pods: no watch response from the API server for 3600 s; check the connection",
  ],
])("reports the freshness of a resource %s", (_rule, state, because) => {
  expect([isFresh(state, now), staleReason("pods", state, now)]).toEqual([
    because === undefined,
    because,
  ]);
});

test("a store that is fresh at a time was fresh at every earlier time since the watch was opened", () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), fc.nat(), (openedAt, elapsed, share) => {
      const earlier = openedAt + Math.floor(elapsed * ((share % 100) / 100));
      const state = { isSynced: true, openedAt, freshForMs };
      expect(!isFresh(state, openedAt + elapsed) || isFresh(state, earlier)).toBe(true);
    }),
  );
});

test.for([provingWatchTimes, relaxedWatchTimes])(
  "a dead watch is reopened before the store is stale",
  ({ watchSeconds, openMs, freshForMs: forMs }) => {
    expect(watchSeconds.most * 1000 + watchGraceMs + openMs).toBeLessThanOrEqual(forMs);
  },
);

test("controllers detect a dead connection within 45 s", () => {
  expect(relaxedWatchTimes.watchSeconds.most * 1000 + watchGraceMs).toBeLessThanOrEqual(45_000);
});

test("watchReadings returns the oldest watch of each resource, by the wall clock", () => {
  const clock = { now: () => 1_000_000, monotonic: () => 50_000 };
  const informer = (openedAt: number | undefined, resource: Resource = resources.secrets) => ({
    resource,
    watchState: { isSynced: true, openedAt, freshForMs },
  });
  expect(
    watchReadings(
      [informer(49_000), informer(40_000), informer(undefined, resources.namespaces)],
      clock,
    ),
  ).toEqual([
    { resource: "secrets", openedAt: 990 },
    { resource: "namespaces", openedAt: 0 },
  ]);
});

test("untilFresh resolves when every store is fresh, or when the signal aborts", async () => {
  const [clock, stop] = [new TestClock(), new AbortController()];
  const proven = { watchState: { isSynced: true, openedAt: clock.monotonic(), freshForMs } };
  const late = { watchState: { isSynced: false, openedAt: clock.monotonic(), freshForMs } };
  await untilFresh([proven], { clock, signal: stop.signal });
  const over: string[] = [];
  const stopped = { watchState: { ...late.watchState } };
  void untilFresh([proven, late], { clock, signal: new AbortController().signal }).then(() =>
    over.push("proven"),
  );
  void untilFresh([stopped], { clock, signal: stop.signal }).then(() => over.push("stopped"));
  await clock.run(1_000);
  expect(over).toEqual([]);
  stop.abort();
  late.watchState = proven.watchState;
  await clock.run(200);
  expect([over, clock.pending]).toEqual([["stopped", "proven"], 0]);
});
