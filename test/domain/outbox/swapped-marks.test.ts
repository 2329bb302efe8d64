import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { recordAt, stringMapAt } from "../../../src/api/parse.ts";
import { SecretText } from "../../../src/api/secret-text.ts";
import {
  marksAsRead,
  marksAsWritten,
  swappedSelector,
} from "../../../src/domain/outbox/swapped-marks.ts";
import { copiedSource } from "../../../src/domain/sync/copy.ts";
import { observedMetadata } from "../../support/observed-objects.ts";
import { runs } from "../../support/property-runs.ts";

const { sourceUid, outboxUid } = labels;
const { clusterSyncError, copyOf, syncError } = annotations;
const local = "team/db -> pay/db";

/** The Secret `pay/db` with these marks. */
function secret(given: unknown, others: unknown) {
  return {
    metadata: { namespace: "pay", name: "db", labels: given, annotations: others },
    data: { password: new SecretText("bmV3") },
  };
}

describe("a Secret of a connected cluster", () => {
  const cases: readonly (readonly [
    string,
    ReturnType<typeof secret>,
    ReturnType<typeof secret>,
  ])[] = [
    [
      "that the agent made is one of Latchkey",
      secret({ [outboxUid]: "uid" }, { [copyOf]: `east//${local}`, [clusterSyncError]: "why" }),
      secret({ [sourceUid]: "uid" }, { [copyOf]: local, [syncError]: "why" }),
    ],
    [
      "that a Latchkey in the cluster made is none",
      secret({ [sourceUid]: "uid" }, { [copyOf]: local, [syncError]: "why" }),
      secret({ [outboxUid]: "uid" }, { [copyOf]: `//${local}`, [clusterSyncError]: "why" }),
    ],
    [
      "that an agent of another cluster's name made is none",
      secret({ [outboxUid]: "uid" }, { [copyOf]: `west//${local}` }),
      secret({ [sourceUid]: "uid" }, { [copyOf]: `//west//${local}` }),
    ],
    [
      "with the labels of both has the labels of both",
      secret({ [sourceUid]: "one", [outboxUid]: "two", team: "blue" }, {}),
      secret({ [outboxUid]: "one", [sourceUid]: "two", team: "blue" }, {}),
    ],
    [
      "whose mark is nonsense is none",
      secret({}, { [copyOf]: `east////${local}`, note: "kept" }),
      secret({}, { [copyOf]: `//east////${local}`, note: "kept" }),
    ],
    [
      "without marks is one without marks",
      secret({ team: "blue" }, { note: "x" }),
      secret({ team: "blue" }, { note: "x" }),
    ],
  ];

  test.for(cases)("%s, and is written as it was", ([, stored, read]) => {
    expect(marksAsRead(stored, "east")).toEqual(read);
    expect(marksAsWritten(read, "east")).toEqual(stored);
  });

  test("without marks is not copied", () => {
    const plain = secret({ team: "blue" }, { note: "x" });
    expect(marksAsRead(plain, "east")).toBe(plain);
    expect(marksAsWritten(plain, "east")).toBe(plain);
  });

  test.for<[string, string, boolean, boolean]>([
    ["made by the Latchkey of the cluster", local, true, false],
    ["made by the agent", `east//${local}`, false, true],
    ["made by the agent of another name", `west//${local}`, false, false],
    ["with nonsense", `//${local}`, false, false],
  ])("%s is a copy for one of them at most", ([, text, isLocal, isOfAgent]) => {
    const sourceIn = (value: unknown) => {
      const metadata = observedMetadata({ namespace: "pay", name: "db" });
      const given = stringMapAt(recordAt(value, "metadata"), "annotations");
      return copiedSource({ ...metadata, annotations: given }) !== undefined;
    };
    const stored = secret({}, { [copyOf]: text });
    expect(sourceIn(stored)).toBe(isLocal);
    expect(sourceIn(marksAsRead(stored, "east"))).toBe(isOfAgent);
  });
});

describe("a merge patch of a Secret", () => {
  test.for<[string, object, object]>([
    ["of a label", { labels: { [sourceUid]: "uid" } }, { labels: { [outboxUid]: "uid" } }],
    [
      "of an error",
      { annotations: { [syncError]: "why" } },
      { annotations: { [clusterSyncError]: "why" } },
    ],
    [
      "that removes marks",
      { annotations: { [syncError]: null, [copyOf]: null } },
      { annotations: { [clusterSyncError]: null, [copyOf]: null } },
    ],
    ["of nothing of Latchkey", { labels: { a: null } }, { labels: { a: null } }],
  ])("%s is written with the marks of the agent", ([, change, written]) => {
    const metadata = { resourceVersion: "7", ...change };
    expect(marksAsWritten({ metadata }, "east")).toEqual({
      metadata: { resourceVersion: "7", ...written },
    });
  });
});

describe("what is no Secret", () => {
  test.for([
    undefined,
    null,
    "text",
    7,
    [],
    {},
    { metadata: "x" },
    { metadata: { labels: [], annotations: 7 } },
  ])("stays as it is: %j", (value) => {
    expect(marksAsRead(value, "east")).toBe(value);
    expect(marksAsWritten(value, "east")).toBe(value);
  });

  test("a wrapped text stays wrapped", () => {
    const text = new SecretText("bmV3");
    expect(marksAsRead(text, "east")).toBe(text);
  });
});

const keys = fc.oneof(
  fc.constantFrom(sourceUid, outboxUid, syncError, clusterSyncError, copyOf),
  fc.constantFrom("__proto__", "constructor", "toString", "hasOwnProperty", "team"),
);
const clusters = fc.constantFrom("east", "e", "a.b-c", "__proto__");
const texts = fc.oneof(
  fc.constantFrom(
    local,
    `east//${local}`,
    `//${local}`,
    "east//",
    "east////x",
    "//east//x",
    "",
    "//",
  ),
  fc.array(fc.constantFrom("east//", "e//", "//", "/", local)).map((parts) => parts.join("")),
  fc.string(),
);
const marks = fc
  .array(fc.tuple(keys, fc.oneof(texts, fc.constant(null))))
  .map((entries) => Object.fromEntries(entries));
const secrets = fc.record({ given: fc.option(marks), others: fc.option(marks) });

test("whatever a Secret has comes back as it was, with its own fields only", () => {
  fc.assert(
    fc.property(secrets, clusters, ({ given, others }, cluster) => {
      const stored = secret(given, others);
      const read = marksAsRead(stored, cluster);
      expect(JSON.stringify(sorted(marksAsWritten(read, cluster)))).toBe(
        JSON.stringify(sorted(stored)),
      );
      expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
    }),
    runs(1_000),
  );
  expect(Object.hasOwn(Object.prototype, "team")).toBe(false);
});

test("what the rules write is read as they wrote it", () => {
  const names = fc.constantFrom("team", "east", "a.b");
  const written = fc
    .record({ namespace: names, name: names, others: marks })
    .map(({ namespace, name, others }) =>
      secret(others, { ...others, [copyOf]: `${namespace}/${name} -> pay/db` }),
    );
  fc.assert(
    fc.property(written, clusters, (manifest, cluster) => {
      const stored = marksAsWritten(manifest, cluster);
      expect(JSON.stringify(sorted(marksAsRead(stored, cluster)))).toBe(
        JSON.stringify(sorted(manifest)),
      );
    }),
    runs(500),
  );
});

test("a cluster's name adds at most 65 bytes to the marks of a copy", () => {
  const cluster = "c".repeat(63);
  const copy = secret({ [sourceUid]: "uid" }, { [copyOf]: local, [syncError]: "x".repeat(1_024) });
  const added = JSON.stringify(marksAsWritten(copy, cluster)).length - JSON.stringify(copy).length;
  const longerNames =
    outboxUid.length - sourceUid.length + clusterSyncError.length - syncError.length;
  expect(added).toBe(65 + longerNames);
});

test("a Secret with a megabyte of marks is swapped", () => {
  const large = Object.fromEntries(
    Array.from({ length: 20_000 }, (_, at) => [`k-${at}`, "x".repeat(40)]),
  );
  const stored = secret({ ...large, [outboxUid]: "uid" }, large);
  expect(marksAsWritten(marksAsRead(stored, "east"), "east")).toEqual(stored);
});

/** The entries of an object in order of their keys, also of a key such as `__proto__`. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || value instanceof SecretText)
    return String(value);
  return Object.entries(value)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, inner]) => [key, sorted(inner)]);
}

describe("a label selector", () => {
  test.for<[string, string]>([
    [sourceUid, outboxUid],
    [`!${sourceUid},!${labels.sharedSecretName}`, `!${outboxUid},!${labels.sharedSecretName}`],
    [`${labels.sharedSecretName},!${sourceUid}`, `${labels.sharedSecretName},!${outboxUid}`],
    [`${sourceUid}=uid, ${outboxUid} in (a,b)`, `${outboxUid}=uid, ${sourceUid} in (a,b)`],
    [`x${sourceUid},${sourceUid}-x,${sourceUid}.x`, `x${sourceUid},${sourceUid}-x,${sourceUid}.x`],
    ["constructor,__proto__=toString", "constructor,__proto__=toString"],
    ["", ""],
  ])("%s selects by %s in the cluster, and the other way round", ([read, stored]) => {
    expect(swappedSelector(read)).toBe(stored);
    expect(swappedSelector(stored)).toBe(read);
  });

  test("is its own inverse", () => {
    const parts = fc.constantFrom(
      sourceUid,
      outboxUid,
      ",",
      "!",
      "=",
      " in (",
      ")",
      "a",
      "-",
      "__proto__",
    );
    fc.assert(
      fc.property(
        fc.array(parts).map((some) => some.join("")),
        (selector) => {
          expect(swappedSelector(swappedSelector(selector))).toBe(selector);
        },
      ),
      runs(300),
    );
  });
});
