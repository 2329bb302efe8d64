import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parseManifests } from "../../../src/client/explain/plan-manifests.ts";
import { runInMemory } from "../memory-cli.ts";

const parse = (text: string) => parseManifests([{ file: "a.yaml", text }], "team-a");
const shared = (rest: string) =>
  `apiVersion: management.service/v1\nkind: SharedSecret\nmetadata: {name: db}\n${rest}`;

describe("the documents of a file", () => {
  test("are SharedSecrets, Namespaces and Secrets, also in lists; others are named", () => {
    const list = `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Namespace, metadata: {name: web}}\n- {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: web}}`;
    const other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}";
    const foreign = "apiVersion: other.example/v1\nkind: SharedSecret\nmetadata: {name: o}";
    const text = ["# a comment", shared(""), list, other, foreign, ""].join("\n---\n");
    const { manifests, skipped } = parse(text);
    expect(manifests.map(({ kind, ref }) => [kind, ref])).toEqual([
      ["SharedSecret", { namespace: "team-a", name: "db" }],
      ["Namespace", { name: "web" }],
      ["Secret", { namespace: "web", name: "s" }],
    ]);
    expect(skipped).toEqual([
      { kind: "ConfigMap", name: "c" },
      { kind: "SharedSecret", name: "o" },
    ]);
  });

  test("have covered values, which JSON does not print", () => {
    const { manifests } = parse(shared("spec: {data: {password: Y2FuYXJ5}}"));
    expect(JSON.stringify(manifests)).not.toContain("Y2FuYXJ5");
  });

  test("may be JSON, and may merge", () => {
    expect(parse('{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}')).toMatchObject({
      manifests: [{ ref: { name: "a" } }],
    });
    const merged =
      "apiVersion: v1\nkind: Namespace\nmetadata:\n  <<: {labels: {a: b}}\n  name: a\n";
    expect(parse(merged)).toMatchObject({
      manifests: [{ manifest: { metadata: { name: "a", labels: { a: "b" } } } }],
    });
  });

  test.each([
    ["canary: [", "a.yaml: is not valid YAML"],
    [shared("spec: {data: {a: 12345}}"), 'a.yaml: SharedSecret "db": spec.data["a"] must be'],
    [shared("spec: {data: {a: yes}}"), "must be a string; put the value in quotes"],
    [shared("spec: {data: canary}"), "spec.data must be an object"],
    ["kind: Secret\nmetadata: {name: a}", "must have apiVersion and kind"],
    ["apiVersion: v1\nkind: Secret", "must have metadata.name"],
    [
      "apiVersion: v1\nkind: Secret\nmetadata: {name: a/b}",
      'metadata.name: "a/b" must be a valid Secret name',
    ],
    [
      "apiVersion: v1\nkind: Namespace\nmetadata: {name: ..}",
      'metadata.name: ".." must be the name of a namespace',
    ],
    [
      "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: /}",
      'metadata.namespace: "/" must be the name of a namespace',
    ],
    ["- canary", "a document is not an object"],
    ...["12345", "true", "[canary]"].map((value) => [
      `apiVersion: v1\nkind: Namespace\nmetadata: {name: a, annotations: {b: c, d: ${value}}}`,
      'Namespace "a": metadata.annotations["d"] must be a string; put the value in quotes',
    ]),
    ...[
      ["scope: null", "spec.scope"],
      ["ttl:", "spec.ttl"],
      ["scope: {rules: [{verbs: [get]}, {namespaces: ~}]}", "spec.scope.rules[1].namespaces"],
      ["scope: {rules: [{resources: [null]}]}", "spec.scope.rules[0].resources[0]"],
    ].map(([spec, field]) => [
      `apiVersion: management.service/v1\nkind: OwnedAccessKey\nmetadata: {name: a}\nspec:\n  ${spec}`,
      `OwnedAccessKey "a": ${field} must not be null; set it, or remove the field`,
    ]),
    [`${shared("")}\n---\n${shared("")}`, 'a.yaml: SharedSecret "db" is there twice'],
  ])("are refused without their values: %j", (text, sentence) => {
    expect(() => parse(text)).toThrow(sentence);
    expect(() => parse(text)).toThrow(/^(?!.*(?:canary|12345))/);
  });
});

describe("aliases", () => {
  const label = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: &l {b: c}}\n";

  test("are expanded", () => {
    expect(parse(`${label}spec: {a: *l, b: *l}`)).toMatchObject({
      manifests: [{ manifest: { spec: { a: { b: "c" }, b: { b: "c" } } } }],
    });
  });

  const lists = Array.from(
    { length: 9 },
    (_, at) => `k${at + 1}: &a${at + 1} [${`*a${at},`.repeat(10)}]`,
  );
  test.each([
    ["that expand to 10^9 values", `k0: &a0 canary\n${lists.join("\n")}`],
    ["of a long text", `k0: &a0 ${"canary".repeat(1_000)}\nk1: [${"*a0,".repeat(10_000)}]`],
    ["inside of themselves", "k0: &a0 [canary, *a0]"],
  ])("%s are refused without their values", (_what, text) => {
    const sentence = /^a.yaml: has more than 16777216 characters once (?!.*canary)/;
    expect(() => parse(label + text)).toThrow(sentence);
  });
});

describe("plan refuses files without an object", () => {
  const empty = mkdtempSync(join(tmpdir(), "plan-"));
  afterAll(() => rmSync(empty, { recursive: true }));
  test.each([
    ["an empty pipe", ["-f", "-"], "", "the standard input is empty; check the program before"],
    ["a blank pipe", ["-f", "-", "-f", import.meta.filename], " \n", "the standard input is empty"],
    ["a pipe with a comment", ["-f", "-"], "# nothing\n---\n", "there is no object to plan"],
    ["an empty file", ["-f", "/dev/null"], "", "there is no object to plan"],
    ["an empty directory", ["-f", empty], "", "there is no object to plan"],
  ])("%s", async (_what, words, input, sentence) => {
    expect(await runInMemory(["plan", ...words], { input })).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining(`--filename: ${sentence}`),
    });
  });
});
