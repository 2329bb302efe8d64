import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { conditionTypes, reasons } from "../../src/api/conditions.ts";
import { restrictedDomains } from "../../src/domain/sync/copy-keys.ts";
import { commands } from "../../src/cli/app.ts";
import { metricTable } from "../../src/runtime/metric-table.ts";
import { flagOf, type Option, variableOf } from "../../src/runtime/options.ts";
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

test("the page of SharedSecrets lists each restricted domain of labels and annotations", () => {
  const page = readFileSync(new URL("shared-secret.md", docs), "utf8");
  const [, section = ""] = page.split("\n### Restricted keys of copies\n");
  const rows = [...(section.split("\n### ")[0] ?? "").matchAll(/^\| `([^`]+)`/gm)];
  expect(rows.map(([, domain]) => domain)).toEqual(restrictedDomains);
});

test("a page explains each metric", () => {
  expect(
    undocumented(
      Object.values(metricTable).map(({ name }) => name),
      pages,
    ),
  ).toEqual([]);
});

describe("docs/options.md", () => {
  const page = readFileSync(new URL("options.md", docs), "utf8");

  test.each(Object.values(commands))(
    "has a row for each option of latchkey $name, as its help says it",
    ({ name, options }) => {
      const [, section = ""] = page.split(`\n## Options of \`latchkey ${name}\`\n`);
      const rows = [...(section.split("\n## ")[0] ?? "").matchAll(/^\| (`--.*) \|$/gm)].map(
        ([, cells = ""]) => cells.split(/ +\| +/).map((cell) => cell.replaceAll("\\", "").trim()),
      );
      expect(rows).toEqual(Object.entries(options).map(documented));
    },
  );
});

test("pages name no metric that does not exist", () => {
  const names: readonly string[] = Object.values(metricTable).map(({ name }) => name);
  const text = pages.map((name) => readFileSync(new URL(name, docs), "utf8")).join("\n");
  const named = [...text.matchAll(/\blatchkey_[a-z_]+/g)].map(([name]) => name);
  expect(named.filter((name) => !names.includes(name))).toEqual([]);
});

test("each reason is set somewhere in src", () => {
  const others = sourceFiles.filter(({ path }) => path !== "api/conditions.ts");
  expect(
    Object.keys(reasons).filter(
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
