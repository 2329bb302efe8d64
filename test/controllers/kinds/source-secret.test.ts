import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { dataCopyRef } from "../../../src/domain/sync/data-copy.ts";
import { refusal } from "../../support/fake-client.ts";
import { projectNamespace, rawSharedSecret } from "../../support/fake-informers.ts";
import { rawObject, type RawObject } from "../../support/fake-list-watch.ts";
import { fakeWorld } from "../../support/world.ts";

const key = "team/source";
const value = "Y2FuYXJ5";

function follower(
  name: string,
  metadata: Readonly<Record<string, unknown>> = {},
  marks: Readonly<Record<string, string>> = {},
): RawObject {
  const given = { [annotations.syncToProjects]: "web", [annotations.dataFrom]: "source", ...marks };
  return rawSharedSecret(name, { data: {}, metadata: { ...metadata, annotations: given } });
}

function source(
  dataFor = "db",
  metadata: Readonly<Record<string, unknown>> = {},
  data: Readonly<Record<string, string>> = { password: value },
): RawObject {
  const given = { annotations: { [annotations.dataFor]: dataFor }, ...metadata };
  return rawObject({ namespace: "team", name: "source", ...given }, { type: "Opaque", data });
}

/** A world in which the API server has a Secret, and the watch this one, or the same. */
async function setup({
  sharedSecrets = [follower("db")],
  has = source(),
  watched = has,
}: {
  readonly sharedSecrets?: readonly RawObject[];
  readonly has?: RawObject | Error;
  readonly watched?: RawObject | Error | "nothing";
} = {}) {
  let current = has;
  const isListed = typeof watched === "object" && !(watched instanceof Error);
  const found = await fakeWorld(
    {
      namespaces: [projectNamespace("pay")],
      sharedsecrets: sharedSecrets,
      secrets: isListed ? [watched] : [],
    },
    { answer: ({ verb }) => (verb === "get" ? current : {}) },
  );
  const { world, clock, enqueued, listWatch } = found;
  const reconciler = found.reconcilerOf("source");
  const stored = (name = "db") => world.stores.sharedSecrets.get(`team/${name}`);
  /** What the reconcile of the Secret resulted in, and the time until it is due again. */
  const reconcile = async (at = key) => {
    const began = clock.now();
    const result = await found.reconcile(reconciler, at).catch((error: unknown) => error);
    const due: unknown = result instanceof Error ? result : Reflect.get(Object(result), "at");
    return typeof due === "number" ? due - began : (due ?? "done");
  };
  const becomes = (next: RawObject | Error): void => void (current = next);
  /** The Secret changes, and its event arrives. */
  const change = (next = source()): void => {
    becomes(next);
    listWatch.emit("secrets", "MODIFIED", next);
  };
  const queued = (work: () => void) => {
    const before = enqueued.length;
    work();
    return enqueued.slice(before).filter((line) => !line.startsWith("sharedSecret "));
  };
  const stateOf = (name = "db") => stored(name)?.followed?.state;
  return { ...found, stored, stateOf, reconcile, becomes, change, queued };
}

const gone = refusal("NotFound", { objectName: "source" });

describe("a Secret that a SharedSecret follows", () => {
  test("is read once, and the SharedSecret has its data", async () => {
    const { reconcile, client, stored, refreshed } = await setup();
    expect(stored()?.followed?.state).toBe("unread");
    expect(await reconcile()).toBe("done");
    expect(client.lines).toEqual(["get secrets team/source"]);
    expect(refreshed).toEqual([]);
    expect(stored()).toMatchObject({ keys: 1, followed: { state: "data" } });
    expect(JSON.stringify(client.requests)).not.toContain(value);
  });

  test("is read into the stores if nothing of it is watched", async () => {
    const { reconcile, refreshed, stateOf } = await setup({ watched: "nothing" });
    expect(await reconcile()).toBe(1_000);
    expect([refreshed, stateOf()]).toEqual([["secrets team/source"], "data"]);
  });

  test.for<[string, Parameters<typeof setup>[0], boolean]>([
    ["another version of it", { watched: source(), has: source() }, true],
    ["another one of its name", { watched: source("db", { uid: "uid-former" }) }, true],
    ["it, and it is gone", { watched: source(), has: gone }, true],
    ["nothing, and it does not exist", { watched: "nothing", has: gone }, false],
    ["what was read", {}, false],
  ])("is read again, or not, if the watch has %s", async ([, found, isReadAgain]) => {
    const { reconcile, refreshed, stateOf } = await setup(found);
    expect(await reconcile()).toBe(isReadAgain ? 1_000 : "done");
    expect(refreshed).toEqual([]);
    expect(stateOf()).toBe(found?.has === gone ? "none" : "data");
  });

  test("is a copy or a placeholder that is watched whole", async () => {
    const copy = source("db", { labels: { [labels.sourceUid]: "uid-x" } });
    const { reconcile, refreshed, stored } = await setup({ has: copy });
    expect([await reconcile(), refreshed]).toEqual(["done", []]);
    expect(stored()?.options.problem?.message).toContain("is managed by Latchkey");
  });

  test("is not read for nobody, and its pace is forgotten", async () => {
    const { reconcile, client, world } = await setup({ sharedSecrets: [] });
    world.memory.sourcePaces.set(key, { changes: [], readAt: 0, pauseMs: 5_000 });
    expect(await reconcile()).toBe("done");
    expect([client.lines, world.memory.sourcePaces.size]).toEqual([[], 0]);
  });

  test.for(["kube-system", "latchkey-system", "latchkey-clusters", "latchkey-cluster-east"])(
    "is never read in %s",
    async (namespace) => {
      const { reconcile, client, world } = await setup({
        sharedSecrets: [follower("db", { namespace })],
        has: source("db", { namespace }),
      });
      expect(await reconcile(`${namespace}/source`)).toBe("done");
      expect(client.lines).toEqual([]);
      expect(world.stores.sharedSecrets.get(`${namespace}/db`)?.options.problem).toMatchObject({
        reason: "SourceInvalid",
        message: expect.stringContaining("is in a namespace that has no sources"),
      });
    },
  );

  test("gives its data to the 16 that it names, and is enqueued when one goes", async () => {
    const names = Array.from({ length: 18 }, (_, age) => `db-${age}`);
    const all = names.map((name, age) =>
      follower(name, { creationTimestamp: `2026-01-01T00:00:${String(age + 10)}Z` }),
    );
    const { reconcile, stateOf, listWatch, queued, world } = await setup({
      sharedSecrets: all.toReversed(),
      has: source(names.slice(1, 17).join(), {}),
    });
    await reconcile();
    const having = () => names.filter((name) => stateOf(name) === "data");
    expect(having()).toEqual(names.slice(1, 17));
    expect(world.stores.sharedSecrets.get("team/db-0")?.options.refusal).toBeDefined();
    const [, oldest = all[0]] = all;
    const gone = queued(() => oldest && listWatch.emit("sharedsecrets", "DELETED", oldest));
    expect(gone).toContain("source team/source low");
  });

  test("keeps what the followers have while it cannot be read, and says so to those without", async () => {
    const { reconcile, stored, stateOf, becomes, listWatch, clock } = await setup({
      sharedSecrets: [follower("db"), follower("api")],
      has: source("db, api"),
    });
    await reconcile();
    const unread = (mark: string) =>
      listWatch.emit(
        "sharedsecrets",
        "MODIFIED",
        follower("api", {}, { [annotations.refreshNow]: mark }),
      );
    unread("one");
    becomes(refusal("ServerError", { message: "GET secrets team/source: 500" }));
    expect(await reconcile()).toBeInstanceOf(Error);
    expect(stateOf("api")).toBe("unread");
    clock.advance(30_000);
    expect(await reconcile()).toBeInstanceOf(Error);
    const said = {
      reason: "SourceInvalid",
      message:
        `${annotations.dataFrom}: Secret "team/source" cannot be read: ` +
        "GET secrets team/source: 500; copies keep their data until the annotation is removed",
    };
    expect(stored("api")?.options.problem).toEqual(said);
    expect([stateOf("api"), stateOf("db")]).toEqual(["none", "data"]);
    unread("two");
    expect(stateOf("api")).toBe("unread");
    expect(await reconcile()).toBeInstanceOf(Error);
    expect(stored("api")?.options.problem).toEqual(said);
    becomes(source("db, api"));
    await reconcile();
    expect([stateOf("api"), stateOf("db")]).toEqual(["data", "data"]);
  });
});

describe("a Secret that changes more than 20 times in a minute", () => {
  async function changing() {
    const found = await setup();
    for (let count = 0; count < 21; count += 1) found.change();
    return found;
  }

  test("is read after pauses, with its latest value", async () => {
    const { reconcile, client, clock, change, stored } = await changing();
    expect(await reconcile()).toBe(5_000);
    expect(stored()?.followed?.changesOften).toBe(true);
    change(source("db", {}, { password: "bGF0ZXN0" }));
    clock.advance(1_000);
    expect(await reconcile()).toBe(4_000);
    expect(client.requests).toHaveLength(1);
    clock.advance(4_000);
    expect(await reconcile()).toBe(10_000);
    expect(client.requests).toHaveLength(2);
    expect(stored()?.followed?.changesOften).toBe(true);
    clock.advance(60_000);
    expect(await reconcile()).toBe("done");
    expect(stored()?.followed?.changesOften).toBeUndefined();
  });

  test("is read at once where it no longer names a SharedSecret that has its data", async () => {
    const { reconcile, client, change, stored } = await changing();
    await reconcile();
    change(source("another"));
    await reconcile();
    expect(client.requests).toHaveLength(2);
    expect(stored()?.options.refusal).toMatchObject({ reason: "SourceNotAllowed" });
    change(source("another"));
    await reconcile();
    expect(client.requests).toHaveLength(2);
  });

  test("is read at once for a SharedSecret without data", async () => {
    const { reconcile, client, listWatch, stateOf } = await changing();
    await reconcile();
    listWatch.emit("sharedsecrets", "ADDED", follower("db", {}, { [annotations.refreshNow]: "1" }));
    expect(stateOf()).toBe("unread");
    expect(await reconcile()).toBe(10_000);
    expect([client.requests.length, stateOf()]).toEqual([2, "data"]);
  });
});

describe("the Secret is enqueued", () => {
  test("when it changes, if it is followed", async () => {
    const { queued, change, listWatch } = await setup();
    expect(queued(() => change())).toEqual(["copy team/source high", "source team/source high"]);
    const foreign = rawObject({ namespace: "team", name: "another" });
    expect(queued(() => listWatch.emit("secrets", "ADDED", foreign))).toEqual([]);
  });

  test("once for all who follow it, by a new leader", async () => {
    const { enqueueAll, enqueued } = await setup({
      sharedSecrets: [follower("db"), follower("api"), rawSharedSecret("own")],
    });
    await enqueueAll();
    expect(enqueued.filter((line) => line.startsWith("source "))).toEqual([
      "source team/source low",
    ]);
  });

  test("when a SharedSecret begins and ceases to follow it, with the copy for readers", async () => {
    const { queued, listWatch } = await setup({ sharedSecrets: [] });
    const copy = `copy team/${dataCopyRef({ uid: "uid-db" }).name} normal`;
    const emit = (type: "ADDED" | "MODIFIED" | "DELETED", object: RawObject) =>
      queued(() => listWatch.emit("sharedsecrets", type, object)).filter(
        (line) => !line.includes("pay/"),
      );
    const both = ["copy team/source normal", copy];
    expect(emit("ADDED", follower("db")).toSorted()).toEqual(
      [...both, "source team/source high"].toSorted(),
    );
    const other = follower("db", {}, { [annotations.dataFrom]: "other" });
    expect(new Set(emit("MODIFIED", other))).toEqual(
      new Set([
        ...both,
        "copy team/other normal",
        "source team/source low",
        "source team/other high",
      ]),
    );
    expect(new Set(emit("DELETED", other))).toEqual(
      new Set([copy, "copy team/other normal", "source team/other low"]),
    );
  });
});
