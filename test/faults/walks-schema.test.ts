import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isRecord, recordAt } from "../../src/api/parse.ts";
import { type Field, fieldsOf, schemaOf } from "../support/crd-schema.ts";
import { walksOf } from "./walk.ts";
import { objectSteps } from "./walk-object-steps.ts";
import { pluralOf, tables, walkKinds, type WalkKind } from "./walk-values.ts";

const sampled = { seed: 1, numRuns: 4_000 };

/** Fields of the spec, including those inside lists. */
async function specFields(kind: WalkKind): Promise<readonly Field[]> {
  const schema = await schemaOf(pluralOf[kind]);
  return fieldsOf(recordAt(recordAt(schema, "properties"), "spec"), "spec.");
}

const fewSteps = async (kind: WalkKind) => walksOf({ ...(await objectSteps(kind)), maxSteps: 4 });

/** Types of the values that walks write into a spec: `string spec.user`. */
async function writtenBy(kind: WalkKind): Promise<ReadonlySet<string>> {
  const written = new Set<string>();
  for (const { steps } of fc.sample(await fewSteps(kind), sampled)) {
    for (const { action } of steps) {
      if (action.do === "put") note("spec", action.object.spec, written);
      if (action.do === "merge" && isRecord(action.body)) note("spec", action.body.spec, written);
    }
  }
  return written;
}

function note(path: string, value: unknown, written: Set<string>): void {
  if (value === undefined) return;
  written.add(`${typeOf(value)} ${path}`);
  if (Array.isArray(value)) for (const item of value.slice(0, 5)) note(`${path}[]`, item, written);
  if (isRecord(value))
    for (const [field, inner] of Object.entries(value)) note(`${path}.${field}`, inner, written);
}

const types = ["string", "integer", "boolean", "array", "object", "other"] as const;

function typeOf(value: unknown): (typeof types)[number] {
  if (Array.isArray(value)) return "array";
  if (Number.isInteger(value)) return "integer";
  return types.find((type) => type === typeof value && value !== null) ?? "other";
}

describe.each(walkKinds)("walks of %s", (kind) => {
  it("write valid and invalid values of every field of the schema", async () => {
    const written = await writtenBy(kind);
    const unwritten = (await specFields(kind)).flatMap(({ path, schema }) => {
      const isWrong = types.some((type) => type !== schema.type && written.has(`${type} ${path}`));
      return [
        ...(written.has(`${String(schema.type)} ${path}`) ? [] : [`${path} is never right`]),
        ...(isWrong ? [] : [`${path} is never wrong`]),
      ];
    });
    expect(unwritten).toEqual([]);
  });

  it("have special values only for fields that exist", async () => {
    const paths = (await specFields(kind)).map(({ path }) => path);
    const fieldOf = (path: string) => path.replace(/(?:\[\]|\.\*| keys)$/, "");
    expect(
      Object.keys(tables[kind]).filter((path) => path !== "spec" && !paths.includes(fieldOf(path))),
    ).toEqual([]);
  });

  it("are the same for the same seed", async () => {
    const arbitrary = await fewSteps(kind);
    const draw = () => fc.sample(arbitrary, { seed: 7, numRuns: 20 });
    expect(draw()).toEqual(draw());
  });
});
