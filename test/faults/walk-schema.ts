import fc from "fast-check";
import { isRecord, listAt, numberAt, recordAt, stringsAt } from "../../src/api/parse.ts";
import { weighted } from "../support/weighted.ts";

/**
 * Special values of a field in addition to its schema: `wrong` values are rejected by the API
 * server, or reported as invalid by the controller.
 */
export interface Interesting {
  readonly right?: readonly unknown[];
  readonly wrong?: readonly unknown[];
  /** Whether other valid values make no sense. */
  readonly only?: boolean;
  /** Mutually exclusive fields of an object. */
  readonly oneOf?: readonly string[];
}

/**
 * Special values by path, such as `spec.access[].verbs[]`; `spec.data.*` are the values of a map.
 */
export type Table = Readonly<Record<string, Interesting>>;

/** A part of an OpenAPI schema, and its path. */
export interface Place {
  readonly schema: unknown;
  readonly path: string;
  readonly table: Table;
}

type Value = fc.Arbitrary<unknown>;

/** Values that the schema allows, without regard to its CEL rules. */
export function rightValue(place: Place): Value {
  const { right, only = false } = place.table[place.path] ?? {};
  const bySchema = fromSchema(place);
  if (right === undefined || right.length === 0) return bySchema;
  return only ? fc.constantFrom(...right) : weighted([6, fc.constantFrom(...right)], [1, bySchema]);
}

/** Values with one invalid part: of another type, out of bounds, or known to be invalid. */
export function wrongValue(place: Place): Value {
  const known = place.table[place.path]?.wrong ?? [];
  return weighted<unknown[]>(
    ...(known.length === 0 ? [] : [[4, fc.constantFrom(...known)] as const]),
    ...wrongInside(place),
    ...outOfBounds(place).map((value) => [2, value] as const),
    [1, otherType(place)],
  );
}

/** The fields of an object, with their own schemas. */
export function fieldsIn({ schema, path, table }: Place): readonly (readonly [string, Place])[] {
  return Object.entries(recordAt(schema, "properties")).map(([name, inner]) => [
    name,
    { schema: inner, path: `${path}.${name}`, table },
  ]);
}

function fromSchema(place: Place): Value {
  const { schema } = place;
  const choices = listAt(schema, "enum");
  if (choices.length > 0) return fc.constantFrom(...choices);
  switch (typeOf(schema)) {
    case "object":
      return objects(place);
    case "array":
      return lists(place);
    case "integer":
      return fc.integer({
        min: numberAt(schema, "minimum") ?? -1_000,
        max: numberAt(schema, "maximum") ?? 1_000,
      });
    case "boolean":
      return fc.boolean();
    default:
      return fc.oneof(fc.string({ maxLength: 12 }), fc.string({ unit: "grapheme", maxLength: 6 }));
  }
}

function objects(place: Place): Value {
  const values = valuesIn(place);
  if (values !== undefined) return fc.dictionary(keysOf(place), rightValue(values), { maxKeys: 3 });
  const all = fc.record(
    Object.fromEntries(fieldsIn(place).map(([name, inner]) => [name, rightValue(inner)])),
    { requiredKeys: [] },
  );
  const { oneOf = [] } = place.table[place.path] ?? {};
  const chosen = (given: object, kept: string) =>
    Object.entries(given).filter(([name]) => name === kept || !oneOf.includes(name));
  const fields =
    oneOf.length === 0
      ? all
      : fc
          .tuple(all, fc.constantFrom(...oneOf))
          .map(([given, kept]) => Object.fromEntries(chosen(given, kept)));
  if (!isRecord(place.schema) || place.schema["x-kubernetes-preserve-unknown-fields"] !== true)
    return fields;
  const unknownKeys = fc.constantFrom("extra", "other");
  const unknowns = fc.dictionary(unknownKeys, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 });
  return merged(unknowns, fields);
}

function lists(place: Place): Value {
  const item = rightValue(itemsOf(place));
  const most = numberAt(place.schema, "maxItems") ?? 0;
  const few = fc.array(item, { maxLength: 3 });
  return most > 300 || most === 0
    ? few
    : weighted([30, few], [1, item.map((one) => Array<unknown>(most).fill(one))]);
}

/** Each field below is equally likely to be the invalid one. */
function wrongInside(place: Place): readonly (readonly [weight: number, value: Value])[] {
  const weight = 2 * leavesBelow(place);
  const values = valuesIn(place);
  if (values !== undefined) {
    const wrong = fc.tuple(keysOf(place), wrongValue(values));
    const entry = wrong.map(([key, value]) => ({ [key]: value }));
    return [[weight, merged(objects(place), entry)]];
  }
  switch (typeOf(place.schema)) {
    case "object":
      return fieldsIn(place).map(([name, inner]) => {
        const wrong = wrongValue(inner).map((value) => ({ [name]: value }));
        return [2 * leavesBelow(inner), merged(objects(place), wrong)];
      });
    case "array": {
      const right = fc.array(rightValue(itemsOf(place)), { maxLength: 2 });
      const items = fc.tuple(right, wrongValue(itemsOf(place)), fc.nat(2));
      return [[weight, items.map(([list, wrong, at]) => list.toSpliced(at, 0, wrong))]];
    }
    default:
      return [];
  }
}

function leavesBelow(place: Place): number {
  if (typeOf(place.schema) === "array") return 1 + leavesBelow(itemsOf(place));
  return fieldsIn(place).reduce((sum, [, inner]) => sum + leavesBelow(inner), 1);
}

function outOfBounds(place: Place): readonly Value[] {
  const { schema } = place;
  const [least, most, longest, mostItems] = ["minimum", "maximum", "maxLength", "maxItems"].map(
    (bound) => numberAt(schema, bound),
  );
  return [
    ...(least === undefined ? [] : [fc.constant(least - 1)]),
    ...(most === undefined ? [] : [fc.constant(most + 1)]),
    ...(longest === undefined ? [] : [fc.constant("x".repeat(longest + 1))]),
    ...(mostItems === undefined || typeOf(schema) !== "array"
      ? []
      : [rightValue(itemsOf(place)).map((one) => Array<unknown>(mostItems + 1).fill(one))]),
  ];
}

function otherType({ schema }: Place): Value {
  const values: readonly (readonly [string, unknown])[] = [
    ["string", "text"],
    ["integer", 7],
    ["boolean", true],
    ["array", [1]],
    ["array", []],
    ["object", { unknown: 1 }],
    ["object", {}],
    ["number", 0.5],
    ["null", null],
  ];
  return fc.constantFrom(
    ...values.filter(([type]) => type !== typeOf(schema)).map(([, value]) => value),
  );
}

function merged(base: Value, over: Value): Value {
  return fc
    .tuple(base, over)
    .map(([one, other]) => ({ ...(isRecord(one) ? one : {}), ...(isRecord(other) ? other : {}) }));
}

function keysOf({ path, table }: Place): fc.Arbitrary<string> {
  const known = stringsAt({ keys: table[`${path} keys`]?.right }, "keys");
  return known.length === 0 ? fc.string({ maxLength: 8 }) : fc.constantFrom(...known);
}

function itemsOf({ schema, path, table }: Place): Place {
  return { schema: recordAt(schema, "items"), path: `${path}[]`, table };
}

function valuesIn({ schema, path, table }: Place): Place | undefined {
  const inner = isRecord(schema) ? schema.additionalProperties : undefined;
  return isRecord(inner) ? { schema: inner, path: `${path}.*`, table } : undefined;
}

function typeOf(schema: unknown): unknown {
  return isRecord(schema) ? schema.type : undefined;
}
