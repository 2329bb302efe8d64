import type { Event } from "../../src/api/event.ts";
import { describe, expect, test } from "vitest";
import type { Manifest } from "../../src/api/object.ts";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { resources } from "../../src/api/resources.ts";
import { KubeError, type KubeErrorCode } from "../../src/kube/client/kube-error.ts";
import { EventRecorder } from "../../src/kube/event-recorder.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";

const notice: Event<string> = {
  resource: resources.sharedSecrets,
  subject: { namespace: "shop", name: "db", uid: "uid-1" },
  type: "Warning",
  reason: "Conflict",
  note: "Secret web/db was not made by Latchkey",
  deduplicationKey: "1",
};

function recorder(failure?: unknown) {
  const events: Manifest[] = [];
  const [clock, log] = [new TestClock(), recordingLog()];
  async function create(_resource: unknown, event: Manifest): Promise<unknown> {
    if (failure !== undefined) throw failure;
    events.push(event);
    return event;
  }
  const identity = `host_${"x".repeat(200)}`;
  return {
    events,
    clock,
    log,
    recorder: new EventRecorder({
      client: { create },
      clock,
      log,
      reporter: "management.service/latchkey",
      identity,
    }),
  };
}

async function eventsOf(...changes: Partial<Event<string>>[]): Promise<Manifest[]> {
  const { events, recorder: eventRecorder } = recorder();
  for (const change of changes) await eventRecorder.record({ ...notice, ...change });
  return events;
}

test("an Event has every field that events.k8s.io/v1 requires", async () => {
  const [event] = await eventsOf({});
  expect(event).toEqual({
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    metadata: { namespace: "shop", name: expect.stringMatching(/^db\.[0-9a-f]{32}$/) },
    eventTime: "2026-01-01T00:00:00.000000Z",
    reportingController: "management.service/latchkey",
    reportingInstance: `host_${"x".repeat(123)}`,
    action: "Reconcile",
    type: "Warning",
    reason: "Conflict",
    regarding: {
      apiVersion: "management.service/v1",
      kind: "SharedSecret",
      namespace: "shop",
      name: "db",
      uid: "uid-1",
    },
    note: "Secret web/db was not made by Latchkey",
  });
});

test("an Event is a line of the log, once", async () => {
  const { log, recorder: eventRecorder } = recorder();
  await eventRecorder.record(notice);
  const { note: why, reason } = notice;
  expect(log.lines).toEqual([
    {
      level: "info",
      message: "Event recorded",
      fields: { kind: "SharedSecret", object: "shop/db", reason, why },
    },
  ]);
  const known = recorder(new KubeError("exists", { code: "AlreadyExists", status: 409 }));
  await known.recorder.record(notice);
  expect(known.log.lines).toEqual([]);
});

test("an Event of a cluster-scoped object is in the namespace default", async () => {
  const [event] = await eventsOf({
    resource: resources.ownedAccessKeys,
    subject: { name: "ci", uid: "uid-2" },
  });
  expect(event?.metadata.namespace).toBe("default");
  expect(event?.["regarding"]).toEqual({
    apiVersion: "management.service/v1",
    kind: "OwnedAccessKey",
    name: "ci",
    uid: "uid-2",
  });
});

test("an Event refers to its object by namespace, name and uid only", async () => {
  const subject = { ...notice.subject, resourceVersion: "7", labels: { team: "a" } };
  const [event] = await eventsOf({ subject });
  expect(event?.["regarding"]).toEqual({
    apiVersion: "management.service/v1",
    kind: "SharedSecret",
    ...notice.subject,
  });
});

describe("the name of an Event", () => {
  test.for<[string, Partial<Event<string>>, boolean]>([
    ["is the same with another note", { note: "other words" }, true],
    ["differs by reason", { reason: "Failed" }, false],
    ["differs by deduplicationKey", { deduplicationKey: "2" }, false],
    ["differs by uid", { subject: { ...notice.subject, uid: "uid-9" } }, false],
    ["separates reason and deduplicationKey", { reason: "Conflict1", deduplicationKey: "" }, false],
  ])("%s", async ([, change, same]) => {
    const [first, second] = await eventsOf({}, change);
    expect(first?.metadata.name === second?.metadata.name).toBe(same);
  });

  test("is valid for an object with a name of maximum length", async () => {
    const [event] = await eventsOf({
      subject: { ...notice.subject, name: `${"a".repeat(219)}.${"b".repeat(33)}` },
    });
    expect(event?.metadata.name).toMatch(/^a{219}\.[0-9a-f]{32}$/);
  });
});

test("a note is truncated to 1,024 bytes at a character boundary", async () => {
  const events = await eventsOf(
    { note: "ä".repeat(600) },
    { note: "x".repeat(1024), deduplicationKey: "2" },
    { note: "😀".repeat(300), deduplicationKey: "3" },
  );
  const notes = events.map((event) => stringAt(event, "note") ?? "");
  expect(notes).toEqual([`${"ä".repeat(510)}…`, "x".repeat(1024), `${"😀".repeat(255)}…`]);
  for (const note of notes) expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1024);
});

test("optional Events have budgets of their own: of an object, and of all", async () => {
  const { events, clock, recorder: eventRecorder } = recorder();
  const news = { ...notice, type: "Normal", reason: "Ready", limit: "optional" } as const;
  const taken = async (uid: string, count: number): Promise<number> => {
    const before = events.length;
    const subject = { ...notice.subject, uid };
    for (let index = 0; index < count; index += 1)
      await eventRecorder.record({ ...news, subject, deduplicationKey: String(index) });
    return events.length - before;
  };
  expect(await taken("uid-1", 5)).toBe(3);
  await clock.run(3_600_000);
  expect(await taken("uid-1", 5)).toBe(1);
  const all = [];
  for (let index = 0; index < 150; index += 1) all.push(await taken(`new-${index}`, 1));
  expect(all.filter((count) => count === 1)).toHaveLength(99);
  await clock.run(1_000);
  expect(await taken("later", 3)).toBe(3);
  await eventRecorder.record(notice);
  expect(events.at(-1)).toMatchObject({ type: "Warning" });
});

describe("the hints of a namespace", () => {
  const hint = { ...notice, limit: "hints" } as const;
  const hintsOf = (namespace: string, count: number): readonly Event<string>[] =>
    Array.from({ length: count }, (_, at) => ({
      ...hint,
      subject: { namespace, name: `db-${at}`, uid: `${namespace}-${at}` },
    }));
  const recordAll = async (
    eventRecorder: EventRecorder,
    hints: readonly Event<string>[],
  ): Promise<void> => {
    for (const each of hints) await eventRecorder.record(each);
  };

  test("are recorded once each, and do not use the budget of the object", async () => {
    const { events, clock, recorder: eventRecorder } = recorder();
    await recordAll(eventRecorder, [hint, hint, { ...hint, deduplicationKey: "2" }]);
    await clock.run(86_400_000);
    await eventRecorder.record(hint);
    expect(events).toHaveLength(2);
    for (let count = 0; count < 25; count += 1)
      await eventRecorder.record({ ...notice, deduplicationKey: `of the object ${count}` });
    expect(events).toHaveLength(27);
  });

  test("are 20, then one a minute, and leave those of another namespace alone", async () => {
    const { events, clock, recorder: eventRecorder } = recorder();
    await recordAll(eventRecorder, hintsOf("many", 3_000));
    expect(events).toHaveLength(20);
    await recordAll(eventRecorder, hintsOf("other", 5));
    expect(events).toHaveLength(25);
    await clock.run(60_000);
    await recordAll(eventRecorder, hintsOf("many", 3_000));
    expect(events).toHaveLength(26);
  });

  test("are forgotten beyond 4,096, the oldest first", async () => {
    const { events, clock, recorder: eventRecorder } = recorder();
    const first = hintsOf("first", 2);
    await recordAll(eventRecorder, first);
    for (let at = 0; at < 256; at += 1) await recordAll(eventRecorder, hintsOf(`n${at}`, 16));
    await clock.run(600_000);
    const before = events.length;
    await recordAll(eventRecorder, first);
    expect(events.length - before).toBe(2);
    await recordAll(eventRecorder, hintsOf("n255", 16));
    expect(events.length - before).toBe(2);
  });

  test("are remembered if they exist, and tried again after a failure", async () => {
    for (const [code, tries] of [
      ["AlreadyExists", 1],
      ["Network", 3],
    ] as const) {
      let sent = 0;
      const create = async (): Promise<never> => {
        sent += 1;
        throw new KubeError("no", { code, status: 0 });
      };
      const [clock, log] = [new TestClock(), recordingLog()];
      const options = { clock, log, reporter: "x", identity: "y" };
      const eventRecorder = new EventRecorder({ ...options, client: { create } });
      await recordAll(eventRecorder, [hint, hint, hint]);
      expect([code, sent]).toEqual([code, tries]);
    }
  });
});

describe("a failure is not thrown", () => {
  test.for<[KubeErrorCode, number]>([
    ["AlreadyExists", 0],
    ["Forbidden", 1],
    ["Network", 1],
  ])("%s logs %i warnings", async ([code, warnings]) => {
    const { log, recorder: eventRecorder } = recorder(new KubeError("canary", { code, status: 0 }));
    await eventRecorder.record(notice);
    expect(log.lines).toHaveLength(warnings);
    expect(JSON.stringify(log.lines)).not.toContain("canary");
    for (const { level, fields } of log.lines) {
      expect([level, fields]).toEqual([
        "warn",
        { object: "shop/db", kind: "SharedSecret", reason: "Conflict", code },
      ]);
    }
  });
});

describe("the budget of an object", () => {
  test("is 25 Events, then one in five minutes, independent of other objects", async () => {
    const { events, clock, recorder: eventRecorder } = recorder();
    const record = async (times: number, uid: string): Promise<number> => {
      const before = events.length;
      for (let count = 0; count < times; count++)
        await eventRecorder.record({
          ...notice,
          subject: { ...notice.subject, uid },
          deduplicationKey: `${uid} ${count}`,
        });
      return events.length - before;
    };
    expect(await record(30, "a")).toBe(25);
    expect(await record(30, "b")).toBe(25);
    clock.advance(299_999);
    expect(await record(5, "a")).toBe(0);
    clock.advance(1);
    expect(await record(5, "a")).toBe(1);
    clock.advance(86_400_000);
    expect(await record(30, "a")).toBe(25);
  });

  test("is evicted with more than 4,096 objects, starting with the least recently used", async () => {
    const { events, recorder: eventRecorder } = recorder();
    const record = (uid: string, deduplicationKey: string): Promise<void> =>
      eventRecorder.record({ ...notice, subject: { ...notice.subject, uid }, deduplicationKey });
    for (let count = 0; count < 26; count++) await record("first", String(count));
    for (let count = 0; count < 4096; count++) await record(`other-${count}`, "1");
    await record("first", "again");
    const regarding = events.map((event) => stringAt(recordAt(event, "regarding"), "uid"));
    expect(regarding.filter((uid) => uid === "first")).toHaveLength(26);
    expect(listAt({ regarding }, "regarding").at(-1)).toBe("first");
  });
});
