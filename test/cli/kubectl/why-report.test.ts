import { describe, expect, test } from "vitest";
import { resources } from "../../../src/api/resources.ts";
import { paintWith } from "../../../src/cli/kubectl/output.ts";
import {
  asSentence,
  type Finding,
  type FindingState,
  isWell,
  named,
  whyContent,
  type WhyReport,
  whyText,
} from "../../../src/cli/kubectl/why-report.ts";

const object = named("Secret", { namespace: "web", name: "db" });
const source = named("SharedSecret", { namespace: "team", name: "db" });

function finding(state: FindingState, changes: Partial<Finding> = {}): Finding {
  const plain = { about: source, reason: "a-reason", sentence: "it is so.", causes: [] };
  return { ...plain, state, ...changes };
}

/** A finding about the object that was asked about. */
const own = (state: FindingState, changes: Partial<Finding> = {}): Finding =>
  finding(state, { about: object, ...changes });

function text(findings: readonly Finding[], missing: WhyReport["missing"] = []): string {
  return whyText({ object, findings, missing }, paintWith(false));
}

const cause = { object: source, field: "spec.data", fix: "Change it" };

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
      [own("problem", { details: ["rules[0]: no"], causes: [cause] })],
      "  PROBLEM  It is so.",
      "    rules[0]: no",
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
      "  PROBLEM  a\u{fffd}[2Jb c",
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

describe("the answer as an object", () => {
  test("has the findings, and the missing rights as a Role has them", () => {
    const ref = { namespace: "web", name: "db" };
    const right = { verb: "get", resource: resources.secrets, ...ref } as const;
    const findings = [finding("problem", { causes: [cause], details: ["one"] }), finding("ok")];
    expect(whyContent({ object, findings, missing: [right] })).toEqual({
      object,
      well: false,
      findings: [
        {
          ...{ about: source, state: "problem", reason: "a-reason", message: "it is so." },
          ...{ causes: [cause], details: ["one"] },
        },
        { about: source, state: "ok", reason: "a-reason", message: "it is so.", causes: [] },
      ],
      missingRights: [{ verb: "get", group: "", resource: "secrets", ...ref }],
    });
  });

  test.for<[FindingState, boolean]>([
    ["ok", true],
    ["info", true],
    ["unknown", true],
    ["problem", false],
  ])("is well: %s is %s", ([state, well]) => {
    expect(isWell({ findings: [finding(state)] })).toBe(well);
  });
});

test("a message of a condition is a sentence", () => {
  expect([asSentence("It is"), asSentence("It is.")]).toEqual(["It is.", "It is."]);
});
