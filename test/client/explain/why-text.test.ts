import { describe, expect, test } from "vitest";
import type { ReportItem, Verdict } from "../../../src/api/report.ts";
import { listAt } from "../../../src/api/parse.ts";
import { resources } from "../../../src/api/resources.ts";
import { paintWith } from "../../../src/client/output.ts";
import { asSentence, isWell, reportText, withMissing } from "../../../src/client/report.ts";
import { type WhyReport, whyText } from "../../../src/client/explain/why-text.ts";
import { reportObject } from "../../../src/domain/report-object.ts";

const object = reportObject("Secret", { namespace: "web", name: "db" });
const source = reportObject("SharedSecret", { namespace: "team", name: "db" });

function item(state: Verdict, changes: Partial<ReportItem> = {}): ReportItem {
  const plain = { object, source, reason: "Arrives", message: "it is so.", causes: [] };
  return { ...plain, state, ...changes };
}

/** An item about nothing but the object that was asked about. */
function own(state: Verdict, changes: Partial<ReportItem> = {}): ReportItem {
  const { source: _, ...rest } = item(state, changes);
  return rest;
}

function text(found: readonly ReportItem[], missing: WhyReport["missing"] = []): string {
  return whyText({ object, found, missing }, paintWith(false));
}

const cause = { object: source, field: "spec.data", reason: "InvalidKey", message: "Change it." };
const entry = {
  object: source,
  field: "spec.scope.rules[0]",
  reason: "EntryDenies",
  message: "It does not allow the request.",
};

describe("the text of an answer", () => {
  test.for<[string, readonly ReportItem[], ...lines: readonly string[]]>([
    [
      "names another object than the one that was asked about",
      [item("ok")],
      '  ok  SharedSecret "team/db": It is so.',
    ],
    ["does not repeat the object that was asked about", [own("ok")], "  ok  It is so."],
    [
      "has the field, its value and what to change",
      [item("problem", { causes: [{ ...cause, value: "1" }] })],
      '  PROBLEM  SharedSecret "team/db": It is so.',
      '    SharedSecret "team/db", spec.data: "1"',
      "      Change it.",
    ],
    [
      "says that a field is not set",
      [own("problem", { causes: [{ ...cause, field: 'metadata.labels["a"]' }] })],
      "  PROBLEM  It is so.",
      '    SharedSecret "team/db", metadata.labels["a"]: not set',
      "      Change it.",
    ],
    [
      "has entries of a scope before what to change",
      [own("problem", { causes: [cause, entry] })],
      "  PROBLEM  It is so.",
      '    SharedSecret "team/db", spec.scope.rules[0]: It does not allow the request.',
      '    SharedSecret "team/db", spec.data',
      "      Change it.",
    ],
    [
      "keeps the case of a field, and has no causes where nothing has to change",
      [
        own("info", { message: "spec.data: is so.", causes: [cause] }),
        own("ok", { message: "management.service/sync is so." }),
      ],
      "  ok  management.service/sync is so.",
      "  info  spec.data: is so.",
    ],
    [
      "begins with problems and ends with what is no problem",
      [own("info"), own("ok"), own("unknown"), own("problem")],
      ...["  PROBLEM  It is so.", "  unknown  It is so.", "  ok  It is so.", "  info  It is so."],
    ],
    [
      "has no control characters of the cluster",
      [own("problem", { message: "a\u{1b}[2Jb\nc" })],
      "  PROBLEM  a\u{fffd}[2Jb c.",
    ],
  ])("%s", ([, found, ...lines]) => {
    expect(text(found)).toBe(['Secret "web/db"', ...lines, ""].join("\n"));
  });

  test("shortens long values, and long lists of what is no problem", () => {
    const long = text([item("problem", { causes: [{ ...cause, value: "x".repeat(500) }] })]);
    expect(long).toContain(`${"x".repeat(160)}..."`);
    const infos = Array.from({ length: 14 }, () => item("info"));
    expect(text([item("problem"), ...infos])).toContain("info  and 9 more; -o json has all");
    expect(text([item("problem"), ...infos]).match(/info {2}Shared/g)).toHaveLength(5);
  });

  test.for<[WhyReport["missing"][number], string]>([
    [
      { verb: "list", resource: resources.sharedSecrets },
      "  list sharedsecrets.management.service in all namespaces",
    ],
    [
      { verb: "get", resource: resources.secrets, namespace: "web", name: "db" },
      "  get secrets/db in namespace web",
    ],
    [{ verb: "get", resource: resources.namespaces, name: "web" }, "  get namespaces/web"],
    [
      { verb: "create", resource: resources.accessReviews },
      "  create subjectaccessreviews.authorization.k8s.io",
    ],
  ])("names a missing right: $0", ([right, line]) => {
    expect(text([item("ok")], [right]).split("\n")).toContain(line);
  });

  test("has colors on a terminal only", () => {
    const painted = whyText({ object, found: [item("problem")], missing: [] }, paintWith(true));
    expect(painted).toContain("\u{1b}[31m");
    expect(text([item("problem")])).not.toContain("\u{1b}");
  });
});

describe("the answer for programs", () => {
  test("has the items, and then the missing rights", () => {
    const ref = { namespace: "web", name: "db" };
    const right = { verb: "get", resource: resources.secrets, ...ref } as const;
    const found = [item("problem", { causes: [cause, entry] }), own("ok")];
    const said = { reason: "Arrives", message: "It is so." };
    const items = withMissing({ found, missing: [right] });
    expect(JSON.parse(reportText(items, "json", () => ""))).toEqual({
      kind: "Report",
      items: [
        { object, source, state: "problem", ...said, causes: [cause, entry] },
        { object: { kind: "Secret", ...ref }, state: "ok", ...said, causes: [] },
        {
          object: { kind: "Secret", ...ref },
          state: "unknown",
          reason: "Forbidden",
          message: "You may not get secrets/db in namespace web.",
          causes: [],
        },
      ],
    });
  });

  test("has the documented fields in one order, whatever else a command knows", () => {
    const { causes, ...rest } = own("ok");
    const known = { causes, ...rest, areNamed: true, targets: undefined };
    const text = reportText([known], "json", () => "");
    const [printed] = listAt(JSON.parse(text), "items");
    expect(Object.keys(Object(printed))).toEqual([
      ...["object", "state", "reason", "message", "causes"],
    ]);
    expect(reportText([known], "yaml", () => "")).not.toMatch(/undefined|null|targets/);
  });

  test.for<[Verdict, boolean]>([
    ["ok", true],
    ["info", true],
    ["unknown", true],
    ["problem", false],
  ])("is well: %s is %s", ([state, well]) => {
    expect(isWell([item(state)])).toBe(well);
  });
});

test.each([
  ["it is", "It is."],
  ["It is.", "It is."],
  ["spec.ttl: must be", "spec.ttl: must be."],
])("the message %j as a sentence", (message, sentence) => {
  expect(asSentence(message)).toBe(sentence);
});
