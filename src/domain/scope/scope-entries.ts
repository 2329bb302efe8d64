import type { ScopeLimit } from "../../api/scope.ts";
import { askedOf, type AskedRequest, dimensionCovers, entryCovers, isOpenTo } from "./allows.ts";
import { isAlwaysAllowed } from "./always-allowed.ts";
import type { EntryKind } from "./dimension.ts";
import { entryKinds } from "./entry-kinds.ts";
import type { ScopeContext } from "./scope-roles.ts";
import type { ScopedRequest } from "./scoped-request.ts";

/** A field of an entry of a scope that keeps the entry from allowing a request. */
export interface EntryField {
  /** Such as `spec.scope.rules[0].verbs`. */
  readonly field: string;
  /** Its values; empty if it lists none. */
  readonly found: readonly string[];
  /** The value of the request; absent if it has none, such as a project. */
  readonly wanted?: string;
}

/** What one entry of a scope says about a request. */
export interface EntryVerdict {
  /** Such as `spec.scope.rules[0]`. */
  readonly field: string;
  readonly isAllowed: boolean;
  /** Empty if the entry allows the request, or if no entry of its kind can. */
  readonly mismatches: readonly EntryField[];
}

/** The verdict of each entry of a scope alone; any entry is enough. */
export function scopeEntries(
  limit: ScopeLimit,
  request: ScopedRequest,
  context: ScopeContext,
): readonly EntryVerdict[] {
  if (limit === "none" || limit === "unreadable") return [];
  const asked = askedOf(request, context);
  return entryKinds.flatMap((of) =>
    of((kind) =>
      kind.entriesOf(limit).map((entry, at) => {
        const field = `spec.scope.${kind.list}[${at}]`;
        return isAlwaysAllowed(request) ||
          (isOpenTo(kind, asked) && entryCovers(kind, entry, asked))
          ? { field, isAllowed: true, mismatches: [] }
          : { field, isAllowed: false, mismatches: mismatchesOf(kind, entry, { field, asked }) };
      }),
    ),
  );
}

/**
 * The fields that deny the request, whatever the others are. If the entry is about other requests,
 * this is the first field that would name the request.
 */
function mismatchesOf<Entry>(
  kind: EntryKind<Entry>,
  entry: Entry,
  { field, asked }: { readonly field: string; readonly asked: AskedRequest },
): readonly EntryField[] {
  const { request } = asked;
  const { dimensions } = kind;
  const isPossible =
    isOpenTo(kind, asked) && dimensions.every(({ applies }) => applies?.(request) ?? true);
  if (!isPossible) return [];
  const denying = dimensions.filter((dimension) => !dimensionCovers(dimension, entry, asked));
  const first = dimensions.filter((dimension) => dimension.askedOf(request) !== undefined);
  return (denying.length === 0 ? first.slice(0, 1) : denying).map((dimension) => {
    const wanted = dimension.askedOf(request) ?? "";
    return {
      field: `${field}.${dimension.name}`,
      found: dimension.valuesOf(entry),
      ...(wanted === "" ? {} : { wanted }),
    };
  });
}
