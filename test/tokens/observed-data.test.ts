import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { createDataDigest } from "../../src/tokens/data-digest.ts";
import { observedCopy, observedSource } from "../../src/tokens/observed-data.ts";
import { rawObject } from "../support/fake-list-watch.ts";

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
