import type { Cause } from "../cause.ts";
import { allowingEntry } from "../scope/allowing-entry.ts";
import { allows } from "../scope/allows.ts";
import { type EntryField, type EntryVerdict, scopeEntries } from "../scope/scope-entries.ts";
import { explainKey, objectOf } from "./explain-key.ts";
import { authorizeWithKey, type KeyedRequest } from "./key-authorization.ts";
import { ancestorsOf, type ResolvedKey } from "./key-state.ts";

/** What decides about a request with a key: the entry of each scope that allows it, or a denial. */
type KeyRequestExplanation =
  | {
      readonly kind: "no-opinion";
      /** The key and its parent keys that have a scope; without `field`, every key may do this. */
      readonly entries: readonly { readonly object: Cause["object"]; readonly field?: string }[];
    }
  | { readonly kind: "denied"; readonly sentence: string; readonly causes: readonly Cause[] };

/** Explains a request with a key by the function that authorizes it; RBAC still applies. */
export function explainKeyRequest(
  resolved: ResolvedKey,
  keyed: KeyedRequest,
  now: number,
): KeyRequestExplanation {
  const verdict = authorizeWithKey(resolved, keyed, now);
  const context = { roles: keyed.roles, ownNamespace: resolved.config.namespace };
  if (verdict.kind === "no-opinion") {
    const entries = scopedAncestors(resolved).map((one) => {
      const field = allowingEntry(one.key.spec.scope, keyed.request, context);
      return { object: objectOf(one), ...(field === undefined ? {} : { field }) };
    });
    return { kind: "no-opinion", entries };
  }
  const explanation = explainKey(resolved, now);
  if (!explanation.isAccepted)
    return { kind: "denied", sentence: verdict.reason, causes: explanation.causes };
  const causes = scopedAncestors(resolved)
    .filter(({ key }) => allows(key.spec.scope, keyed.request, context).kind === "denied")
    .map((one) => ({
      object: objectOf(one),
      reason: "OutsideScope",
      ...nearestField(one, keyed),
    }));
  return { kind: "denied", sentence: verdict.reason, causes };
}

/** What each entry of a scope says about a request. */
interface ScopeExplanation {
  readonly object: Cause["object"];
  readonly entries: readonly EntryVerdict[];
}

/** Explains a request entry by entry, for the key and those of its parent keys that have a scope. */
export function explainScopes(
  resolved: ResolvedKey,
  { request, roles }: KeyedRequest,
): readonly ScopeExplanation[] {
  const context = { roles, ownNamespace: resolved.config.namespace };
  return scopedAncestors(resolved).map((one) => ({
    object: objectOf(one),
    entries: scopeEntries(one.key.spec.scope, request, context),
  }));
}

function scopedAncestors(resolved: ResolvedKey): readonly ResolvedKey[] {
  return ancestorsOf(resolved).filter(({ key }) => key.spec.scope !== "none");
}

/** The only field of an entry that does not match the request, or the scope as a whole. */
function nearestField(
  { key, config }: ResolvedKey,
  { request, roles }: KeyedRequest,
): Omit<Cause, "object" | "reason"> {
  const context = { roles, ownNamespace: config.namespace };
  const nearest = scopeEntries(key.spec.scope, request, context).find(
    ({ mismatches }) => mismatches.length === 1,
  );
  const [mismatch] = nearest?.mismatches ?? [];
  if (mismatch === undefined)
    return {
      field: "spec.scope",
      fix: "Add an entry that covers the request, or use another credential",
    };
  const { field, found } = mismatch;
  return {
    field,
    ...(found.length === 0 ? {} : { found: found.join(", ") }),
    fix: `${fixOf(mismatch)}, or use another credential`,
  };
}

function fixOf({ field, wanted }: EntryField): string {
  if (wanted !== undefined) return `Let it name ${JSON.stringify(wanted)}`;
  if (field.endsWith(".role")) return "Name a role that allows the request";
  return "Add an entry that covers the request";
}
