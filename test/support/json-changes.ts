import fc from "fast-check";
import { isRecord } from "../../src/api/parse.ts";
import { changedTexts } from "./changed-texts.ts";

type Path = readonly (string | number)[];

/** One change of a JSON document: undefined before or after it stands for no value. */
interface JsonChange {
  /** Its place, without the numbers of list items: `validations.*.message`. */
  readonly place: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly changed: unknown;
}

/**
 * Documents in which one value is added, removed or changed, at any place; `words` are field names
 * and values that mean something there.
 */
export function jsonChanges(
  document: object,
  words: { readonly names: readonly string[]; readonly values: readonly unknown[] },
): fc.Arbitrary<JsonChange> {
  const name = fc.oneof(fc.constantFrom(...words.names), fc.string());
  const value = fc.oneof(fc.constantFrom(...words.values), fc.jsonValue({ maxDepth: 3 }));
  const added = (path: Path, container: unknown): fc.Arbitrary<Path> =>
    Array.isArray(container)
      ? fc.nat({ max: container.length }).map((at) => [...path, at])
      : name.filter((field) => !Object.hasOwn(Object(container), field)).map((at) => [...path, at]);
  const changesOf = ([path, before]: readonly [Path, unknown]): fc.Arbitrary<JsonChange>[] => {
    const changed =
      typeof before === "string" && before !== "" ? fc.oneof(changedTexts(before), value) : value;
    const of = (at: Path, after: unknown): JsonChange => changeOf(document, at, before, after);
    return [
      ...(path.length === 0 ? [] : [fc.constant(of(path, undefined))]),
      ...(path.length === 0 ? [] : [changed.map((after) => of(path, after))]),
      ...(typeof before === "object" && before !== null
        ? [
            fc
              .tuple(added(path, before), value)
              .map(([at, after]) => changeOf(document, at, undefined, after)),
          ]
        : []),
    ];
  };
  return fc
    .oneof(...placesIn(document).flatMap(changesOf))
    .filter(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after));
}

function placesIn(value: unknown, path: Path = []): readonly (readonly [Path, unknown])[] {
  const inner: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? value.map((item, at) => [at, item])
    : Object.entries(isRecord(value) ? value : {});
  return [[path, value], ...inner.flatMap(([at, item]) => placesIn(item, [...path, at]))];
}

function changeOf(document: object, path: Path, before: unknown, after: unknown): JsonChange {
  const changed = structuredClone(document);
  const last = path.at(-1) ?? "";
  const container: Record<string | number, unknown> = path
    .slice(0, -1)
    .reduce((inner: Record<string | number, unknown>, at) => Object(inner[at]), Object(changed));
  if (Array.isArray(container))
    container.splice(
      Number(last),
      before === undefined ? 0 : 1,
      ...(after === undefined ? [] : [after]),
    );
  else if (after === undefined) delete container[last];
  // An assignment would call the setter of __proto__.
  else
    Object.defineProperty(container, last, {
      value: after,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  const place = path.map((at) => (typeof at === "number" ? "*" : at)).join(".");
  return { place, before, after, changed };
}
