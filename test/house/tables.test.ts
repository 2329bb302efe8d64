import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { conditionTypes, reasons } from "../../src/api/conditions.ts";
import { group } from "../../src/api/names.ts";
import { parseScope } from "../../src/api/scope.ts";
import { upstreamLocation } from "../../src/domain/gateway/connected-cluster.ts";
import { allows } from "../../src/domain/scope/allows.ts";
import type { RequestLocation } from "../../src/domain/scope/scoped-request.ts";
import { emptyScope } from "../support/empty-scope.ts";
import { reportReasons } from "../../src/api/report.ts";
import { serverCommands } from "../../src/cli/server-program.ts";
import { metricTable } from "../../src/runtime/metric-table.ts";
import { flagOf, type Option, variableOf } from "../../src/runtime/options.ts";
import { markdownTable } from "./markdown-table.ts";
import { sourceFiles } from "./source-files.ts";

const docs = new URL("../../docs/", import.meta.url);
const kindPages = ["shared-secret.md", "owned-access-key.md", "direct-cluster-endpoint-token.md"];
const pages = readdirSync(docs).filter((name) => name.endsWith(".md"));

test("the pages of the kinds explain each condition", () => {
  expect(undocumented(Object.keys(conditionTypes), kindPages)).toEqual([]);
});

test("the pages of the kinds explain each reason", () => {
  expect(undocumented(Object.keys(reasons), kindPages)).toEqual([]);
});

test("the page of scopes says where each kind of entry covers requests", () => {
  const page = readFileSync(new URL("scope.md", docs), "utf8");
  const [, section = ""] = page.split("\n#### Where an entry covers requests\n");
  const rows = [...(section.split("\n### ")[0] ?? "").matchAll(/^\| `(\w+)` +\| (.*) \|$/gm)];
  const labelled = { project: "web", space: "blue", virtualCluster: "vc" };
  const locations: readonly RequestLocation[] = [
    { target: "Management", ...labelled },
    ...[
      { kind: "space", project: "web", space: "blue" } as const,
      { kind: "virtual-cluster", project: "web", virtualCluster: "vc" } as const,
    ].flatMap((upstream) => upstreamLocation(upstream) ?? []),
    { target: "Cluster", cluster: "east", ...labelled },
  ];
  const entries = {
    projects: ["*"],
    spaces: [{ project: "*", space: "*" }],
    virtualClusters: [{ project: "*", virtualCluster: "*" }],
    clusters: ["*"],
    roles: [{ role: "serviceCLI", projects: [], virtualClusters: [] }],
    rules: parseScope({ rules: [{}] })?.rules ?? [],
  };
  const asked = { kind: "resource", verb: "get", group, resource: "sharedsecrets" } as const;
  const named = {
    subresource: "",
    name: "db",
    namespace: "a",
    resourceScope: "Namespaced",
  } as const;
  const covers = (entry: object, location: RequestLocation): boolean =>
    allows(
      { ...emptyScope, ...entry },
      { ...asked, ...named, ...location },
      { roles: new Map(), ownNamespace: "latchkey-system" },
    ).kind === "allowed";
  expect(
    rows.map(([, kind, cells = ""]) => [kind, cells.split("|").map((cell) => cell.trim() !== "-")]),
  ).toEqual(
    Object.entries(entries).map(([kind, list]) => [
      kind,
      locations.map((location) => covers({ [kind]: list }, location)),
    ]),
  );
});

// `npm run --silent test -- test/house/tables.test.ts --update` writes it.
test("docs/options.md has a row for each option, as its help says it", async () => {
  const path = fileURLToPath(new URL("options.md", docs));
  const page = Object.values(serverCommands).reduce(
    (text, { name, options }) => {
      const [before = "", after = ""] = text.split(`\n## Options of \`latchkey ${name}\`\n\n`);
      const [, rest] = /^(?:\|.*\n)*([^]*)$/.exec(after) ?? [];
      const rows = [optionColumns, ...Object.entries(options).map(documented)];
      return `${before}\n## Options of \`latchkey ${name}\`\n\n${markdownTable(rows)}${rest}`;
    },
    readFileSync(path, "utf8"),
  );
  await expect(page).toMatchFileSnapshot(path);
});

// `npm run --silent test -- test/house/tables.test.ts --update` writes it.
test("docs/metrics.md has a row for each metric, as `/metrics` describes it", async () => {
  const path = fileURLToPath(new URL("metrics.md", docs));
  const [head = ""] = readFileSync(path, "utf8").split("\n| metric ");
  const rows = Object.entries(metricTable).map(([name, { type, labels, help }]) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(", ") || "-",
    help,
  ]);
  const table = markdownTable([["metric", "type", "labels", "meaning"], ...rows]);
  await expect(`${head}\n${table}`).toMatchFileSnapshot(path);
});

const optionColumns = ["option", "variable", "default", "meaning"];

test("pages name no metric that does not exist", () => {
  const names: readonly string[] = Object.keys(metricTable);
  const text = pages.map((name) => readFileSync(new URL(name, docs), "utf8")).join("\n");
  const named = [...text.matchAll(/\blatchkey_[a-z_]+/g)].map(([name]) => name);
  expect(named.filter((name) => !names.includes(name))).toEqual([]);
});

test("docs/security.md has a row for each account that a policy limits, and no other", () => {
  const read = (path: string) => readFileSync(new URL(path, docs), "utf8");
  const policy = read("../config/connected-policies/own-secrets.yaml");
  const limited = [...policy.matchAll(/:latchkey-system:(latchkey-[a-z-]+)'/g)];
  const rows = [...read("security.md").matchAll(/^\| `(latchkey-[a-z-]+)` +\| `config\//gm)];
  const names = (found: readonly RegExpMatchArray[]) => new Set(found.map(([, name]) => name));
  expect(names(limited).size).toBeGreaterThan(5);
  expect(names(rows)).toEqual(names(limited));
});

test("each reason is set somewhere in src", () => {
  const tables = ["api/conditions.ts", "api/report.ts"];
  const others = sourceFiles.filter(({ path }) => !tables.includes(path));
  expect(
    Object.keys({ ...reasons, ...reportReasons }).filter(
      (reason) => !others.some(({ text }) => text.includes(`"${reason}"`)),
    ),
  ).toEqual([]);
});

test("metrics are made from the table alone", () => {
  const makers = sourceFiles.filter(
    ({ path, code }) =>
      path !== "runtime/metrics.ts" && /\bnew (?:Counter|Gauge|Histogram|Summary)\b/.test(code),
  );
  expect(makers.map(({ path }) => path)).toEqual([]);
});

/** The cells of an option: how it is written, its variable, its default and what it means. */
function documented([name, option]: readonly [string, Option<unknown>]): readonly string[] {
  const { value, initial, help } = option;
  return [
    `\`${`--${flagOf(name)} ${value}`.trim()}\``,
    `\`${variableOf(name, option)}\``,
    value === "" || initial === "" ? "-" : `\`${initial}\``,
    help,
  ];
}

function undocumented(words: readonly string[], names: readonly string[]): readonly string[] {
  const text = names.map((name) => readFileSync(new URL(name, docs), "utf8")).join("\n");
  return words.filter((word) => !text.includes(`\`${word}\``));
}
