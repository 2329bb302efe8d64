import fc from "fast-check";
import { annotations, labels } from "../../src/api/names.ts";
import { schemaOf } from "../support/crd-schema.ts";
import { resources } from "../../src/api/resources.ts";
import { recordAt } from "../../src/api/parse.ts";
import { fieldsIn, type Place, rightValue, wrongValue } from "./walk-schema.ts";
import {
  annotationValues,
  labelValues,
  type Marks,
  objectNames,
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

/** The labels and annotations of a namespace for Latchkey. */
export interface NamespaceWants {
  readonly project: string | null;
  readonly sync: string | null;
  readonly syncFrom: string | null;
}

/** The namespaces of a walk; `home` is that of the SharedSecret. */
export type WalkNamespace = "home" | "web" | "pay";

/**
 * One action of a user. `put` creates the object as `by`, or replaces an existing one; a delete by
 * force first removes the finalizers, so that the object is removed before Latchkey has cleaned up.
 */
export type WalkAction =
  | {
      readonly do: "put";
      readonly object: Wanted;
      readonly by: string;
      readonly keepsFinalizers: boolean;
    }
  | { readonly do: "merge"; readonly body: unknown }
  | { readonly do: "delete"; readonly byForce: boolean }
  | { readonly do: "namespace"; readonly name: WalkNamespace; readonly wants: NamespaceWants }
  | { readonly do: "pass"; readonly seconds: number };

/** An action, and whether the controller becomes idle before the next one. */
export interface WalkStep {
  readonly action: WalkAction;
  readonly settled: boolean;
}

/** Steps with one object. */
export interface Walk {
  readonly kind: WalkKind;
  readonly name: string;
  readonly steps: readonly WalkStep[];
}

/**
 * Longer than one of the lifetimes of keys and tokens, and shorter than the time that they are kept
 * afterwards.
 */
const passSeconds = 2_000;

/** Walks with objects of one kind, generated from its schema, with at most this number of steps. */
export async function walksOf(
  kind: WalkKind,
  { maxSteps }: { readonly maxSteps: number },
): Promise<fc.Arbitrary<Walk>> {
  const { plural } = Object.values(resources).find((resource) => resource.kind === kind) ?? {
    plural: "",
  };
  const spec: Place = {
    schema: recordAt(recordAt(await schemaOf(plural), "properties"), "spec"),
    path: "spec",
    table: tables[kind],
  };
  const put = putOf(kind, spec);
  const actions = fc.oneof(
    { weight: 4, arbitrary: put },
    { weight: kind === "DirectClusterEndpointToken" ? 3 : 8, arbitrary: mergeOf(kind, spec) },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constant("delete" as const), byForce: fc.boolean() }),
    },
    ...(kind === "SharedSecret"
      ? [{ weight: 2, arbitrary: namespaceAction }]
      : [{ weight: 1, arbitrary: fc.constant<WalkAction>({ do: "pass", seconds: passSeconds }) }]),
  );
  const settled = fc.integer({ min: 0, max: 9 }).map((chance) => chance < 7);
  const step = (action: fc.Arbitrary<WalkAction>) => fc.record({ action, settled });
  return fc.record({
    kind: fc.constant(kind),
    // The result of a valid state is computed once for each name.
    name: fc.oneof(
      { weight: 2, arbitrary: fc.constant(objectNames[kind][0] ?? "one") },
      { weight: 1, arbitrary: fc.constantFrom(...objectNames[kind]) },
    ),
    steps: fc
      .tuple(
        step(put),
        fc.array(step(actions), { minLength: 1, maxLength: maxSteps - 1, size: "max" }),
      )
      .map(([first, rest]) => [first, ...rest]),
  });
}

function putOf(kind: WalkKind, spec: Place): fc.Arbitrary<WalkAction> {
  const object = fc.record(
    {
      spec: fc.oneof(
        { weight: 4, arbitrary: rightValue(spec) },
        { weight: 1, arbitrary: wrongValue(spec) },
      ),
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

function mergeOf(kind: WalkKind, spec: Place): fc.Arbitrary<WalkAction> {
  const annotated = entryOf(annotationValues[kind]).map((entry) => ({
    metadata: { annotations: entry },
  }));
  const labelled = entryOf(labelValues).map((entry) => ({ metadata: { labels: entry } }));
  const specified = fieldChange(spec).map((change) => ({ spec: change }));
  const body = fc.oneof(
    { weight: 6, arbitrary: specified },
    { weight: kind === "SharedSecret" ? 5 : 1, arbitrary: annotated },
    { weight: 1, arbitrary: labelled },
  );
  return fc.record({ do: fc.constant("merge" as const), body });
}

/** A merge patch of one field; null removes it. */
function fieldChange(place: Place): fc.Arbitrary<unknown> {
  const fields = fieldsIn(place);
  const changes = fields.map(([name, inner]) => {
    const whole = fc.oneof(
      { weight: 4, arbitrary: rightValue(inner) },
      { weight: 2, arbitrary: wrongValue(inner) },
      { weight: 1, arbitrary: fc.constant(null) },
    );
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
    fc
      .oneof({ weight: 4, arbitrary: markOf(marks) }, { weight: 1, arbitrary: fc.constant(null) })
      .map((value) => ({ [key]: value })),
  );
  return fc.oneof(...entries);
}

function markOf({ right, wrong = [] }: Marks): fc.Arbitrary<string> {
  const choices = [
    { weight: 3, values: right },
    { weight: 1, values: wrong },
  ].filter(({ values }) => values.length > 0);
  return fc.oneof(
    ...choices.map(({ weight, values }) => ({ weight, arbitrary: fc.constantFrom(...values) })),
  );
}

/** A change of the labels and annotations of a namespace. */
export const namespaceAction: fc.Arbitrary<Extract<WalkAction, { do: "namespace" }>> = fc.record({
  do: fc.constant("namespace" as const),
  name: fc.constantFrom<WalkNamespace[]>("home", "web", "pay"),
  wants: fc.record({
    project: fc.constantFrom("web", "pay-eu", "pay-us", null),
    sync: fc.constantFrom("enabled", "enabled", "enabled", "disabled", null),
    syncFrom: fc.constantFrom(
      "the-home",
      "elsewhere, the-home",
      "elsewhere",
      "",
      null,
      null,
      null,
      null,
    ),
  }),
});

/** Metadata of a namespace with these settings. */
export function namespaceMetadata({ project, sync, syncFrom }: NamespaceWants) {
  return {
    labels: { [labels.project]: project },
    annotations: { [annotations.sync]: sync, [annotations.syncFrom]: syncFrom },
  };
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
