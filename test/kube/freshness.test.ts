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

const notSynced = "pods not synced yet";
const noResponse = (since: string) =>
  `pods: no watch response from the API server${since}; check the connection`;
const opened = (openedAt: number | undefined, isSynced = true): WatchState => ({
  ...{ isSynced, openedAt, freshForMs },
});

test.each<[string, WatchState, string | undefined]>([
  ["that was never listed", opened(undefined, false), notSynced],
  ["that was never listed, even with an open watch", opened(now, false), notSynced],
  ["that was listed and never watched", opened(undefined), noResponse("")],
  ["whose watch was opened now", opened(now), undefined],
  ["whose watch was opened a moment less than 30 s ago", opened(now - 29_999), undefined],
  ["whose watch was opened 30 s ago", opened(now - 30_000), noResponse(" for 30 s")],
  [
    "of a process that was suspended for an hour",
    opened(now - 3_600_000),
    noResponse(" for 3600 s"),
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

test("watchReadings returns the oldest watch of each resource, by the wall clock, and the number of objects", () => {
  const clock = { now: () => 1_000_000, monotonic: () => 50_000 };
  const informer = (openedAt: number | undefined, resource: Resource = resources.secrets) => ({
    ...{ resource, store: { size: 2 } },
    watchState: { isSynced: true, openedAt, freshForMs },
  });
  expect(
    watchReadings(
      [informer(49_000), informer(40_000), informer(undefined, resources.namespaces)],
      clock,
    ),
  ).toEqual([
    { resource: "secrets", openedAt: 990, objects: 4 },
    { resource: "namespaces", openedAt: 0, objects: 2 },
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
