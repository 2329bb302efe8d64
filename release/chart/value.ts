import { dump } from "js-yaml";
import { isRecord } from "../../src/api/parse.ts";
import type { Hole } from "./template.ts";

/** A JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>;

/** A value of a chart: what it is, and what it changes. */
export interface Value {
  /** Its path in values.yaml, with dots. */
  readonly name: string;
  readonly initial: unknown;
  readonly schema: Schema;
  /** A sentence without a dot at the end, in Markdown. */
  readonly help: string;
  /** The places that it decides, by kind and name of the object; VALUE in them is its expression. */
  readonly holes?: Readonly<Record<string, readonly Hole[]>>;
}

interface Group extends Map<string, Value | Group> {}

/** `values.yaml`: every value with its default, below a comment. */
export function valuesFile(values: readonly Value[]): string {
  return linesOf(groupOf(values)).join("\n") + "\n";
}

/**
 * `values.schema.json`. No object has other fields than those of the table; `global` is what Helm
 * itself adds to the values of a chart that is part of another one.
 */
export function valuesSchema(values: readonly Value[], requirements: readonly Schema[]): Schema {
  const { properties, ...rest } = schemaOf(groupOf(values));
  return {
    $schema: "http://json-schema.org/draft-07/schema#",
    ...rest,
    properties: { ...(isRecord(properties) ? properties : {}), global: { type: "object" } },
    ...(requirements.length > 0 && { allOf: requirements }),
  };
}

/** docs/chart-values.md: a table of the values of each chart. */
export function valuesPage(
  charts: readonly { readonly name: string; readonly values: readonly Value[] }[],
): string {
  const tables = charts.map(
    ({ name, values }) =>
      `## Chart ${name}\n\n| value | default | meaning |\n| --- | --- | --- |\n${rowsOf(values).join("\n")}\n`,
  );
  return `# Values of the Helm charts

A chart refuses values that are not in its table, and [options](options.md) that its process does
not have. \`npm run chart -- --values\` prints this page.

${tables.join("\n")}`;
}

/** One row for values that differ only in the process that they belong to. */
function rowsOf(values: readonly Value[]): readonly string[] {
  const alike = Map.groupBy(values, ({ name, initial, help }) =>
    JSON.stringify([name.replace(/^[^.]+/, ""), initial, help]),
  );
  return [...alike.values()].map((rows) => {
    const names = rows.map(({ name }) => `\`${name}\``);
    const { initial, help } = rows[0] ?? { initial: "", help: "" };
    const shown = initial === "" ? "" : `\`${JSON.stringify(initial)}\``;
    return `| ${names.join(", ")} | ${shown} | ${help.replaceAll("|", "\\|")} |`;
  });
}

function groupOf(values: readonly Value[]): Group {
  const root: Group = new Map();
  for (const value of values) {
    const steps = value.name.split(".");
    const last = steps.pop() ?? "";
    const group = steps.reduce((at, step) => {
      const found = at.get(step);
      if (found instanceof Map) return found;
      const made: Group = new Map();
      at.set(step, made);
      return made;
    }, root);
    group.set(last, value);
  }
  return root;
}

function linesOf(group: Group): readonly string[] {
  return [...group].flatMap(([name, found]) =>
    found instanceof Map
      ? [`${name}:`, ...linesOf(found).map((line) => `  ${line}`)]
      : [
          ...wrapped(`${found.help}.`).map((line) => `# ${line}`),
          ...dump({ [name]: found.initial }, { lineWidth: -1, noRefs: true })
            .trimEnd()
            .split("\n"),
        ],
  );
}

function wrapped(text: string): readonly string[] {
  return text.match(/.{1,90}(?: |$)/g)?.map((line) => line.trimEnd()) ?? [];
}

function schemaOf(group: Group): Schema {
  const properties = [...group].map(([name, found]) => [
    name,
    found instanceof Map ? schemaOf(found) : { description: found.help, ...found.schema },
  ]);
  return {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(properties),
  };
}
