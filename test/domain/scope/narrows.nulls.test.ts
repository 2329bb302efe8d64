import { describe, expect, test } from "vitest";
import { recordAt } from "../../../src/api/parse.ts";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { narrows } from "../../../src/domain/scope/narrows.ts";
import { schemaOf } from "../../support/crd-schema.ts";
import { pathOf, type Place, placesOf, sampleOf, withValue } from "../../support/null-places.ts";

type Fields = Readonly<Record<string, unknown>>;

const inside = (value: Fields, ...fields: readonly string[]): Fields =>
  fields.reduce(recordAt, value);

/** Names of entries: an empty one selects nothing, so an entry without it covers nothing. */
const names =
  /^(?:roles|projects|spaces|virtualClusters|clusters)\[0\]\.(?:role|project|space|virtualCluster|cluster)$/;

describe.each(["ownedaccesskeys", "directclusterendpointtokens"])(
  "the scope of %s",
  async (plural) => {
    const schema = inside(await schemaOf(plural), "properties", "spec", "properties", "scope");
    const whole = recordAt({ sample: sampleOf(schema) }, "sample");

    /** Scopes with a value at a place: beside all others, beside those of its list, and alone. */
    const scopesWith = (place: Place): readonly unknown[] => {
      const list = String(place[0]);
      const leaf = place.reduce((at, step) => Reflect.get(Object(at), step), whole as unknown);
      return [whole, { [list]: whole[list] }, withValue({}, place, leaf)];
    };
    const isNullable = (place: Place): boolean =>
      place.reduce(
        (at, step) => (step === 0 ? inside(at, "items") : inside(at, "properties", String(step))),
        schema,
      )["nullable"] === true;
    const fields = placesOf(schema).filter((place) => typeof place.at(-1) === "string");

    test.each(fields.map((place) => [pathOf(place), place] as const))(
      "takes null in %s for its absence only if it allows no more without it",
      (path, place) => {
        const allowsMore = scopesWith(place).some(
          (scope) =>
            !narrows(
              parseScopeLimit(withValue(scope, place, undefined)),
              parseScopeLimit(scope),
              () => false,
            ),
        );
        expect(isNullable(place)).toBe(allowsMore && !names.test(path));
      },
    );
  },
);
