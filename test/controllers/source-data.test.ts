import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { parseSecret } from "../../src/api/secret.ts";
import { parseSharedSecret } from "../../src/api/shared-secret.ts";
import { SourceData } from "../../src/controllers/source-data.ts";
import type { Source } from "../../src/domain/sync/copy.ts";
import { createDataDigest } from "../../src/tokens/data-digest.ts";
import { followingSource, observedSource } from "../../src/tokens/observed-data.ts";
import { refusal, FakeClient } from "../support/fake-client.ts";
import { rawObject } from "../support/fake-list-watch.ts";

const digestOf = createDataDigest();
const value = (word: string): string => Buffer.from(word.repeat(10_000)).toString("base64");
const shared = (name: string, word: string) =>
  rawObject({ namespace: "team", name }, { spec: { data: { password: value(word) } } });

/** The source in the store. */
function sourceAs(name: string, word: string): Source {
  return observedSource(shared(name, word), digestOf);
}

/** The values are those in the API server, by name. */
const namespace = "latchkey-system";

function reading(words: Readonly<Record<string, string>>, most?: number) {
  const stored = new Map(Object.entries(words));
  const client = new FakeClient(({ ref }) => shared(ref.name, stored.get(ref.name) ?? ""));
  return { stored, client, data: new SourceData({ client, digestOf, namespace }, most) };
}

describe("the data of a large source", () => {
  test("is read once for all concurrent and later calls", async () => {
    const { client, data } = reading({ db: "word" });
    const asked = await Promise.all(
      Array.from({ length: 1000 }, () => data.of(sourceAs("db", "word"), "copied")),
    );
    expect(new Set(asked).size).toBe(1);
    expect(asked[0]?.["password"]?.length).toBe(value("word").length);
    expect(await data.of(sourceAs("db", "word"), "copied")).toBe(asked[0]);
    expect(client.lines).toEqual(["get sharedsecrets team/db"]);
  });

  test("is undefined for another digest, and cached for the change that follows", async () => {
    const { client, data } = reading({ db: "newer" });
    expect(await data.of(sourceAs("db", "word"), "copied")).toBeUndefined();
    expect(await data.of(sourceAs("db", "newer"), "copied")).toBeDefined();
    expect(client.lines).toHaveLength(1);
  });

  test("is read again for newer data while a read of older data is in flight", async () => {
    const { stored, client, data } = reading({ db: "word" });
    const older = data.of(sourceAs("db", "word"), "copied");
    stored.set("db", "newer");
    expect(await data.of(sourceAs("db", "newer"), "copied")).toBeDefined();
    expect(await older).toBeDefined();
    expect(client.lines).toHaveLength(2);
  });

  test("is undefined if the SharedSecret is gone", async () => {
    const data = new SourceData({
      client: new FakeClient(() => refusal("NotFound", { objectName: "db" })),
      digestOf,
      namespace,
    });
    expect(await data.of(sourceAs("db", "word"), "copied")).toBeUndefined();
  });

  test("is read again after a failure, which all concurrent calls get", async () => {
    let fails = true;
    const client = new FakeClient(() => (fails ? refusal("ServerError") : shared("db", "word")));
    const data = new SourceData({ client, digestOf, namespace });
    const asked = await Promise.allSettled([
      data.of(sourceAs("db", "word"), "copied"),
      data.of(sourceAs("db", "word"), "copied"),
    ]);
    expect(asked.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    fails = false;
    expect(await data.of(sourceAs("db", "word"), "copied")).toBeDefined();
    expect(client.lines).toHaveLength(2);
  });

  test("is evicted above the limit, least recently used first", async () => {
    const { client, data } = reading({ a: "a", b: "b", c: "c" }, 2 * value("a").length);
    for (const name of ["a", "b", "a", "c", "a", "c", "b"])
      await data.of(sourceAs(name, name), "copied");
    expect(client.lines.map((line) => line.slice(-1))).toEqual(["a", "b", "c", "b"]);
  });

  test("is not cached if it exceeds the limit alone", async () => {
    const { client, data } = reading({ a: "a" }, 10);
    for (let round = 0; round < 2; round += 1)
      expect(await data.of(sourceAs("a", "a"), "copied")).toBeDefined();
    expect(client.lines).toHaveLength(2);
  });
});

test("does not read data that is in the store", async () => {
  const { client, data } = reading({});
  const small = { ...sourceAs("a", "a"), data: {} };
  expect(await data.of(small, "copied")).toBe(small.data);
  expect(client.lines).toEqual([]);
});

describe("the data of a large Secret that a SharedSecret follows", () => {
  const source = (word: string, dataFor = "db") =>
    rawObject(
      { namespace: "team", name: "source", annotations: { [annotations.dataFor]: dataFor } },
      { type: "Opaque", data: { password: value(word) } },
    );

  function followed(raw: object): Source {
    const secret = parseSecret(raw);
    const { metadata, type, data } = secret;
    const metadataOf = {
      namespace: "team",
      name: "db",
      annotations: { [annotations.dataFrom]: "source" },
    };
    const shared = parseSharedSecret(rawObject(metadataOf, { spec: {} }));
    const read = { kind: "data", metadata, type, data } as const;
    return followingSource(shared, { name: "source", keys: undefined }, read, digestOf);
  }

  function following(has: unknown) {
    const client = new FakeClient(() => has);
    return { client, data: new SourceData({ client, digestOf, namespace }) };
  }

  test("is read from the Secret, for both forms", async () => {
    const { client, data } = following(source("word"));
    const found = await data.of(followed(source("word")), "copied");
    expect(found?.["password"]?.length).toBe(value("word").length);
    expect(await data.of(followed(source("word")), "own")).toBe(found);
    expect(client.lines).toEqual(["get secrets team/source"]);
  });

  test.for<[string, unknown]>([
    ["no longer consents", source("word", "other")],
    ["is gone", refusal("NotFound", { objectName: "source" })],
    ["has other data", source("newer")],
    [
      "is a copy by now",
      rawObject({ namespace: "team", name: "source", labels: { [labels.sourceUid]: "x" } }),
    ],
  ])("is not written if the Secret %s", async ([, has]) => {
    expect(await following(has).data.of(followed(source("word")), "copied")).toBeUndefined();
  });

  test("is not taken for gone if the API server knows no such path", async () => {
    const { data } = following(refusal("NotFound"));
    await expect(data.of(followed(source("word")), "copied")).rejects.toThrow("NotFound");
  });
});
