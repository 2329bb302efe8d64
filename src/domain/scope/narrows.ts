import type { Scope, ScopeLimit, ScopeRule } from "../../api/scope.ts";
import { couldEscape, isImpersonation, isSecrets } from "./derived-credentials.ts";
import type { Dimension, EntryKind } from "./dimension.ts";
import { entryKinds } from "./entry-kinds.ts";
import { NameSets } from "./patterns.ts";
import { ruleKind } from "./rule-kind.ts";

/**
 * Whether `parent` allows everything that `child` allows, regardless of the rules of the roles that
 * they name: each entry of the child must be within one entry of the parent. It is conservative: it
 * accepts no wider scope, and rejects some narrower ones. `isGuarded` tells in which namespaces the
 * parent covers only what it lists by name.
 */
export function narrows(
  child: ScopeLimit,
  parent: ScopeLimit,
  isGuarded: (namespace: string) => boolean,
): boolean {
  if (parent === "none" || child === "unreadable") return true;
  if (parent === "unreadable" || child === "none") return false;
  const sets = new NameSets();
  const isOpen = parent.rules.some(restrictsNothing) && parent.rules.some(coversAllSecrets);
  return entryKinds.every((of) =>
    of((kind) => {
      if (kind.list !== "rules") return isOpen || placesNarrow(kind, { child, parent }, sets);
      return child.rules.every((rule) =>
        parent.rules.some(
          (other) =>
            ruleKind.dimensions.every((dimension) => dimension.narrows(rule, other, sets)) &&
            namedOnesNarrow(rule, other, isGuarded),
        ),
      );
    }),
  );
}

function placesNarrow<Entry>(
  { entriesOf, dimensions, projectsOf }: EntryKind<Entry>,
  { child, parent }: { readonly child: Scope; readonly parent: Scope },
  sets: NameSets,
): boolean {
  const wider = new EntryIndex(dimensions, entriesOf(parent));
  return entriesOf(child).every(
    (entry) =>
      sets.areSelected(projectsOf?.(entry) ?? [], parent.projects) ||
      wider
        .candidates(entry)
        .some((other) => dimensions.every(({ narrows: isIn }) => isIn(entry, other, sets))),
  );
}

/**
 * The entries of a list by the only value of each field, so that a thousand of them are compared
 * with a thousand others in a few lookups each.
 */
class EntryIndex<Entry> {
  readonly #dimensions: readonly Dimension<Entry>[];
  readonly #byKey = new Map<string, Entry[]>();
  readonly #values: readonly Set<string>[];

  constructor(dimensions: readonly Dimension<Entry>[], entries: readonly Entry[]) {
    this.#dimensions = dimensions;
    this.#values = dimensions.map(() => new Set());
    for (const entry of entries) {
      const key = dimensions.map(({ valuesOf }) => onlyOf(valuesOf(entry)));
      key.forEach((value, at) => this.#values[at]?.add(value));
      const known = this.#byKey.get(key.join("\n"));
      if (known === undefined) this.#byKey.set(key.join("\n"), [entry]);
      else known.push(entry);
    }
  }

  /** All entries that could contain this one, and perhaps others. */
  candidates(entry: Entry): readonly Entry[] {
    const values = this.#dimensions.map(({ valuesOf }, at) => {
      const containing = new Set([...valuesOf(entry).slice(0, 1), "*", ""]);
      return [...containing].filter((value) => this.#values[at]?.has(value));
    });
    return values
      .reduce(
        (keys, next) => keys.flatMap((key) => next.map((value) => [...key, value])),
        [new Array<string>()],
      )
      .flatMap((key) => this.#byKey.get(key.join("\n")) ?? []);
  }
}

/** The only one of some values; empty for none or several. */
function onlyOf([first = "", ...others]: readonly string[]): string {
  return others.length === 0 ? first : "";
}

/**
 * Whether a rule covers every request, except those that require a rule that names the resource.
 */
function restrictsNothing(rule: ScopeRule): boolean {
  return restrictsAtMost(rule);
}

/**
 * Whether a rule covers all Secrets. Locations and roles cover Secrets, but a rule only covers them
 * by name.
 */
function coversAllSecrets(rule: ScopeRule): boolean {
  return (
    restrictsAtMost(rule, "nonResourceURLs", "resources") &&
    rule.resources.some(({ group, resources }) => resources.some((name) => isSecrets(group, name)))
  );
}

function restrictsAtMost(rule: ScopeRule, ...fields: readonly (keyof ScopeRule)[]): boolean {
  const names: readonly string[] = fields;
  return ruleKind.dimensions.every(
    ({ name, valuesOf }) => names.includes(name) || valuesOf(rule).length === 0,
  );
}

/**
 * Whether the parent also names everything that is only covered by name: resources, impersonation
 * verbs, and guarded namespaces with the resources in them.
 */
function namedOnesNarrow(
  child: ScopeRule,
  parent: ScopeRule,
  isGuarded: (namespace: string) => boolean,
): boolean {
  const guarded = child.namespaces.filter((name) => name !== "" && isGuarded(name));
  const actsAs = child.verbs.filter(isImpersonation);
  const mustBeNamed = (group: string, name: string): boolean =>
    guarded.length > 0 ||
    actsAs.length > 0 ||
    isSecrets(group, name) ||
    couldEscape(group, name, child.verbs);
  const named = child.resources.flatMap(({ group, resources }) =>
    resources.filter((name) => mustBeNamed(group, name)).map((name) => ({ group, name })),
  );
  if (named.length === 0) return true;
  const isNamed = ({ group, name }: { readonly group: string; readonly name: string }): boolean =>
    parent.resources.some((entry) => entry.group === group && entry.resources.includes(name));
  return (
    named.every(isNamed) &&
    guarded.every((namespace) => parent.namespaces.includes(namespace)) &&
    actsAs.every((verb) => parent.verbs.includes(verb))
  );
}
