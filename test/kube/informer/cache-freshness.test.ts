import fc from "fast-check";
import { expect, test } from "vitest";
import {
  CacheFreshness,
  isFresh,
  staleReason,
  untilFresh,
  type WatchState,
} from "../../../src/kube/informer/cache-freshness.ts";
import {
  provingWatchTimes,
  relaxedWatchTimes,
  watchGraceMs,
} from "../../../src/kube/informer/watch-times.ts";
import { TestClock } from "../../support/test-clock.ts";

const now = 100_000;
const freshForMs = 30_000;

const notSynced = "pods not synced yet";
const noResponse = (since: string) =>
  `pods: no watch response from the API server${since}; check the connection`;
const opened = (openedAt: number | undefined, isSynced = true): WatchState => ({
  isSynced,
  openedAt,
  freshForMs,
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

function freshnessOf() {
  const clock = new TestClock();
  const freshness = new CacheFreshness(clock, freshForMs);
  return { clock, freshness };
}

/** A store that was proven, and then lost its watch for this long. */
async function afterOutage(ms: number) {
  const setup = freshnessOf();
  setup.freshness.listed(setup.clock.monotonic(), 0);
  setup.freshness.opened();
  setup.freshness.ended();
  await setup.clock.run(ms);
  return setup;
}

test("a watch right after its list counts at once", () => {
  const { clock, freshness } = freshnessOf();
  expect(freshness.provenAt).toBeUndefined();
  freshness.listed(clock.monotonic(), 0);
  expect(freshness.provenAt).toBeUndefined();
  freshness.opened();
  expect(freshness.provenAt).toBe(clock.monotonic());
});

test("a watch that is reopened while the store is fresh counts at once", async () => {
  const { clock, freshness } = await afterOutage(freshForMs - 1);
  freshness.opened();
  expect(freshness.provenAt).toBe(clock.monotonic());
});

test("a response without a watch counts at once", async () => {
  const { clock, freshness } = await afterOutage(freshForMs);
  freshness.answered();
  expect(freshness.provenAt).toBe(clock.monotonic());
});

test("after an outage a watch counts, from its opening, when no event has arrived for 300 ms", async () => {
  const { clock, freshness } = await afterOutage(freshForMs);
  const [before, openedAt] = [freshness.provenAt, clock.monotonic()];
  freshness.opened();
  await clock.run(299);
  freshness.heard();
  await clock.run(299);
  expect(freshness.provenAt).toBe(before);
  await clock.run(1);
  expect([freshness.provenAt, clock.pending]).toEqual([openedAt, 0]);
});

test("so does a watch after a list that lasted longer than a store is fresh", async () => {
  const { clock, freshness } = freshnessOf();
  freshness.listed(clock.monotonic() - freshForMs, 0);
  freshness.opened();
  expect(freshness.provenAt).toBeUndefined();
  await clock.run(300);
  expect(freshness.provenAt).toBeDefined();
});

test("a watch that is never quiet counts after 5 s", async () => {
  const { clock, freshness } = await afterOutage(freshForMs);
  const [before, openedAt] = [freshness.provenAt, clock.monotonic()];
  freshness.opened();
  for (let time = 0; time < 49; time++) {
    await clock.run(100);
    freshness.heard();
  }
  expect(freshness.provenAt).toBe(before);
  await clock.run(100);
  expect([freshness.provenAt, clock.pending]).toEqual([openedAt, 0]);
});

test("a watch that ends before it counts leaves no timer and no freshness", async () => {
  const { clock, freshness } = await afterOutage(freshForMs);
  const before = freshness.provenAt;
  freshness.opened();
  freshness.ended();
  freshness.heard();
  expect(clock.pending).toBe(0);
  await clock.run(10_000);
  expect(freshness.provenAt).toBe(before);
});

test("what is discarded is proven only by a list that began after it", async () => {
  const { clock, freshness } = await afterOutage(1_000);
  const { discards } = freshness;
  freshness.discard();
  freshness.opened();
  await clock.run(10_000);
  expect([freshness.provenAt, freshness.needsList]).toEqual([undefined, true]);
  freshness.listed(clock.monotonic(), discards);
  freshness.opened();
  expect([freshness.provenAt, freshness.needsList]).toEqual([undefined, true]);
  freshness.listed(clock.monotonic(), freshness.discards);
  freshness.opened();
  expect([freshness.provenAt, freshness.needsList]).toEqual([clock.monotonic(), false]);
});
