import { loadAll } from "js-yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chartsOf } from "../../release/chart/charts.ts";
import { findKustomize } from "../../release/chart/kustomize.ts";
import type { Schema, Value } from "../../release/chart/value.ts";
import { isRecord, listAt, recordAt, stringsAt } from "../../src/api/parse.ts";
import { type Charts, ofEast, startCharts, withRenderer } from "../dedicated/chart-fixture.ts";

/** A line break and a list item, quotes of both kinds, a template, a comment, a tag and an alias. */
const allHostile = [
  "evil\n        - name: evil\n          image: evil",
  "evil\n---\nkind: Evil",
  `evil" 'evil {{ fail "evil" }} : # & * ! |`,
  `evil"\nkind: "Evil`,
  "evil: [",
];
/** All of them in one text. */
const [listItem = "", , quotes = ""] = allHostile;
const hostile = [...allHostile, quotes + listItem];
const harmless = "harmless";

const kustomize = await findKustomize(() => {});
/** What installs every process of a chart. */
const enabled: Readonly<Record<string, object>> = {
  latchkey: { gateway: { enabled: true }, serviceMonitor: { enabled: true } },
  "latchkey-connected": {
    directEndpoint: { enabled: true, ...ofEast },
    directAuthorizer: { enabled: true, ...ofEast },
    clusterAgent: { enabled: true },
  },
};
const rows = chartsOf(kustomize).flatMap(({ name, values }) =>
  values
    .filter(({ schema }) => takesText(schema))
    .map((value) => [name, value.name, value] as const),
);

describe("a hostile text in a value of a chart stays one text, or is refused", withRenderer, () => {
  let charts: Charts;
  beforeAll(async () => {
    charts = await startCharts();
  });
  afterAll(() => charts?.remove());

  /** The objects as shapes; the error of the schema, which names the field. */
  async function shapes(chart: string, value: Value, text: string): Promise<unknown> {
    const values = merged(enabled[chart] ?? {}, nested(value.name, filledWith(value.schema, text)));
    const { manifests, error } = await charts.render({ chart, values });
    if (error !== undefined) return error;
    return loadAll(manifests).map((manifest) => shapeOf(manifest, text));
  }

  test.each(rows)("%s: %s", async (chart, name, value) => {
    const expected = await shapes(chart, value, harmless);
    for (const text of hostile) {
      const found = await shapes(chart, value, text);
      const field = `at '/${name.split(".")[0]}`;
      const isRefused = typeof found === "string" && found.includes(field);
      expect(isRefused ? expected : found).toEqual(expected);
    }
  });

  test("the text arrives in most of the values", async () => {
    const [text = ""] = hostile;
    const found = await Promise.all(rows.map(([chart, , value]) => shapes(chart, value, text)));
    const arrived = found.filter((shape) => JSON.stringify(shape).includes(mark));
    expect(arrived.length).toBeGreaterThan(rows.length / 2);
  });
});

const mark = "<the text>";

/** An object with the text, wherever it is a part of a string or of a key, as a mark. */
function shapeOf(value: unknown, text: string): unknown {
  if (typeof value === "string") return value.replaceAll(text, mark);
  if (Array.isArray(value)) return value.map((item) => shapeOf(item, text));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.replaceAll(text, mark), shapeOf(inner, text)]),
  );
}

/** Whether a schema allows a text somewhere. */
function takesText(schema: Schema): boolean {
  return !["boolean", "integer"].includes(String(schema["type"]));
}

/** A value with the text in each place that a schema leaves to the user. */
function filledWith(schema: Schema, text: string): unknown {
  const { type, items, additionalProperties } = schema;
  if (type === "array") return [isRecord(items) ? filledWith(items, text) : text];
  if (type !== "object") return text;
  const properties = Object.entries(recordAt(schema, "properties"));
  const fixed = properties.filter(([, inner]) => isText(inner)).map(([field]) => [field, text]);
  if (additionalProperties === false) return Object.fromEntries(fixed);
  return { [text]: text, name: text, nested: isRecord(additionalProperties) ? text : [{ text }] };
}

function isText(schema: unknown): boolean {
  const types = [recordAt({ schema }, "schema")["type"], ...listAt(schema, "type")];
  return types.includes("string") || stringsAt(schema, "type").includes("string");
}

/** The values in which the field of a dotted name has this value. */
function nested(name: string, value: unknown): object {
  return name
    .split(".")
    .reduceRight<object>(
      (inner, step, at) => ({ [step]: at === lastOf(name) ? value : inner }),
      {},
    );
}

function lastOf(name: string): number {
  return name.split(".").length - 1;
}

function merged(one: object, other: object): object {
  const result: Record<string, unknown> = { ...one };
  for (const [field, value] of Object.entries(other))
    result[field] =
      isRecord(result[field]) && isRecord(value) ? merged(result[field], value) : value;
  return result;
}
