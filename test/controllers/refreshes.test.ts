import { expect, test } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { Refreshes } from "../../src/controllers/refreshes.ts";
import { observedSource } from "../support/observed-copies.ts";

const targets = [
  { namespace: "pay", name: "db" },
  { namespace: "play", name: "db" },
];

function setup() {
  const queued: string[] = [];
  const queue = (name: string) => ({
    add: (key: string, priority?: string) => void queued.push(`${name} ${key} ${priority}`),
  });
  const refreshes = new Refreshes({
    queues: { sharedSecret: queue("source"), copy: queue("copy") },
  });
  const observe = (value: string | undefined, now: number, uid = "uid-db") => {
    const given = value === undefined ? {} : { [annotations.refreshNow]: value };
    const source = observedSource({ metadata: { uid, annotations: given } });
    return refreshes.observe(source, () => targets, now);
  };
  const endAll = () => {
    for (const { namespace, name } of targets) {
      const key = `${namespace}/${name}`;
      refreshes.end(key, refreshes.waitingFor(key));
    }
  };
  return { refreshes, queued, observe, endAll };
}

test("a new value enqueues every target, and is complete when all were read", () => {
  const { refreshes, queued, observe, endAll } = setup();
  expect(observe("1", 0)).toEqual({});
  expect(queued).toEqual(["copy pay/db low", "copy play/db low"]);
  expect(refreshes.waitingFor("pay/db")).toEqual(["team/db"]);
  expect(observe("1", 1)).toEqual({});
  endAll();
  expect(queued.slice(2)).toEqual(["source team/db normal"]);
  expect(refreshes.waitingFor("pay/db")).toEqual([]);
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
  const { refreshes, queued } = setup();
  const metadata = { annotations: { [annotations.refreshNow]: "1" } };
  const recorded = observedSource({ metadata, secret: { status: { sync: { refreshed: "1" } } } });
  expect(refreshes.observe(recorded, () => targets, 0)).toEqual({ refreshed: "1" });
  const empty = observedSource({ metadata });
  expect(refreshes.observe(empty, () => [], 0)).toEqual({ refreshed: "1" });
  expect(queued).toEqual([]);
});

test("a SharedSecret that is gone waits for nothing", () => {
  const { refreshes, queued, observe } = setup();
  observe("1", 0);
  refreshes.forget("team/db");
  refreshes.forget("team/unknown");
  expect(refreshes.waitingFor("pay/db")).toEqual([]);
  refreshes.end("pay/db", ["team/db"]);
  expect(queued).toHaveLength(2);
});
