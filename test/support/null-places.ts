import { isRecord, recordAt, stringAt, listAt } from "../../src/api/parse.ts";

/** Where a value is in an object: names of fields, and numbers of entries. */
export type Place = readonly (string | number)[];

/** A place as the API server writes it: `spec.scope.rules[0].verbs`. */
export function pathOf(place: Place): string {
  return place
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`))
    .join("")
    .slice(1);
}

/** The places of all values that a schema describes, with one entry of each list and map. */
export function placesOf(schema: unknown, at: Place = []): readonly Place[] {
  const steps: readonly (readonly [string | number, unknown])[] = [
    ...Object.entries(recordAt(schema, "properties")),
    ...("items" in record(schema) ? [[0, record(schema)["items"]] as const] : []),
    ...("additionalProperties" in record(schema)
      ? [["x", record(schema)["additionalProperties"]] as const]
      : []),
  ];
  return steps.flatMap(([step, inner]) => [[...at, step], ...placesOf(inner, [...at, step])]);
}

/** A value that fits a schema, with every field, and one entry in each list and map. */
export function sampleOf(schema: unknown): unknown {
  const given = record(schema);
  if (stringAt(given, "format") === "date-time") return "2026-01-01T00:00:00Z";
  if ("items" in given) return [sampleOf(given["items"])];
  if ("additionalProperties" in given) return { x: "" };
  switch (given["type"]) {
    case "object":
      return Object.fromEntries(
        Object.entries(recordAt(given, "properties")).map(([name, inner]) => [
          name,
          sampleOf(inner),
        ]),
      );
    case "integer":
      return 60;
    case "boolean":
      return true;
    default:
      return listAt(given, "enum")[0] ?? "x";
  }
}

/** A copy of a value with another at a place; `undefined` leaves it out, and parents are made. */
export function withValue(value: unknown, [step, ...rest]: Place, leaf: unknown): unknown {
  if (step === undefined) return leaf;
  if (typeof step === "number") {
    const list: readonly unknown[] = Array.isArray(value) ? value : [];
    const inner = withValue(list[step], rest, leaf);
    return inner === undefined ? list.toSpliced(step, 1) : list.toSpliced(step, 1, inner);
  }
  const { [step]: former, ...others } = record(value);
  const inner = withValue(former, rest, leaf);
  return inner === undefined ? others : { ...others, [step]: inner };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}
