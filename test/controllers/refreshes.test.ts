import { expect, test } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { keyOf } from "../../src/api/object.ts";
import { newMemory } from "../../src/controllers/memory.ts";
import { endRefresh, forgetRefresh, observeRefresh } from "../../src/controllers/refreshes.ts";
import { observedSource } from "../support/observed-copies.ts";

const targets = [
  { namespace: "pay", name: "db" },
  { namespace: "play", name: "db" },
];

function setup() {
  const queued: string[] = [];
  const queue = (name: string) => ({
    ...{ depth: 0, addAt: () => {}, retry: () => {} },
    add: (key: string, priority: string) => void queued.push(`${name} ${key} ${priority}`),
  });
  const memory = newMemory({ quotaExempt: [] });
  const context = {
    memory,
    enqueuer: { queues: { sharedSecret: queue("source"), copy: queue("copy") } },
  };
  const observe = (value: string | undefined, now: number, uid = "uid-db") => {
    const given = value === undefined ? {} : { [annotations.refreshNow]: value };
    const source = observedSource({ metadata: { uid, annotations: given } });
    return observeRefresh(source, { targets: () => targets, now }, context);
  };
  const waitingFor = (key: string) => [...(memory.refreshes.byTarget.get(key) ?? [])];
  const endAll = () =>
    targets.map(keyOf).forEach((key) => endRefresh(key, waitingFor(key), context));
  return { context, queued, observe, waitingFor, endAll };
}

test("a new value enqueues every target, and is complete when all were read", () => {
  const { queued, observe, waitingFor, endAll } = setup();
  expect(observe("1", 0)).toEqual({});
  expect(queued).toEqual(["copy pay/db low", "copy play/db low"]);
  expect(waitingFor("pay/db")).toEqual(["team/db"]);
  expect(observe("1", 1)).toEqual({});
  endAll();
  expect(queued.slice(2)).toEqual(["source team/db normal"]);
  expect(waitingFor("pay/db")).toEqual([]);
  expect(observe("1", 2)).toEqual({ refreshed: "1" });
  expect(queued).toHaveLength(3);
});

test("another value waits for the end of the refresh, and 10 s from its start", () => {
  const { queued, observe, endAll } = setup();
  observe("1", 0);
  expect(observe("2", 20_000)).toEqual({});
  endAll();
  expect(observe("2", 20_000)).toEqual({ refreshed: "1" });
  endAll();
  expect(observe("3", 20_001)).toEqual({ refreshed: "2", startAt: 30_000 });
  expect(observe("3", 30_000)).toEqual({ refreshed: "2" });
  expect(queued.filter((line) => line === "copy pay/db low")).toHaveLength(3);
});

test("the same value is another request after the annotation was removed, or for another object", () => {
  const { observe, endAll } = setup();
  observe("1", 0);
  endAll();
  expect(observe(undefined, 1)).toEqual({});
  expect(observe("1", 2)).toEqual({ startAt: 10_000 });
  expect(observe("1", 2, "uid-other")).toEqual({});
  endAll();
  expect(observe("1", 3, "uid-other")).toEqual({ refreshed: "1" });
});

test("a value that the status has is not refreshed again, and one without targets is complete", () => {
  const { context, queued } = setup();
  const metadata = { annotations: { [annotations.refreshNow]: "1" } };
  const recorded = observedSource({ metadata, secret: { status: { sync: { refreshed: "1" } } } });
  expect(observeRefresh(recorded, { targets: () => targets, now: 0 }, context)).toEqual({
    refreshed: "1",
  });
  const empty = observedSource({ metadata });
  expect(observeRefresh(empty, { targets: () => [], now: 0 }, context)).toEqual({ refreshed: "1" });
  expect(queued).toEqual([]);
});

test("a SharedSecret that is gone waits for nothing", () => {
  const { context, queued, observe, waitingFor } = setup();
  observe("1", 0);
  forgetRefresh("team/db", context);
  forgetRefresh("team/unknown", context);
  expect(waitingFor("pay/db")).toEqual([]);
  endRefresh("pay/db", ["team/db"], context);
  expect(queued).toHaveLength(2);
});
