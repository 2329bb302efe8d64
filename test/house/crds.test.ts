import { describe, expect, test } from "vitest";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { type Field, fieldsOf, plurals, schemaOf, versionOf } from "../support/crd-schema.ts";

describe("the CustomResourceDefinitions", () => {
  test.each(plurals)("every field of %s has a description", async (plural) => {
    const undescribed = fieldsOf(await schemaOf(plural)).filter(
      ({ schema }) => stringAt(schema, "description") === undefined,
    );
    expect(undescribed.map(({ path }) => path)).toEqual(["metadata"]);
  });

  test.each(plurals)("no column of %s shows a field that holds a secret", async (plural) => {
    const secret = fieldsOf(await schemaOf(plural)).filter(
      ({ schema }) => secretsIn(schema).length > 0,
    );
    const shown = listAt(await versionOf(plural), "additionalPrinterColumns").map((column) =>
      stringAt(column, "jsonPath"),
    );
    expect(secret).not.toEqual([]);
    expect(
      secret.filter(({ path }) => shown.some((jsonPath) => jsonPath?.startsWith(`.${path}`))),
    ).toEqual([]);
  });

  test.each(plurals)(
    "no rule or pattern is on a secret field of %s, because the API server would print its value",
    async (plural) => {
      const secret = fieldsOf(await schemaOf(plural)).flatMap(({ schema }) => secretsIn(schema));
      const printing = ["pattern", "enum", "minLength", "x-kubernetes-validations"];
      expect(secret.filter((schema) => printing.some((check) => check in schema))).toEqual([]);
    },
  );

  test.each(plurals)(
    "every string with a format in the spec of %s rejects a list, which the API server would accept",
    async (plural) => {
      const texts = fieldsOf(recordAt(propertiesOf(await schemaOf(plural)), "spec")).flatMap(
        ({ schema }) => textsWithFormat(schema),
      );
      const bounded = texts.filter((schema) =>
        [schema, notNot(schema)].some(
          (place) => place["minItems"] === 1 && place["maxItems"] === 0,
        ),
      );
      expect(texts.filter((schema) => !bounded.includes(schema))).toEqual([]);
    },
  );

  test("a key and a token have the same scope schema, except for its description", async () => {
    const [key, token] = await Promise.all(
      ["ownedaccesskeys", "directclusterendpointtokens"].map(scopeOf),
    );
    expect({ ...key, description: "" }).toEqual({ ...token, description: "" });
  });

  test("all three kinds have the same conditions", async () => {
    const [first, ...others] = await Promise.all(plurals.map(conditionsOf));
    expect(others).toEqual([first, first]);
  });
});

async function scopeOf(plural: string) {
  return recordAt(propertiesOf(recordAt(propertiesOf(await schemaOf(plural)), "spec")), "scope");
}

async function conditionsOf(plural: string) {
  return recordAt(
    propertiesOf(recordAt(propertiesOf(await schemaOf(plural)), "status")),
    "conditions",
  );
}

function propertiesOf(schema: unknown) {
  return recordAt(schema, "properties");
}

/** The field itself or the values of a map, if they are secret. */
function secretsIn(schema: Field["schema"]): readonly Field["schema"][] {
  return textsWithFormat(schema).filter((place) => stringAt(place, "format") === "password");
}

/** The field itself or the values of a map, if they are strings with a format. */
function textsWithFormat(schema: Field["schema"]): readonly Field["schema"][] {
  return [schema, recordAt(schema, "additionalProperties")].filter(
    (place) => stringAt(place, "type") === "string" && "format" in place,
  );
}

function notNot(schema: Field["schema"]): Field["schema"] {
  return recordAt(recordAt(schema, "not"), "not");
}
