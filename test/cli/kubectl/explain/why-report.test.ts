import { describe, expect, test } from "vitest";
import type { Verdict } from "../../../../src/api/report.ts";
import { resources } from "../../../../src/api/resources.ts";
import { paintWith } from "../../../../src/cli/kubectl/output.ts";
import { asSentence, isWell } from "../../../../src/cli/kubectl/explain/report.ts";
import {
  type Finding,
  named,
  whyItems,
  type WhyReport,
  whyText,
} from "../../../../src/cli/kubectl/explain/why-report.ts";

const object = named("Secret", { namespace: "web", name: "db" });
const source = named("SharedSecret", { namespace: "team", name: "db" });

function finding(state: Verdict, changes: Partial<Finding> = {}): Finding {
  const plain = { object, source, reason: "Arrives", sentence: "it is so.", causes: [] };
  return { ...plain, state, ...changes };
}

/** A finding about nothing but the object that was asked about. */
function own(state: Verdict, changes: Partial<Finding> = {}): Finding {
  const { source: _, ...rest } = finding(state, changes);
  return rest;
}

function text(findings: readonly Finding[], missing: WhyReport["missing"] = []): string {
  return whyText({ object, findings, missing }, paintWith(false));
}

const cause = { object: source, field: "spec.data", reason: "InvalidKey", fix: "Change it" };
const detail = {
  ...{ object: source, field: "spec.scope.rules[0]" },
  ...{ reason: "EntryDenies", message: "It does not allow the request." },
};

describe("the text of an answer", () => {
  test.for<[string, readonly Finding[], ...lines: readonly string[]]>([
    [
      "names another object than the one that was asked about",
      [finding("ok")],
      '  ok  SharedSecret "team/db": It is so.',
    ],
    ["does not repeat the object that was asked about", [own("ok")], "  ok  It is so."],
    [
      "has the field, its value and what to change",
      [finding("problem", { causes: [{ ...cause, found: "1" }] })],
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
      "has details before causes",
      [own("problem", { details: [detail], causes: [cause] })],
      "  PROBLEM  It is so.",
      '    SharedSecret "team/db", spec.scope.rules[0]: It does not allow the request.',
      '    SharedSecret "team/db", spec.data',
      "      Change it.",
    ],
    [
      "keeps the case of a field, and has no causes where nothing has to change",
      [
        own("info", { sentence: "spec.data: is so.", causes: [cause] }),
        own("ok", { sentence: "management.service/sync is so." }),
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
      [own("problem", { sentence: "a\u{1b}[2Jb\nc" })],
      "  PROBLEM  a\u{fffd}[2Jb c.",
    ],
  ])("%s", ([, findings, ...lines]) => {
    expect(text(findings)).toBe(['Secret "web/db"', ...lines, ""].join("\n"));
  });

  test("shortens long values, and long lists of what is no problem", () => {
    const long = text([finding("problem", { causes: [{ ...cause, found: "x".repeat(500) }] })]);
    expect(long).toContain(`${"x".repeat(160)}..."`);
    const infos = Array.from({ length: 14 }, () => finding("info"));
    expect(text([finding("problem"), ...infos])).toContain("info  and 9 more; -o json has all");
    expect(text([finding("problem"), ...infos]).match(/info {2}Shared/g)).toHaveLength(5);
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
    expect(text([finding("ok")], [right]).split("\n")).toContain(line);
  });

  test("has colors on a terminal only", () => {
    const painted = whyText(
      { object, findings: [finding("problem")], missing: [] },
      paintWith(true),
    );
    expect(painted).toContain("\u{1b}[31m");
    expect(text([finding("problem")])).not.toContain("\u{1b}");
  });
});

describe("the answer for programs", () => {
  test("has the findings, and then the missing rights", () => {
    const ref = { namespace: "web", name: "db" };
    const right = { verb: "get", resource: resources.secrets, ...ref } as const;
    const findings = [finding("problem", { causes: [cause], details: [detail] }), own("ok")];
    const said = { reason: "Arrives", message: "It is so." };
    const deciding = { object: source, field: "spec.data", reason: "InvalidKey" };
    expect(whyItems({ object, findings, missing: [right] })).toEqual([
      {
        ...{ object, source, state: "problem", ...said },
        causes: [{ ...deciding, message: "Change it." }, detail],
      },
      { object, state: "ok", ...said, causes: [] },
      {
        ...{ object: { kind: "Secret", ...ref }, state: "unknown", reason: "Forbidden" },
        ...{ message: "You may not get secrets/db in namespace web.", causes: [] },
      },
    ]);
  });

  test.for<[Verdict, boolean]>([
    ["ok", true],
    ["info", true],
    ["unknown", true],
    ["problem", false],
  ])("is well: %s is %s", ([state, well]) => {
    expect(isWell([finding(state)])).toBe(well);
  });
});

test.each([
  ["it is", "It is."],
  ["It is.", "It is."],
  ["spec.ttl: must be", "spec.ttl: must be."],
])("the message %j as a sentence", (message, sentence) => {
  expect(asSentence(message)).toBe(sentence);
});
