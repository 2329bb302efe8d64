import { expect, test } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { keyOf } from "../../src/api/object.ts";
import { endRefresh, forgetRefresh, observeRefresh } from "../../src/controllers/refreshes.ts";
import { observedSource } from "../support/observed-copies.ts";
import { fakeWorld } from "../support/world.ts";

const targets = [
  { namespace: "pay", name: "db" },
  { namespace: "play", name: "db" },
];

async function setup() {
  const { world, enqueued: queued } = await fakeWorld({});
  const observe = (value: string | undefined, now: number, uid = "uid-db") => {
    const given = value === undefined ? {} : { [annotations.refreshNow]: value };
    const source = observedSource({ metadata: { uid, annotations: given } });
    return observeRefresh(source, { targets: () => targets, now }, world);
  };
  const waitingFor = (key: string) => [...(world.memory.refreshes.byTarget.get(key) ?? [])];
  const endAll = () => targets.map(keyOf).forEach((key) => endRefresh(key, waitingFor(key), world));
  return { world, queued, observe, waitingFor, endAll };
}

test("a new value enqueues every target, and is complete when all were read", async () => {
  const { queued, observe, waitingFor, endAll } = await setup();
  expect(observe("1", 0)).toEqual({});
  expect(queued).toEqual(["copy pay/db low", "copy play/db low"]);
  expect(waitingFor("pay/db")).toEqual(["team/db"]);
  expect(observe("1", 1)).toEqual({});
  endAll();
  expect(queued.slice(2)).toEqual(["sharedSecret team/db normal"]);
  expect(waitingFor("pay/db")).toEqual([]);
  expect(observe("1", 2)).toEqual({ refreshed: "1" });
  expect(queued).toHaveLength(3);
});

test("another value waits for the end of the refresh, and 10 s from its start", async () => {
  const { queued, observe, endAll } = await setup();
  observe("1", 0);
  expect(observe("2", 20_000)).toEqual({});
  endAll();
  expect(observe("2", 20_000)).toEqual({ refreshed: "1" });
  endAll();
  expect(observe("3", 20_001)).toEqual({ refreshed: "2", startAt: 30_000 });
  expect(observe("3", 30_000)).toEqual({ refreshed: "2" });
  expect(queued.filter((line) => line === "copy pay/db low")).toHaveLength(3);
});

test("the same value is another request after the annotation was removed, or for another object", async () => {
  const { observe, endAll } = await setup();
  observe("1", 0);
  endAll();
  expect(observe(undefined, 1)).toEqual({});
  expect(observe("1", 2)).toEqual({ startAt: 10_000 });
  expect(observe("1", 2, "uid-other")).toEqual({});
  endAll();
  expect(observe("1", 3, "uid-other")).toEqual({ refreshed: "1" });
});

test("a value that the status has is not refreshed again, and one without targets is complete", async () => {
  const { world, queued } = await setup();
  const metadata = { annotations: { [annotations.refreshNow]: "1" } };
  const recorded = observedSource({ metadata, secret: { status: { sync: { refreshed: "1" } } } });
  expect(observeRefresh(recorded, { targets: () => targets, now: 0 }, world)).toEqual({
    refreshed: "1",
  });
  const empty = observedSource({ metadata });
  expect(observeRefresh(empty, { targets: () => [], now: 0 }, world)).toEqual({ refreshed: "1" });
  expect(queued).toEqual([]);
});

test("a SharedSecret that is gone waits for nothing", async () => {
  const { world, queued, observe, waitingFor } = await setup();
  observe("1", 0);
  forgetRefresh("team/db", world);
  forgetRefresh("team/unknown", world);
  expect(waitingFor("pay/db")).toEqual([]);
  endRefresh("pay/db", ["team/db"], world);
  expect(queued).toHaveLength(2);
});
