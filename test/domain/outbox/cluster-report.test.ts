import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readingBounds } from "../../../src/api/reading-bounds.ts";
import {
  type ClusterReport,
  emptyReport,
  isReason,
  parseReport,
  reportKey,
  reportText,
  type SourceReport,
  unknownByName,
} from "../../../src/domain/outbox/cluster-report.ts";
import { outboxName } from "../../../src/domain/outbox/outbox-names.ts";
import { runs } from "../../support/property-runs.ts";

const well: SourceReport = { seen: "42", desired: 3, synced: 3, conflicts: 0, failed: 0 };
const failing: SourceReport = {
  seen: "43",
  desired: 3,
  synced: 1,
  conflicts: 1,
  failed: 1,
  reason: "Forbidden",
  message: "pay/db: exceeded quota: secrets",
};

const counts = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const sourceReports = fc.oneof(
  counts.map((count) => ({ ...well, desired: count, synced: count })),
  fc.record(
    {
      seen: fc.constantFrom("1", "987654321"),
      desired: counts,
      synced: counts,
      conflicts: counts,
      failed: counts,
      reason: fc.constantFrom("Forbidden", "Conflict"),
      message: fc.constantFrom("why", "pay/db: é €"),
    },
    { requiredKeys: ["seen", "desired", "synced", "conflicts", "failed"] },
  ),
);
const uids = fc.uuid();
const mapOf = <T>(values: fc.Arbitrary<T>) =>
  fc.array(fc.tuple(uids, values)).map((entries) => new Map(entries));
const reports: fc.Arbitrary<ClusterReport> = fc.record(
  {
    sources: mapOf<SourceReport>(sourceReports),
    done: mapOf(fc.constantFrom("1", "42")),
    unknown: mapOf(fc.constantFrom("team/db", "a/b.c")),
    problem: fc.constant({ reason: "PoliciesMissing", message: "why" }),
  },
  { requiredKeys: ["sources", "done", "unknown"] },
);

describe("a report", () => {
  test("says what was reported", () => {
    fc.assert(
      fc.property(reports, (report) => {
        expect(parseReport(reportText(report))).toEqual(report);
      }),
      runs(200),
    );
  });

  test("has a source that is well in a few bytes", () => {
    const report = { ...emptyReport, sources: new Map([["uid-db", well]]) };
    expect(reportText(report)).toBe(
      '{"format":1,"sources":{"uid-db":["42",3]},"done":{},"unknown":{}}',
    );
  });

  test.for<[string, Partial<SourceReport>]>([
    ["conflicts", { conflicts: 1 }],
    ["failures", { failed: 1 }],
    ["fewer targets than desired", { synced: 2 }],
    ["more targets than desired", { synced: 4 }],
    ["a reason", { reason: "Failed" }],
    ["a message", { message: "why" }],
  ])("keeps a source with %s apart from one that is well", ([, changes]) => {
    const report = { ...emptyReport, sources: new Map([["uid-db", { ...well, ...changes }]]) };
    expect(parseReport(reportText(report))).toEqual(report);
  });

  test("passes on a message without a reason, in one line of at most 256 characters", () => {
    const { reason: _, ...silent } = failing;
    const message = `one\n\u{1b}[31mtwo\u{202e}${"x".repeat(300)}`;
    const report = { ...emptyReport, sources: new Map([["uid-db", { ...silent, message }]]) };
    const read = parseReport(reportText(report)).sources.get("uid-db");
    expect(read).not.toHaveProperty("reason");
    expect(read?.message).toMatch(/^one  \[31mtwo x+$/);
    expect(read?.message?.length).toBeLessThanOrEqual(256);
  });
});

/** A report with this number of entries of each kind, and with sentences. */
function large(count: number): ClusterReport {
  const entries = <T>(kind: string, value: T) =>
    new Map(
      Array.from(
        { length: count },
        (_, at) => [`${kind}-${String(at).padStart(35 - kind.length, "0")}`, value] as const,
      ),
    );
  return {
    sources: new Map([...entries("well", well), ...entries("failing", failing)]),
    done: entries("done", "123456789"),
    unknown: entries("unknown", "team/db"),
    problem: { reason: "PoliciesMissing", message: "why" },
  };
}

describe("a report that is too large leaves out", () => {
  const said = (count: number) => {
    const text = reportText(large(count));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(readingBounds.agentReport.bytes);
    const { sources, done, unknown, problem } = parseReport(text);
    const kinds = (wanted: string): number =>
      [...sources.keys()].filter((uid) => uid.startsWith(wanted)).length;
    const messages = [...sources.values()].filter(({ message }) => message !== undefined).length;
    expect(problem).toBeDefined();
    return {
      messages,
      well: kinds("well"),
      failing: kinds("failing"),
      unknown: unknown.size,
      done: done.size,
    };
  };

  test("sentences first", () => {
    expect(said(290)).toEqual({ messages: 0, well: 290, failing: 290, unknown: 290, done: 290 });
  });

  test("then sources that are well", () => {
    const { well: left, ...others } = said(360);
    expect(others).toEqual({ messages: 0, failing: 360, unknown: 360, done: 360 });
    expect(left).toBeLessThan(360);
    expect(left).toBeGreaterThan(50);
  });

  test("then unknown sources", () => {
    const { unknown, ...others } = said(480);
    expect(others).toEqual({ messages: 0, well: 0, failing: 480, done: 480 });
    expect(unknown).toBeLessThan(480);
  });

  test("and what fails, but nothing that is done as long as that fits", () => {
    expect(said(1_200)).toMatchObject({ well: 0, unknown: 0, done: 1_200 });
    const { done, failing: failed } = said(5_000);
    expect(failed).toBe(0);
    expect(done).toBeGreaterThan(1_200);
  });

  test("is never too large for its policy", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3_000 }), (count) => {
        said(count);
      }),
      runs(20),
    );
  });

  test("nothing that it says of an agent without a problem", () => {
    const { problem: _, ...rest } = large(1_000);
    expect(parseReport(reportText(rest))).not.toHaveProperty("problem");
  });

  test("says what is well of more than 15,000 sources of a cluster in its 16 reports", () => {
    const sources = [...large(1_000).sources].filter(([, { reason }]) => reason === undefined);
    const report = { ...emptyReport, sources: new Map(sources) };
    expect(parseReport(reportText(report)).sources.size).toBe(1_000);
  });
});

describe("an untrusted text", () => {
  test.for([
    ...["", "null", "[]", "7", '"text"', "{", "{}", '{"format":2}', '{"format":"1"}'],
    ...['{"format":1}', '{"format":1,"sources":[],"done":7,"unknown":"x","problem":[]}'],
    `{"format":1,"sources":{"a":["1",1]}}${" ".repeat(readingBounds.agentReport.bytes)}`,
    "[".repeat(60_000),
    '{"format":1,"__proto__":{"sources":{"a":["1",1]}}}',
  ])("says nothing: %.60s", (text) => {
    expect(parseReport(text)).toEqual(emptyReport);
  });

  test("is read where it is valid", () => {
    const text = JSON.stringify({
      format: 1,
      sources: {
        one: ["1", 2, 1, -1, 1.5, "No reason", "kept"],
        two: ["1", 1e300, "2", null, [], "Forbidden", { a: 1 }],
        three: { seen: "1" },
        four: [7, 1],
        five: ["x".repeat(65), 1],
        "a b": ["1", 1],
        ["u".repeat(64)]: ["1", 1],
        constructor: ["1", 1],
      },
      done: { one: "7", two: 7, three: "7".repeat(65), "": "7" },
      unknown: { one: "team/db", two: "team", three: ["team/db"], four: "team/db -> x/y" },
      problem: { reason: "Policies Missing", message: "x" },
    });
    expect(parseReport(text)).toEqual({
      sources: new Map([
        ["one", { seen: "1", desired: 2, synced: 1, conflicts: 0, failed: 0, message: "kept" }],
        ["two", { seen: "1", desired: 0, synced: 0, conflicts: 0, failed: 0, reason: "Forbidden" }],
        ["constructor", { seen: "1", desired: 1, synced: 1, conflicts: 0, failed: 0 }],
      ]),
      done: new Map([["one", "7"]]),
      unknown: new Map([["one", "team/db"]]),
    });
  });

  test("gives a problem of the agent a sentence, if it has a reason", () => {
    const problem = { reason: "PoliciesMissing", message: "a\u{7}b" };
    const read = (value: unknown) =>
      parseReport(JSON.stringify({ format: 1, problem: value })).problem;
    expect(read(problem)).toEqual({ reason: "PoliciesMissing", message: "a b" });
    expect(read({ reason: "PoliciesMissing" })).toEqual({ reason: "PoliciesMissing", message: "" });
    expect(read({ message: "x" })).toBeUndefined();
  });

  test.for([
    "ClusterUnknown",
    "ClusterUnreachable",
    "OutboxFull",
    "OutboxMissing",
    "ProjectNotLetIn",
  ])("does not imitate what the central cluster says of a cluster: %s", (reason) => {
    const sources = { a: ["1", 1, 0, 0, 1, reason, "kept"] };
    const { sources: read, ...others } = parseReport(
      JSON.stringify({ format: 1, sources, problem: { reason } }),
    );
    expect(others).not.toHaveProperty("problem");
    const { reason: _, ...silent } = failing;
    expect(read.get("a")).toEqual({
      ...silent,
      seen: "1",
      desired: 1,
      synced: 0,
      conflicts: 0,
      message: "kept",
    });
  });

  test("has no half characters, which the API server would replace", () => {
    const text = JSON.stringify({
      format: 1,
      sources: {
        a: ["1", 1, 0, 0, 0, "Failed", `${"x".repeat(255)}😀`],
        b: ["1", 1, 0, 0, 0, "Failed", "\u{d800}"],
      },
    });
    for (const { message } of parseReport(text).sources.values())
      expect(message?.isWellFormed()).toBe(true);
  });

  test("has at most 2,048 sources, which with real uids need more bytes than there are", () => {
    const sources = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`u${at}`, ["1"]]));
    const text = JSON.stringify({ format: 1, sources });
    expect(Buffer.byteLength(text)).toBeLessThan(readingBounds.agentReport.bytes);
    expect(parseReport(text).sources.size).toBe(2_048);
  });

  test("is empty if it has more than 8 levels", () => {
    const nested = (levels: number) =>
      `{"format":1,"sources":{"a":["1"]},"more":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    expect(parseReport(nested(7)).sources.size).toBe(1);
    expect(parseReport(nested(8))).toEqual(emptyReport);
    expect(parseReport(nested(30_000))).toEqual(emptyReport);
  });

  test("whatever it is, has bounded numbers, reasons and sentences", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.anything({ withNullPrototype: true })),
        fc.json(),
        (entries, json) => {
          for (const text of [
            json,
            `{"format":1,"sources":${json},"done":${json}}`,
            JSON.stringify({ format: 1, sources: jsonOf(entries) }),
          ]) {
            for (const [uid, { reason = "Failed", message = "", desired, seen }] of parseReport(
              text,
            ).sources) {
              expect(uid).toMatch(/^[-\w.]{1,63}$/);
              expect(isReason(reason)).toBe(true);
              expect(message).toMatch(/^\P{Cc}{0,256}$/u);
              expect(seen.length).toBeLessThanOrEqual(64);
              expect(Number.isInteger(desired) && desired >= 0 && desired < 2 ** 31).toBe(true);
            }
          }
        },
      ),
      runs(300),
    );
    expect(Object.hasOwn(Object.prototype, "sources")).toBe(false);
  });
});

/** The value without what JSON cannot have. */
function jsonOf(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, inner: unknown) => (typeof inner === "bigint" ? 1 : inner)) ?? "null",
  );
}

test.for<[string, boolean]>([
  ["Forbidden", true],
  ["x".repeat(64), true],
  ["x".repeat(65), false],
  ["", false],
  ["Not Found", false],
  ["A\n", false],
  ["Réason", false],
])("%j is a reason: %s", ([text, wanted]) => {
  expect(isReason(text)).toBe(wanted);
});

test("a report is under the key that both sides know", () => {
  expect(reportKey).toBe("report.json");
});

test("unknown sources are found by the name of their Secret in the outbox", () => {
  const unknown = new Map([
    ["uid-db", "team/db"],
    ["uid-x", "no place"],
  ]);
  const source = { namespace: "team", name: "db" };
  expect(unknownByName({ ...emptyReport, unknown })).toEqual(
    new Map([[outboxName(source), { source, uid: "uid-db" }]]),
  );
});

test("at most 256 unknown sources of a report are answered at a time", () => {
  const names = Array.from({ length: 300 }, (_, at) => [`u${at}`, `team/db${at}`] as const);
  expect(unknownByName({ ...emptyReport, unknown: new Map(names) }).size).toBe(256);
});
