import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { sourceOf } from "../../src/domain/sync/copy.ts";
import { largestSecret } from "../../src/domain/sync/sync-options.ts";
import { createDataDigest } from "../../src/tokens/data-digest.ts";
import { copiedData, observedCopy, observedSource } from "../../src/tokens/observed-data.ts";
import { rawObject } from "../support/fake-list-watch.ts";
import { observedMetadata } from "../support/observed-objects.ts";

const digestOf = createDataDigest();
const password = Buffer.from("canary").toString("base64");
const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, password]));

const source = (data: object, given: object = {}) =>
  observedSource(
    rawObject({ namespace: "team", name: "db", annotations: given }, { spec: { data } }),
    digestOf,
  );
const secret = (data: object, given: Readonly<Record<string, string>> = {}) =>
  observedCopy(
    rawObject(
      {
        namespace: "web",
        name: "db",
        labels: { [labels.sharedSecretName]: "db" },
        annotations: given,
      },
      { data },
    ),
    digestOf,
  );

describe("a SharedSecret", () => {
  test("has the digest of its data for copies and placeholders", () => {
    const { digest, ownDigest } = source({ password });
    expect([digest, ownDigest]).toEqual([secret({ password }).digest, digest]);
  });

  test("with a derived form has the digest of its own data for placeholders", () => {
    const { digest, ownDigest } = source({ password }, { [annotations.syncFormat]: "json" });
    expect(ownDigest).toBe(secret({ password }).digest);
    expect(digest).not.toBe(ownDigest);
  });

  test("has a digest of each value, up to 256 of them", () => {
    expect(Object.keys(source(many(256)).values ?? {})).toHaveLength(256);
    expect(source(many(257))).not.toHaveProperty("values");
  });
});

describe("a SharedSecret with data-from", () => {
  const from = { [annotations.dataFrom]: "source" };

  test("has no data before the Secret is read, and says so", () => {
    expect(source({}, from)).toMatchObject({
      keys: 0,
      followed: { name: "source", state: "unread" },
      options: { problem: { reason: "Progressing", message: expect.stringContaining("not read") } },
    });
  });

  test("says first what is wrong with its own options", () => {
    const wrong = { ...from, [annotations.disableSync]: "perhaps" };
    expect(source({}, wrong).options.problem?.reason).toBe("InvalidSyncOption");
  });

  test("and with data of its own follows nothing, and says so", () => {
    const both = source({ password }, from);
    expect(both.followed).toBeUndefined();
    expect(both.options.problem).toMatchObject({
      reason: "SourceInvalid",
      message: expect.stringContaining("remove the annotation, or spec.data"),
    });
  });

  test("that is invalid follows nothing", () => {
    for (const given of [
      { [annotations.dataFrom]: "" },
      { ...from, [annotations.dataFromKeys]: "" },
    ]) {
      expect(source({}, given).followed).toBeUndefined();
      expect(source({}, given).options.problem?.reason).toBe("InvalidSyncOption");
    }
  });
});

describe("a Secret has the least data that its type allows", () => {
  const observed = (type: string, data: object) =>
    observedCopy(rawObject({ namespace: "web", name: "db" }, { type, data }), digestOf)
      .hasLeastData;
  const docker = { ".dockerconfigjson": "e30=" };
  test.each<[string, object, true | undefined]>([
    ["Opaque", {}, true],
    ["Opaque", { password }, undefined],
    ["kubernetes.io/tls", { "tls.crt": "", "tls.key": "" }, true],
    ["kubernetes.io/tls", { "tls.crt": "", "tls.key": password }, undefined],
    ["kubernetes.io/tls", { "tls.crt": "", "tls.key": "", toString: "" }, undefined],
    ["kubernetes.io/dockerconfigjson", docker, true],
    ["kubernetes.io/dockerconfigjson", { toString: "" }, undefined],
    ["Opaque", docker, undefined],
  ])("%s with %j: %s", (type, data, expected) => {
    expect(observed(type, data)).toBe(expected);
  });
});

describe("a placeholder", () => {
  test("has a digest of each value if it picks data keys, up to 64 of them", () => {
    const picks = { [annotations.syncKeys]: "a=password" };
    expect(secret({ a: password }, picks).values).toEqual({
      a: source({ password }).values?.password,
    });
    expect(Object.keys(secret(many(64), picks).values ?? {})).toHaveLength(64);
    expect(secret(many(65), picks)).not.toHaveProperty("values");
    expect(secret({ a: password })).not.toHaveProperty("values");
  });

  test("contains no value", () => {
    const text = JSON.stringify(secret({ a: password }, { [annotations.syncKeys]: "a" }));
    expect(text).not.toContain(password);
  });
});

const { syncFormat, syncFormatKey, syncToProjects } = annotations;

function shared(values: Readonly<Record<string, string>>, given: Readonly<Record<string, string>>) {
  const data = Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key,
      new SecretText(Buffer.from(value).toString("base64")),
    ]),
  );
  return {
    metadata: observedMetadata({ name: "db", annotations: { [syncToProjects]: "web", ...given } }),
    data,
    keys: Object.keys(data).length,
    owner: {},
    access: [],
    status: {},
    conditions: [],
  };
}

function textsOf(copied: ReturnType<typeof copiedData>) {
  return copied.kind === "refused"
    ? copied
    : Object.fromEntries(
        Object.entries(copied.data).map(([key, value]) => [
          key,
          Buffer.from(SecretText.reveal(value), "base64").toString(),
        ]),
      );
}

describe("what copies have of a SharedSecret", () => {
  test("without a form, copies have the data itself", () => {
    const secret = shared({ a: "1" }, {});
    expect(copiedData(secret)).toEqual({ kind: "data", data: secret.data });
  });

  test("with a form, copies have one key with the derived text", () => {
    const secret = shared({ b: "2", a: "1" }, { [syncFormat]: "dotenv", [syncFormatKey]: "x.env" });
    expect(textsOf(copiedData(secret))).toEqual({ "x.env": "a='1'\nb='2'\n" });
  });

  test("with an invalid option, the data is left as it is, because the option is reported", () => {
    const secret = shared({ a: "1" }, { [syncFormat]: "yaml" });
    const copied = copiedData(secret);
    expect(copied).toEqual({ kind: "data", data: secret.data });
    expect(sourceOf(secret, { digest: "d" }, copied).options.problem?.reason).toBe(
      "InvalidSyncOption",
    );
  });

  test("a value that the form cannot hold is reported by its key, and nothing is cached", () => {
    const secret = shared({ password: "hunter2\0" }, { [syncFormat]: "dotenv" });
    const source = sourceOf(secret, { digest: digestOf(secret.data) }, copiedData(secret));
    expect(source.options.problem).toEqual({
      reason: "InvalidSyncOption",
      message: `${syncFormat}: key "password" of spec.data has a value with a NUL byte, which no variable can hold`,
    });
    expect(source).not.toHaveProperty("data");
  });

  test("a derived text of more than 1 MiB is too large, and a large one is not cached", () => {
    const half = "\u0001".repeat(largestSecret / 4);
    const large = shared({ a: half }, { [syncFormat]: "json" });
    expect(sourceOf(large, { digest: "d" }, copiedData(large)).options.problem?.reason).toBe(
      "TooLarge",
    );
    const escaped = shared({ a: "\u0001".repeat(4_000) }, { [syncFormat]: "json" });
    const source = sourceOf(escaped, { digest: "d" }, copiedData(escaped));
    expect(source.options.problem).toBeUndefined();
    expect(source).not.toHaveProperty("data");
    expect(source.size).toBeLessThan(8 * 1024);
  });
});
