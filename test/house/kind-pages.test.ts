import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { conditionTypes, reasons } from "../../src/api/conditions.ts";
import { fieldsOf, schemaOf } from "../support/crd-schema.ts";

const pages = [
  { page: "shared-secret.md", plural: "sharedsecrets" },
  { page: "owned-access-key.md", plural: "ownedaccesskeys" },
  { page: "direct-cluster-endpoint-token.md", plural: "directclusterendpointtokens" },
];

/** Field values that look like reasons. */
const values = ["Opaque", "User", "Management", "Cluster"];

describe.each(pages)("docs/$page", ({ page, plural }) => {
  test("explains every field, except those of conditions and of a scope that another page explains", async () => {
    const text = await read(page);
    const fields = fieldsOf(await schemaOf(plural))
      .map(({ path }) => path)
      .filter((path) => /^(spec|status)\./.test(path));
    const elsewhere = ["spec.scope.", "status.conditions[]."];
    const own = fields.filter((path) => !elsewhere.some((prefix) => path.startsWith(prefix)));
    expect(own.filter((path) => !text.includes(`\n| \`${path}\` | `))).toEqual([]);
  });

  test("names no condition, reason or field that does not exist", async () => {
    const text = await read(page);
    const known = [...Object.keys(conditionTypes), ...Object.keys(reasons), ...values];
    const fields = fieldsOf(await schemaOf(plural)).map(({ path }) => path);
    expect(wordsOf(text, /`((?:[A-Z][a-z]+)+)`/g).filter((word) => !known.includes(word))).toEqual(
      [],
    );
    expect(
      wordsOf(text, /\| `((?:spec|status)\.[^`]+)` \|/g).filter((path) => !fields.includes(path)),
    ).toEqual([]);
  });
});

test("docs/scope.md explains every field of a scope, and no other", async () => {
  const text = await read("scope.md");
  const fieldsIn = (head: string, prefix: string): readonly string[] => {
    const [, rows = ""] = text.split(`\n| ${head} | covers |\n`);
    return wordsOf(rows.split("\n\n")[0] ?? "", /^\| `([^`]+)` \|/gm).flatMap((field) => {
      const [name = "", inner = ""] = field.split(": ");
      const nested = wordsOf(inner, /(\w+)/g).map((own) => `${prefix}${name}[].${own}`);
      return [prefix + name, ...nested];
    });
  };
  const fields = fieldsOf(await schemaOf("ownedaccesskeys"))
    .map(({ path }) => path)
    .filter((path) => path.startsWith("spec.scope."));
  expect(
    [
      ...fieldsIn("entry of `spec.scope`", "spec.scope."),
      ...fieldsIn("field of a rule", "spec.scope.rules[]."),
    ].toSorted(),
  ).toEqual(fields.toSorted());
});

async function read(page: string): Promise<string> {
  const text = await readFile(new URL(`../../docs/${page}`, import.meta.url), "utf8");
  // The formatter aligns the columns of tables.
  return text.replaceAll(/ +\|/g, " |");
}

function wordsOf(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? "");
}
