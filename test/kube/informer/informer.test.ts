import { afterEach, describe, expect, test } from "vitest";
import { numberAt, recordAt, stringAt } from "../../../src/api/parse.ts";
import { resources } from "../../../src/api/resources.ts";
import { KubeError, type KubeErrorCode } from "../../../src/kube/client/kube-error.ts";
import { isFresh } from "../../../src/kube/informer/cache-freshness.ts";
import { provingWatchTimes, relaxedWatchTimes } from "../../../src/kube/informer/watch-times.ts";
import { Informer } from "../../../src/kube/informer/informer.ts";
import type { InformerOptions } from "../../../src/kube/informer/informer-options.ts";
import { Recovery } from "../../../src/kube/informer/recovery.ts";
import { Yielder } from "../../../src/runtime/yielder.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { settled, TestClock } from "../../support/test-clock.ts";
import { type ListAnswer, ScriptedListWatch } from "./scripted-list-watch.ts";

const secret = "canary";

/** A Secret; its size stands in for its content. */
function thing(name: string, version: number, size = 0, uid = `uid-${name}`) {
  return { metadata: { namespace: "ns", name, uid, resourceVersion: String(version) }, size };
}

function parse(raw: unknown): number | undefined {
  const size = numberAt(raw, "size") ?? 0;
  if (size === 13) throw new TypeError("metadata.uid is missing");
  return size < 0 ? undefined : size;
}

const failure = (code: KubeErrorCode) => new KubeError(code, { code, status: 0 });
const listed = (
  resourceVersion: number,
  ...pages: readonly (readonly unknown[])[]
): ListAnswer => ({ resourceVersion: String(resourceVersion), pages });

const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

async function following(
  lists: readonly ListAnswer[],
  options: Partial<InformerOptions<number>> = {},
  watchTimes = relaxedWatchTimes,
  recovery = new Recovery(),
) {
  const [clock, log, listWatch, stop] = [
    new TestClock(),
    recordingLog(),
    new ScriptedListWatch(...lists),
    new AbortController(),
  ];
  const [changes, interruptions]: [string[], string[]] = [[], []];
  const informer = new Informer<number>(
    {
      listOptions: { resource: resources.secrets },
      parse,
      onChange: ({ key, before, after }) =>
        void changes.push(`${key}: ${before ?? "-"} -> ${after ?? "-"}`),
      ...options,
    },
    {
      listWatch,
      clock,
      yielder: new Yielder(clock),
      log,
      random: () => 0.5,
      watchTimes,
      recovery,
      onInterrupted: (...interruption) => void interruptions.push(interruption.join(" ")),
    },
  );
  stops.push(stop);
  const ended = informer.run(stop.signal);
  await settled();
  const takeChanges = (): readonly string[] => changes.splice(0);
  return { clock, log, listWatch, informer, stop, ended, takeChanges, interruptions };
}

test("the store contains all pages of the list before it is synced, and is then watched", async () => {
  const { informer, listWatch, takeChanges } = await following([
    listed(7, [thing("a", 3, 1)], [thing("b", 5, 2)]),
  ]);
  expect(informer.watchState.isSynced).toBe(true);
  await informer.synced;
  expect([informer.store.get("ns/a"), informer.store.get("ns/b"), informer.store.size]).toEqual([
    1, 2, 2,
  ]);
  expect(takeChanges()).toEqual(["ns/a: - -> 1", "ns/b: - -> 2"]);
  expect(listWatch.calls).toEqual(["list", "watch 7"]);
  expect(informer.resource).toBe(resources.secrets);
});

describe("an event of the watch", () => {
  test.for<[string, readonly (readonly [string, unknown])[], readonly string[]]>([
    ["adds an object", [["ADDED", thing("b", 8, 2)]], ["ns/b: - -> 2"]],
    ["changes an object", [["MODIFIED", thing("a", 8, 2)]], ["ns/a: 1 -> 2"]],
    ["deletes an object", [["DELETED", thing("a", 8, 1)]], ["ns/a: 1 -> -"]],
    ["is ignored if it deletes an object that is not stored", [["DELETED", thing("b", 8)]], []],
    [
      "reports a new uid under an old name as a deletion and an addition",
      [["MODIFIED", thing("a", 8, 2, "new")]],
      ["ns/a: 1 -> -", "ns/a: - -> 2"],
    ],
    [
      "removes an object that is no longer selected",
      [["MODIFIED", thing("a", 8, -1)]],
      ["ns/a: 1 -> -"],
    ],
    ["does not store an object that is not selected", [["ADDED", thing("b", 8, -1)]], []],
    ["is ignored if it is repeated", [["ADDED", thing("a", 3, 9)]], []],
    [
      "is ignored if it is older",
      [
        ["MODIFIED", thing("a", 2, 9)],
        ["DELETED", thing("a", 2)],
      ],
      [],
    ],
    [
      "compares resourceVersions as integers",
      [
        ["MODIFIED", thing("a", 10, 2)],
        ["MODIFIED", thing("a", 9, 3)],
      ],
      ["ns/a: 1 -> 2"],
    ],
    [
      "removes an object that cannot be parsed, and later events are handled",
      [
        ["MODIFIED", thing("a", 8, 13)],
        ["ADDED", thing("b", 9, 2)],
      ],
      ["ns/a: 1 -> -", "ns/b: - -> 2"],
    ],
    ["is a bookmark that changes nothing", [["BOOKMARK", thing("", 9)]], []],
  ])("%s", async ([, events, changes]) => {
    const { listWatch, takeChanges } = await following([listed(7, [thing("a", 3, 1)])]);
    takeChanges();
    listWatch.send(...events);
    expect(takeChanges()).toEqual(changes);
  });

  test("that cannot be parsed is logged by name, without its content", async () => {
    const { listWatch, log } = await following([listed(7)]);
    listWatch.send(["ADDED", { ...thing("b", 8, 13), data: { secret } }]);
    expect(log.lines).toMatchObject([
      { level: "error", fields: { resource: "secrets", object: "ns/b" } },
    ]);
    expect(JSON.stringify(log.lines)).not.toContain(secret);
  });
});

describe("after an interruption", () => {
  test.for<[string, Error | undefined, string[]]>([
    ["a failure of the network", failure("Network"), ["secrets Network"]],
    ["a failure of the server", failure("ServerError"), ["secrets ServerError"]],
    ["a bug", new TypeError("undefined is not a function"), ["secrets Unexpected"]],
    ["a regular end", undefined, []],
  ])("by %s it resumes at the last resourceVersion, also of a bookmark", async (given) => {
    const [, error, counted] = given;
    const { clock, listWatch, interruptions } = await following([listed(7)]);
    await clock.run(30_000);
    listWatch.send(["ADDED", thing("a", 8)], ["BOOKMARK", thing("", 12)]);
    listWatch.end(error);
    await clock.run(800);
    expect(listWatch.calls).toEqual(["list", "watch 7", "watch 12"]);
    expect(interruptions).toEqual(counted);
  });

  test.for<KubeErrorCode>(["Gone", "NotFound"])("by %s it lists again", async (code) => {
    const { clock, listWatch } = await following([listed(7), listed(20)]);
    await clock.run(10_000);
    listWatch.end(failure(code));
    await clock.run(800);
    expect(listWatch.calls).toEqual(["list", "watch 7", "list", "watch 20"]);
  });

  test("by Gone it lists again at once, but not repeatedly", async () => {
    const { clock, listWatch } = await following([listed(7), listed(20), listed(30)]);
    listWatch.end(failure("Gone"));
    await settled();
    expect(listWatch.calls).toEqual(["list", "watch 7", "list", "watch 20"]);
    listWatch.end(failure("Gone"));
    await settled();
    expect([listWatch.calls.length, clock.untilNext]).toEqual([4, 800]);
  });

  test("it is up to date only while a watch is open", async () => {
    const { listWatch, informer } = await following([listed(7)]);
    expect(informer.isWatchOpen).toBe(true);
    listWatch.end(failure("Network"));
    await settled();
    expect(informer.isWatchOpen).toBe(false);
  });

  test("of the first list it lists again, and is synced only then", async () => {
    const { clock, listWatch, informer } = await following([failure("ServerError"), listed(7)]);
    expect([listWatch.calls, informer.watchState.isSynced]).toEqual([["list"], false]);
    await clock.run(800);
    expect([listWatch.calls, informer.watchState.isSynced]).toEqual([
      ["list", "list", "watch 7"],
      true,
    ]);
  });

  test("of a watch with events it resumes at once, every time", async () => {
    const { listWatch } = await following([listed(7)]);
    for (let version = 8; version < 20; version++) {
      listWatch.send(["ADDED", thing("a", version)]);
      listWatch.end(failure("Network"));
      await settled();
      expect(listWatch.calls.at(-1)).toBe(`watch ${version}`);
    }
  });

  test("it backs off up to 5 s, and starts from the beginning after a watch that lasted", async () => {
    const { clock, listWatch } = await following([listed(7)]);
    const waits: (number | undefined)[] = [];
    for (let time = 0; time < 8; time++) {
      listWatch.end(failure("Network"));
      await settled();
      waits.push(clock.untilNext);
      await clock.run(clock.untilNext ?? 0);
    }
    expect(waits).toEqual([800, 1600, 3200, 5000, 5000, 5000, 5000, 5000]);
    await clock.run(5000);
    listWatch.end(failure("Network"));
    await settled();
    listWatch.end(failure("Network"));
    await settled();
    expect(clock.untilNext).toBe(800);
  });

  test("of a watch that ended at once it backs off, so that it does not flood the API server", async () => {
    const { clock, listWatch } = await following([listed(7)]);
    listWatch.end();
    await settled();
    expect([listWatch.calls.length, clock.untilNext]).toEqual([2, 800]);
  });
});

describe("with the watch times of the webhook", () => {
  const deciding = (lists: readonly ListAnswer[], options: Partial<InformerOptions<number>> = {}) =>
    following(lists, options, provingWatchTimes);
  const proven = ({ informer, clock }: Awaited<ReturnType<typeof following>>): boolean =>
    isFresh(informer.watchState, clock.monotonic());

  test("a watch lasts 20 s and is reopened at once, so that the store stays fresh while the API server responds", async () => {
    const setup = await deciding([listed(7)]);
    for (let minute = 0; minute < 3; minute++) {
      for (let time = 0; time < 3; time++) {
        await setup.clock.run(19_000);
        setup.listWatch.send(["BOOKMARK", thing("", 8)]);
        await setup.clock.run(1_000);
        expect(proven(setup)).toBe(true);
        setup.listWatch.end();
        await settled();
      }
    }
    expect(setup.listWatch.calls).toEqual([
      "list",
      "watch 7",
      ...Array.from({ length: 9 }, () => "watch 8"),
    ]);
    expect(setup.listWatch.asked).toMatchObject({ timeoutSeconds: 20, openMs: 5_000 });
  });

  test("the store is stale 30 s after a watch was opened, even if it looks open", async () => {
    const setup = await deciding([listed(7)]);
    await setup.clock.run(29_999);
    expect(proven(setup)).toBe(true);
    await setup.clock.run(1);
    expect([proven(setup), setup.informer.isWatchOpen]).toEqual([false, true]);
  });

  test("after an outage the store is stale until the events that were missed have arrived", async () => {
    const setup = await deciding([listed(7, [thing("a", 3, 1)])]);
    const { clock, listWatch, informer } = setup;
    await clock.run(30_000);
    listWatch.end(failure("Network"));
    await settled();
    expect([listWatch.calls.at(-1), proven(setup)]).toEqual(["watch 7", false]);
    await clock.run(200);
    listWatch.send(["DELETED", thing("a", 8)]);
    expect([informer.store.size, proven(setup)]).toEqual([0, false]);
    await clock.run(300);
    expect(proven(setup)).toBe(true);
  });

  test("attempts after failures are at most a second apart", async () => {
    const { clock, listWatch } = await deciding([listed(7)]);
    const waits: number[] = [];
    for (let time = 0; time < 20; time++) {
      listWatch.end(failure("Network"));
      await settled();
      waits.push(clock.untilNext ?? Infinity);
      await clock.run(clock.untilNext ?? 0);
    }
    expect(Math.max(...waits)).toBeLessThanOrEqual(1000 / 1.5);
  });

  test("an optional resource that is not served is requested often enough to stay fresh", async () => {
    const setup = await deciding(
      Array.from({ length: 20 }, () => failure("NotFound")),
      { optional: true },
    );
    for (let second = 0; second < 60; second++) {
      await setup.clock.run(1_000);
      expect(proven(setup)).toBe(true);
    }
    expect(setup.listWatch.calls.length).toBeLessThan(12);
  });

  test("a watch that ends in time without event and bookmark is followed by a list: etcd was restored", async () => {
    const { clock, listWatch } = await deciding([listed(7), listed(9)]);
    await clock.run(20_000);
    listWatch.end();
    await settled();
    expect(listWatch.calls).toEqual(["list", "watch 7", "list", "watch 9"]);
  });

  describe("a silent watch soon after a list that took two seconds", () => {
    async function silent(...versions: readonly (string | Error)[]) {
      const long = Promise.withResolvers<void>();
      const setup = await deciding([
        { resourceVersion: "70", pages: [], until: long.promise },
        listed(72),
      ]);
      setup.clock.advance(2_000);
      long.resolve();
      for (const version of versions) setup.listWatch.willShow(version);
      await setup.clock.run(20_000);
      setup.listWatch.end();
      await settled();
      return setup;
    }

    test.for<[string, readonly string[]]>([
      ["70", ["version", "watch 70"]],
      ["71", ["version", "watch 70"]],
      ["8", ["version", "list", "watch 72"]],
    ])("resumes unless the collection is older: at %s", async ([version, calls]) => {
      const { listWatch } = await silent(version);
      expect(listWatch.calls).toEqual(["list", "watch 70", ...calls]);
    });

    test("asks again, and opens no watch, until the API server has returned the version", async () => {
      const { listWatch, clock } = await silent(failure("Network"), failure("ServerError"), "8");
      expect(listWatch.calls.slice(2)).toEqual(["version"]);
      await clock.run(2_000);
      expect(listWatch.calls.slice(2)).toEqual([
        "version",
        "version",
        "version",
        "list",
        "watch 72",
      ]);
    });

    test("lists again once half an hour has passed", async () => {
      const { listWatch, clock } = await silent("70");
      for (let time = 0; time < 100 && listWatch.calls.at(-1) === "watch 70"; time += 1) {
        listWatch.willShow("70");
        await clock.run(20_000);
        listWatch.end();
        await settled();
      }
      expect(listWatch.calls.slice(-3)).toEqual(["watch 70", "list", "watch 72"]);
      expect(clock.monotonic()).toBe(2_002_000);
    });
  });

  test("a bookmark that is older than the last resourceVersion is followed by a list", async () => {
    const { clock, listWatch } = await deciding([listed(70), listed(71)]);
    await clock.run(10_000);
    expect(() => listWatch.send(["BOOKMARK", thing("", 8)])).toThrow("8 is older than 70");
    listWatch.end(failure("Gone"));
    await settled();
    expect(listWatch.calls).toEqual(["list", "watch 70", "list", "watch 71"]);
  });
});

describe("a list after the first", () => {
  async function relisted(
    before: readonly unknown[],
    again: ListAnswer,
    between: (setup: Awaited<ReturnType<typeof following>>) => void = () => {},
  ) {
    const setup = await following([listed(7, before), again]);
    between(setup);
    setup.takeChanges();
    setup.listWatch.end(failure("Gone"));
    await settled();
    return setup;
  }

  test("reports what was deleted, added and changed meanwhile, and nothing else", async () => {
    const { takeChanges } = await relisted(
      [thing("a", 3, 1), thing("b", 4, 2), thing("c", 5)],
      listed(20, [thing("b", 4, 2), thing("c", 15, 3), thing("d", 16, 4)]),
    );
    expect(takeChanges().toSorted()).toEqual(["ns/a: 1 -> -", "ns/c: 0 -> 3", "ns/d: - -> 4"]);
  });

  test("reports another object under an old name", async () => {
    const { takeChanges } = await relisted(
      [thing("a", 3, 1)],
      listed(20, [thing("a", 15, 2, "new")]),
    );
    expect(takeChanges()).toEqual(["ns/a: 1 -> -", "ns/a: - -> 2"]);
  });

  test("does not undo what was observed after it", async () => {
    const observing = ({ informer }: Awaited<ReturnType<typeof following>>) => {
      informer.observe(thing("new", 30, 3));
      informer.observe(thing("a", 31, 4));
    };
    const { takeChanges, informer } = await relisted(
      [thing("a", 3, 1)],
      listed(20, [thing("a", 15, 2)]),
      observing,
    );
    expect(takeChanges()).toEqual([]);
    expect([informer.store.get("ns/a"), informer.store.get("ns/new")]).toEqual([4, 3]);
  });

  const earlier = listed(5, [thing("a", 2, 9)]);

  test("that is older than the store is repeated, because a cache may lag", async () => {
    const { takeChanges, clock, listWatch } = await relisted([thing("a", 3, 1)], earlier, (setup) =>
      setup.listWatch.willList(listed(20, [thing("a", 15, 2)])),
    );
    expect(takeChanges()).toEqual([]);
    await clock.run(2_400);
    expect(takeChanges()).toEqual(["ns/a: 1 -> 2"]);
    expect(listWatch.calls.at(-1)).toBe("watch 20");
  });

  test("that is older for the third time is stored: etcd was restored from a backup", async () => {
    const { takeChanges, clock } = await relisted(
      [thing("a", 3, 1), thing("b", 6, 2)],
      earlier,
      ({ listWatch }) => {
        listWatch.willList(earlier);
        listWatch.willList(earlier);
      },
    );
    await clock.run(6_000);
    expect(takeChanges()).toEqual(["ns/a: 1 -> 9", "ns/b: 2 -> -"]);
  });
});

describe("the response of an own write", () => {
  test.for<[string, unknown, readonly string[]]>([
    ["is stored before its watch event arrives", thing("b", 8, 2), ["ns/b: - -> 2"]],
    [
      "is ignored if the watch has passed it, because the object may have been deleted",
      thing("b", 7, 2),
      [],
    ],
    ["is ignored without a resourceVersion", { metadata: { namespace: "ns", name: "b" } }, []],
  ])("%s", async ([, answer, changes]) => {
    const { informer, takeChanges } = await following([listed(7)]);
    informer.observe(answer);
    expect(takeChanges()).toEqual(changes);
  });

  test("replaces an older stored object even if the watch has passed it, because the API server may have lost writes", async () => {
    const { informer, takeChanges } = await following([listed(70, [thing("a", 5, 1)])]);
    takeChanges();
    informer.observe(thing("a", 8, 2));
    expect(takeChanges()).toEqual(["ns/a: 1 -> 2"]);
  });

  test("is not reported again by its watch event", async () => {
    const { informer, listWatch, takeChanges } = await following([listed(7)]);
    informer.observe(thing("b", 8, 2));
    listWatch.send(["ADDED", thing("b", 8, 2)]);
    expect(takeChanges()).toEqual(["ns/b: - -> 2"]);
  });

  test("is not parsed again, and any other version is", async () => {
    const { informer, listWatch, takeChanges } = await following([listed(7)]);
    informer.observe(thing("b", 8, 2));
    const reads: string[] = [];
    const eventOf = (resourceVersion: number, uid = "uid-b") => ({
      type: "MODIFIED",
      head: { key: "ns/b", uid, resourceVersion: String(resourceVersion) },
      get object() {
        reads.push(`${resourceVersion} ${uid}`);
        return thing("b", resourceVersion, resourceVersion, uid);
      },
    });
    listWatch.sendEvents(eventOf(8), eventOf(9), eventOf(10, "uid-new"));
    expect(reads).toEqual(["9 uid-b", "10 uid-new"]);
    const changed = ["ns/b: - -> 2", "ns/b: 2 -> 9", "ns/b: 9 -> -", "ns/b: - -> 10"];
    expect(takeChanges()).toEqual(changed);
  });

  test("moves the watch on though its event is not parsed", async () => {
    const { informer, listWatch } = await following([listed(7)]);
    informer.observe(thing("b", 8, 2));
    const head = { key: "ns/b", uid: "uid-b", resourceVersion: "8" };
    listWatch.sendEvents({ type: "ADDED", head, object: "unread" });
    listWatch.end(failure("Network"));
    await settled();
    expect(listWatch.calls.at(-1)).toBe("watch 8");
  });

  test("is not undone by the deletion of the object that it replaced", async () => {
    const { informer, listWatch, takeChanges } = await following([
      listed(7, [thing("b", 3, 1, "old")]),
    ]);
    takeChanges();
    informer.observe(thing("b", 9, 2, "new"));
    listWatch.send(["DELETED", thing("b", 8, 1, "old")]);
    expect(takeChanges()).toEqual(["ns/b: 1 -> -", "ns/b: - -> 2"]);
    expect(informer.store.get("ns/b")).toBe(2);
  });

  test("that takes an object out of the selection is not undone by the event of an earlier one", async () => {
    const { informer, listWatch, takeChanges } = await following([listed(7)]);
    informer.observe(thing("b", 8, 2));
    informer.observe(thing("b", 9, -1));
    listWatch.send(["ADDED", thing("b", 8, 2)]);
    expect(takeChanges()).toEqual(["ns/b: - -> 2", "ns/b: 2 -> -"]);
    listWatch.send(["ADDED", thing("b", 10, 3)]);
    expect(takeChanges()).toEqual(["ns/b: - -> 3"]);
  });

  test("is ignored before the first list", async () => {
    const { informer, takeChanges } = await following([failure("Network")]);
    informer.observe(thing("b", 8));
    expect(takeChanges()).toEqual([]);
  });
});

describe("refresh", () => {
  const refreshing = async (key = "ns/a", options: Partial<InformerOptions<number>> = {}) => {
    const setup = await following([listed(7, [thing("a", 5, 1)])], options);
    setup.takeChanges();
    const refreshed = setup.informer.refresh(key);
    const answer = async (raw: unknown): Promise<readonly string[]> => {
      setup.listWatch.answerGet(raw);
      await refreshed;
      return setup.takeChanges();
    };
    return { ...setup, answer };
  };

  test.for<[string, string, unknown, readonly string[]]>([
    [
      "stores an object that is newer than the stored one",
      "ns/a",
      thing("a", 6, 2),
      ["ns/a: 1 -> 2"],
    ],
    [
      "stores an object that is older than the stored one: the API server has lost writes",
      "ns/a",
      thing("a", 2, 2),
      ["ns/a: 1 -> 2"],
    ],
    ["stores an object that was not stored", "ns/b", thing("b", 2, 2), ["ns/b: - -> 2"]],
    ["removes an object that does not exist", "ns/a", undefined, ["ns/a: 1 -> -"]],
    ["changes nothing if the object is unchanged", "ns/a", thing("a", 5, 1), []],
    ["changes nothing if the read fails", "ns/a", failure("Network"), []],
  ])("%s", async ([, key, raw, changes]) => {
    const { answer, listWatch } = await refreshing(key);
    expect(listWatch.calls.at(-1)).toBe(`get ${key}`);
    expect(await answer(raw)).toEqual(changes);
  });

  test.for<[string, readonly [string, unknown]]>([
    ["changes the object", ["MODIFIED", thing("b", 9, 3)]],
    ["deletes the object, which was not stored", ["DELETED", thing("b", 9)]],
  ])("changes nothing after a watch event that %s", async ([, event]) => {
    const { answer, listWatch, informer } = await refreshing("ns/b");
    listWatch.send(event);
    await answer(thing("b", 8, 2));
    expect(informer.store.get("ns/b")).toBe(event[0] === "DELETED" ? undefined : 3);
  });

  test("of an object that does not exist holds against its earlier watch events", async () => {
    const { answer, listWatch, takeChanges } = await refreshing();
    await answer(undefined);
    listWatch.send(["MODIFIED", thing("a", 8, 2)]);
    listWatch.send(["DELETED", thing("a", 9, 2)]);
    expect(takeChanges()).toEqual([]);
    listWatch.send(["ADDED", thing("a", 10, 3, "new")]);
    expect(takeChanges()).toEqual(["ns/a: - -> 3"]);
  });

  test("removes an object that is no longer selected", async () => {
    const { answer } = await refreshing("ns/a", {
      listOptions: { resource: resources.secrets, labelSelector: "ours" },
    });
    expect(await answer(thing("a", 9, 1))).toEqual(["ns/a: 1 -> -"]);
  });

  test("reads nothing before the first list", async () => {
    const { informer, listWatch } = await following([failure("Network")]);
    await informer.refresh("ns/a");
    expect(listWatch.calls).toEqual(["list"]);
  });
});

describe("an own write without a watch event", () => {
  test("causes a read of the object and reopens the watch after 2 s", async () => {
    const { informer, listWatch, clock, takeChanges } = await following([listed(7)]);
    informer.observe(thing("b", 8, 2));
    await clock.run(1_999);
    expect(listWatch.calls).toEqual(["list", "watch 7"]);
    await clock.run(1);
    await settled();
    expect(listWatch.calls).toEqual(["list", "watch 7", "get ns/b", "watch 7"]);
    listWatch.answerGet(thing("b", 4, 1));
    await settled();
    expect(takeChanges()).toEqual(["ns/b: - -> 2", "ns/b: 2 -> 1"]);
  });

  test.for<[string, readonly [string, unknown]]>([
    ["the watch delivers its event", ["MODIFIED", thing("b", 8, 2)]],
    ["a bookmark has passed it", ["BOOKMARK", thing("", 9)]],
    ["the watch delivers another event, because it is only behind", ["ADDED", thing("c", 6)]],
  ])("causes nothing if %s", async ([, event]) => {
    const { informer, listWatch, clock } = await following([listed(5)]);
    informer.observe(thing("b", 8, 2));
    await clock.run(500);
    listWatch.send(event);
    await clock.run(1_600);
    expect(listWatch.calls).toEqual(["list", "watch 5"]);
  });

  test("is not missing while no watch is open, such as beside a busy API server", async () => {
    const { informer, listWatch, clock } = await following([listed(7)]);
    await clock.run(1_000);
    listWatch.willHang();
    listWatch.send(["BOOKMARK", thing("", 7)]);
    listWatch.end();
    await settled();
    listWatch.willShow("7");
    informer.observe(thing("b", 8, 2));
    await clock.run(8_000);
    expect(listWatch.calls.filter((call) => call.startsWith("get"))).toEqual([]);
  });

  test("leaves no timer after the end", async () => {
    const { informer, clock, stop, ended } = await following([listed(7)]);
    informer.observe(thing("b", 8, 2));
    stop.abort();
    await ended;
    expect(clock.pending).toBe(0);
  });
});

describe("after an outage", () => {
  async function twoKinds() {
    const recovery = new Recovery();
    const [one, other] = [
      await following([listed(7)], {}, relaxedWatchTimes, recovery),
      await following([listed(7)], {}, relaxedWatchTimes, recovery),
    ];
    return { one, other };
  }

  test("the first response ends the back-off of all informers", async () => {
    const { one, other } = await twoKinds();
    for (const { listWatch, clock } of [one, other]) {
      listWatch.end(failure("Network"));
      await settled();
      expect(clock.untilNext).toBe(800);
    }
    await one.clock.run(800);
    await settled();
    expect(other.listWatch.calls).toEqual(["list", "watch 7", "watch 7"]);
  });

  test("it also ends the back-off after a rejection, because an API server rejects requests until it has loaded its RBAC", async () => {
    const { one, other } = await twoKinds();
    one.listWatch.end(failure("Network"));
    other.listWatch.end(failure("Forbidden"));
    await settled();
    await one.clock.run(800);
    await settled();
    expect(other.listWatch.calls).toEqual(["list", "watch 7", "watch 7"]);
  });

  test("a rejection after the outage backs off like a first failure", async () => {
    const [recovery, refusals] = [new Recovery(), ["Network", "Network", "Network"] as const];
    const one = await following([listed(7)], {}, relaxedWatchTimes, recovery);
    const other = await following(
      [...refusals.map(failure), failure("TooManyRequests")],
      {},
      relaxedWatchTimes,
      recovery,
    );
    await other.clock.run(800);
    await other.clock.run(1_600);
    expect(other.clock.untilNext).toBe(3_200);
    one.listWatch.end(failure("Network"));
    await settled();
    await one.clock.run(800);
    await settled();
    expect([other.listWatch.calls.length, other.clock.untilNext]).toEqual([4, 800]);
  });

  test("the back-off is at least the Retry-After of the API server", async () => {
    const { listWatch, clock } = await following([listed(7)]);
    listWatch.end(
      new KubeError("storage is initializing", {
        code: "TooManyRequests",
        status: 429,
        retryAfterMs: 3_000,
      }),
    );
    await settled();
    expect(clock.untilNext).toBe(3_000);
  });
});

describe("a restored etcd", () => {
  const old = [thing("kept", 5, 5), thing("lost", 6, 6), thing("changed", 7, 7)];
  const restored = [thing("kept", 5, 5), thing("back", 3, 3), thing("changed", 4, 4)];
  const differences = ["ns/back: - -> 3", "ns/changed: 7 -> 4", "ns/lost: 6 -> -"];
  const deciding = (recovery = new Recovery()) =>
    following([listed(70, old)], {}, provingWatchTimes, recovery);
  const proven = ({ informer, clock }: Awaited<ReturnType<typeof following>>): boolean =>
    isFresh(informer.watchState, clock.monotonic());

  test.for([69, 70, 700])(
    "is read after an outage, wherever its history is: at %i, last seen 70",
    async (version) => {
      const setup = await deciding();
      const { clock, listWatch, takeChanges } = setup;
      await clock.run(20_000);
      listWatch.send(["BOOKMARK", thing("", 70)]);
      takeChanges();
      listWatch.willRefuse(...Array.from({ length: 3 }, () => failure("Network")));
      listWatch.end();
      const until = Promise.withResolvers<void>();
      listWatch.willList({
        resourceVersion: String(version),
        pages: [restored],
        until: until.promise,
      });
      for (let time = 0; time < 2; time++) listWatch.willList(listed(version, restored));
      await clock.run(3_000);
      expect([listWatch.calls.at(-1), proven(setup)]).toEqual(["list", false]);
      until.resolve();
      await clock.run(5_000);
      expect(takeChanges().toSorted()).toEqual(differences);
      expect([listWatch.calls.at(-1), proven(setup)]).toEqual([`watch ${version}`, true]);
    },
  );

  test("is no reason to list after an outage of less than a second", async () => {
    const { clock, listWatch } = await deciding();
    await clock.run(20_000);
    listWatch.send(["BOOKMARK", thing("", 70)]);
    listWatch.willRefuse(failure("Network"));
    listWatch.end();
    await clock.run(999);
    expect(listWatch.calls).toEqual(["list", "watch 70", "watch 70", "watch 70"]);
  });

  test("is reported to the other informers by the one that finds it", async () => {
    const recovery = new Recovery();
    const [finder, other] = [await deciding(recovery), await deciding(recovery)];
    const until = Promise.withResolvers<void>();
    other.listWatch.willList({ resourceVersion: "700", pages: [restored], until: until.promise });
    for (let time = 0; time < 3; time++) finder.listWatch.willList(listed(69, restored));
    finder.listWatch.end(failure("Gone"));
    await finder.clock.run(5_000);
    await other.clock.run(5_000);
    expect(finder.listWatch.calls.slice(2)).toEqual(["list", "list", "list", "watch 69"]);
    expect([proven(finder), proven(other)]).toEqual([true, false]);
    other.takeChanges();
    until.resolve();
    await settled();
    expect(other.takeChanges().toSorted()).toEqual(differences);
    expect(proven(other)).toBe(true);
    expect(finder.listWatch.calls).toHaveLength(6);
  });

  test("is looked for once: a watch that an informer gives up for it is no outage", async () => {
    const [recovery, restarts] = [new Recovery(), new Array<number>()];
    const { clock, listWatch } = await deciding(recovery);
    recovery.onRestarted(() => void restarts.push(clock.monotonic()));
    await clock.run(20_000);
    listWatch.willHang();
    listWatch.send(["BOOKMARK", thing("", 70)]);
    listWatch.end();
    await clock.run(2_000);
    for (let time = 0; time < 2; time++) listWatch.willList(listed(70, old));
    recovery.restarted();
    await clock.run(5_000);
    expect([restarts.length, listWatch.calls.slice(2)]).toEqual([
      1,
      ["watch 70", "list", "watch 70"],
    ]);
  });

  test("is looked for after a watch that the API server ends early", async () => {
    const recovery = new Recovery();
    let restarts = 0;
    recovery.onRestarted(() => (restarts += 1));
    const long = Promise.withResolvers<void>();
    const { clock, listWatch } = await following(
      [{ resourceVersion: "70", pages: [old], until: long.promise }],
      {},
      provingWatchTimes,
      recovery,
    );
    clock.advance(2_000);
    long.resolve();
    await clock.run(10_000);
    for (const version of ["70", "69"]) {
      listWatch.willShow(version);
      listWatch.send(["BOOKMARK", thing("", 70)]);
      listWatch.end();
      await settled();
    }
    expect(listWatch.calls.slice(2)).toEqual(["version", "watch 70", "version", "list"]);
    expect(restarts).toBe(1);
  });

  test("is looked for after a dead connection", async () => {
    const { clock, listWatch, informer } = await deciding();
    listWatch.willList(listed(700, restored));
    await clock.run(25_000);
    listWatch.end();
    await settled();
    expect(listWatch.calls.slice(2)).toEqual(["list", "watch 700"]);
    expect(informer.store.get("ns/back")).toBe(3);
  });
});

describe("an own delete", () => {
  test("removes the object at once, and its earlier events do not store it again", async () => {
    const { informer, listWatch, takeChanges } = await following([listed(7, [thing("a", 3, 1)])]);
    informer.observe(thing("a", 8, 2));
    takeChanges();
    informer.observeDelete("ns/a", "uid-a");
    expect(takeChanges()).toEqual(["ns/a: 2 -> -"]);
    listWatch.send(["MODIFIED", thing("a", 8, 2)]);
    informer.observe(thing("a", 9, 3));
    listWatch.send(["DELETED", thing("a", 10, 3)]);
    expect(takeChanges()).toEqual([]);
    listWatch.send(["ADDED", thing("a", 11, 4, "new")]);
    expect(takeChanges()).toEqual(["ns/a: - -> 4"]);
  });

  test("does not remove another object of the same name", async () => {
    const { informer, takeChanges } = await following([listed(7, [thing("a", 3, 1, "new")])]);
    takeChanges();
    informer.observeDelete("ns/a", "uid-a");
    expect(takeChanges()).toEqual([]);
  });

  test("that etcd has lost is corrected by a list that began after it, and by a read", async () => {
    const setup = await following([listed(7, [thing("a", 3, 1)]), listed(9, [thing("a", 3, 1)])]);
    const { informer, listWatch, takeChanges } = setup;
    takeChanges();
    informer.observeDelete("ns/a", "uid-a");
    listWatch.end(failure("Gone"));
    await settled();
    expect(takeChanges()).toEqual(["ns/a: 1 -> -", "ns/a: - -> 1"]);
    informer.observeDelete("ns/a", "uid-a");
    const refreshed = informer.refresh("ns/a");
    listWatch.answerGet(thing("a", 3, 1));
    await refreshed;
    expect(takeChanges()).toEqual(["ns/a: 1 -> -", "ns/a: - -> 1"]);
  });

  test("is not undone by a list that began before it", async () => {
    const until = Promise.withResolvers<void>();
    const { informer, listWatch, takeChanges } = await following([
      listed(7, [thing("a", 3, 1)]),
      { resourceVersion: "9", pages: [[thing("a", 8, 2)]], until: until.promise },
    ]);
    takeChanges();
    listWatch.end(failure("Gone"));
    await settled();
    informer.observeDelete("ns/a", "uid-a");
    until.resolve();
    await settled();
    listWatch.send(["DELETED", thing("a", 10, 2)]);
    expect(takeChanges()).toEqual(["ns/a: 1 -> -"]);
  });
});

describe("a resource that is not served", () => {
  test("counts as empty if it is optional, and is requested again without a warning", async () => {
    const { informer, clock, listWatch, log } = await following(
      [failure("NotFound"), listed(7, [thing("a", 3)])],
      { optional: true },
    );
    expect([informer.watchState.isSynced, informer.store.size, log.lines]).toEqual([true, 0, []]);
    await clock.run(800);
    expect([listWatch.calls, informer.store.size]).toEqual([["list", "list", "watch 7"], 1]);
  });

  test("any more has an empty store if it is optional", async () => {
    const { informer, clock, listWatch, takeChanges } = await following(
      [listed(7, [thing("a", 3)]), failure("NotFound")],
      { optional: true },
    );
    takeChanges();
    listWatch.end(failure("NotFound"));
    await clock.run(800);
    expect([informer.store.size, takeChanges()]).toEqual([0, ["ns/a: 0 -> -"]]);
  });

  test("is requested again if it is not optional, and its objects stay in the store", async () => {
    const { informer, clock, listWatch, log } = await following([
      listed(7, [thing("a", 3)]),
      failure("NotFound"),
    ]);
    listWatch.end(failure("NotFound"));
    await clock.run(800);
    expect([informer.store.size, log.lines.length]).toEqual([1, 2]);
    const unsynced = await following([failure("NotFound")]);
    expect(unsynced.informer.watchState.isSynced).toBe(false);
  });
});

describe("it ends when its signal aborts", () => {
  test("while it watches", async () => {
    const { stop, ended, clock } = await following([listed(7)]);
    stop.abort();
    await ended;
    expect(clock.pending).toBe(0);
  });

  test("while it backs off", async () => {
    const { stop, ended, clock } = await following([failure("Network")]);
    stop.abort();
    await ended;
    expect(clock.pending).toBe(0);
  });

  test("at once if its request fails at the same time", async () => {
    const { stop, ended, listWatch, clock } = await following([listed(7)]);
    listWatch.end(failure("Network"));
    stop.abort();
    await ended;
    expect(clock.pending).toBe(0);
  });

  test("before it has started", async () => {
    const stop = new AbortController();
    stop.abort();
    const listWatch = new ScriptedListWatch();
    const informer = new Informer<string>(
      {
        listOptions: { resource: resources.secrets },
        parse: (raw) => stringAt(recordAt(raw, "metadata"), "name"),
        onChange: () => {},
      },
      {
        listWatch,
        clock: new TestClock(),
        yielder: new Yielder(new TestClock()),
        log: recordingLog(),
        random: () => 0,
      },
    );
    await informer.run(stop.signal);
    expect(listWatch.calls).toEqual([]);
  });
});
