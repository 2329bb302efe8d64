import { expect, test } from "vitest";
import { type Value, valuesFile, valuesPage, valuesSchema } from "../../release/chart/value.ts";

const values: readonly Value[] = [
  { name: "a.replicas", initial: 2, schema: { type: "integer" }, help: "Number of pods" },
  { name: "a.image.tag", initial: "", schema: { type: "string" }, help: "Tag of the image" },
  { name: "b.replicas", initial: 2, schema: { type: "integer" }, help: "Number of pods" },
];

test("values.yaml has each value below its description", () => {
  expect(valuesFile(values)).toBe(`\
a:
  # Number of pods.
  replicas: 2
  image:
    # Tag of the image.
    tag: ''
b:
  # Number of pods.
  replicas: 2
`);
});

test("the schema has no other fields, but for global at the top", () => {
  const replicas = { type: "integer", description: "Number of pods" };
  const tag = { type: "string", description: "Tag of the image" };
  const object = (properties: object) => ({
    type: "object",
    additionalProperties: false,
    properties,
  });
  expect(valuesSchema(values, [])).toEqual({
    $schema: "http://json-schema.org/draft-07/schema#",
    ...object({
      a: object({ replicas, image: object({ tag }) }),
      b: object({ replicas }),
      global: { type: "object" },
    }),
  });
});

test("the page has one row for values that differ only in their process", () => {
  const rows = valuesPage([{ name: "c", values }]).match(/^\| `.*$/gm);
  expect(rows).toEqual([
    "| `a.replicas`, `b.replicas` | `2` | Number of pods |",
    "| `a.image.tag` |  | Tag of the image |",
  ]);
});
