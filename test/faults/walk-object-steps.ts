import fc from "fast-check";
import { recordAt } from "../../src/api/parse.ts";
import { schemaOf } from "../support/crd-schema.ts";
import { weighted } from "../support/weighted.ts";
import { stepOf, type WalkSteps } from "./walk.ts";
import { type NamespaceAction, namespaceAction } from "./walk-namespaces.ts";
import { fieldsIn, type Place, rightValue, wrongValue } from "./walk-schema.ts";
import {
  annotationValues,
  labelValues,
  type Marks,
  objectNames,
  pluralOf,
  requesterNames,
  tables,
  type WalkKind,
} from "./walk-values.ts";

/** The part of an object that a user writes; without a spec if it is undefined. */
export interface Wanted {
  readonly spec?: unknown;
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * One action of a user. `put` creates the object as `by`, or replaces an existing one; a delete by
 * force first removes the finalizers, so that the object is removed before Latchkey has cleaned up.
 */
export type ObjectAction =
  | {
      readonly do: "put";
      readonly object: Wanted;
      readonly by: string;
      readonly keepsFinalizers: boolean;
    }
  | { readonly do: "merge"; readonly body: unknown }
  | { readonly do: "delete"; readonly byForce: boolean }
  | { readonly do: "pass"; readonly seconds: number }
  | NamespaceAction;

/**
 * Longer than one of the lifetimes of keys and tokens, and shorter than the time that they are kept
 * afterwards.
 */
const passSeconds = 2_000;

/** Steps with one object of a kind; its actions are generated from its schema. */
export async function objectSteps(kind: WalkKind): Promise<WalkSteps<ObjectAction>> {
  const schema = recordAt(recordAt(await schemaOf(pluralOf[kind]), "properties"), "spec");
  const spec: Place = { schema, path: "spec", table: tables[kind] };
  const put = putOf(kind, spec);
  const [name = "one"] = objectNames[kind];
  return {
    // The result of a valid state is computed once for each name.
    names: weighted([2, fc.constant(name)], [1, fc.constantFrom(...objectNames[kind])]),
    opening: fc.tuple(stepOf(put)),
    actions: weighted<ObjectAction[]>(
      [4, put],
      [kind === "DirectClusterEndpointToken" ? 3 : 8, mergeOf(kind, spec)],
      [2, fc.record({ do: fc.constant("delete" as const), byForce: fc.boolean() })],
      kind === "SharedSecret"
        ? [2, namespaceAction]
        : [1, fc.constant({ do: "pass" as const, seconds: passSeconds })],
    ),
    maxSteps: 9,
  };
}

function putOf(kind: WalkKind, spec: Place): fc.Arbitrary<ObjectAction> {
  const object = fc.record(
    {
      spec: weighted([4, rightValue(spec)], [1, wrongValue(spec)]),
      annotations: someOf(annotationValues[kind]),
      labels: someOf(labelValues),
    },
    { requiredKeys: ["annotations", "labels"] },
  );
  return fc.record({
    do: fc.constant("put" as const),
    object,
    by: fc.constantFrom(...requesterNames),
    keepsFinalizers: fc.integer({ min: 0, max: 3 }).map((chance) => chance > 0),
  });
}

function mergeOf(kind: WalkKind, spec: Place): fc.Arbitrary<ObjectAction> {
  const annotated = entryOf(annotationValues[kind]).map((entry) => ({
    metadata: { annotations: entry },
  }));
  const labelled = entryOf(labelValues).map((entry) => ({ metadata: { labels: entry } }));
  const specified = fieldChange(spec).map((change) => ({ spec: change }));
  const body = weighted(
    [6, specified],
    [kind === "SharedSecret" ? 5 : 1, annotated],
    [1, labelled],
  );
  return fc.record({ do: fc.constant("merge" as const), body });
}

/** A merge patch of one field; null removes it. */
function fieldChange(place: Place): fc.Arbitrary<unknown> {
  const changes = fieldsIn(place).map(([name, inner]) => {
    const whole = weighted([4, rightValue(inner)], [2, wrongValue(inner)], [1, fc.constant(null)]);
    return (fieldsIn(inner).length === 0 ? whole : fc.oneof(whole, fieldChange(inner))).map(
      (value) => ({ [name]: value }),
    );
  });
  return fc.oneof(...changes);
}

function entryOf(
  values: Readonly<Record<string, Marks>>,
): fc.Arbitrary<Readonly<Record<string, string | null>>> {
  const entries = Object.entries(values).map(([key, marks]) =>
    weighted([4, markOf(marks)], [1, fc.constant(null)]).map((value) => ({ [key]: value })),
  );
  return fc.oneof(...entries);
}

function markOf({ right, wrong = [] }: Marks): fc.Arbitrary<string> {
  const choices = [[3, right] as const, [1, wrong] as const];
  return weighted(
    ...choices
      .filter(([, values]) => values.length > 0)
      .map(([weight, values]) => [weight, fc.constantFrom(...values)] as const),
  );
}

function someOf(
  values: Readonly<Record<string, Marks>>,
): fc.Arbitrary<Readonly<Record<string, string>>> {
  const entries = Object.entries(values).map(([key, marks]) =>
    fc
      .tuple(fc.integer({ min: 0, max: 9 }), markOf(marks))
      .map(([chance, value]) => (chance < marks.often ? [[key, value] as const] : [])),
  );
  return fc.tuple(...entries).map((chosen) => Object.fromEntries(chosen.flat()));
}
