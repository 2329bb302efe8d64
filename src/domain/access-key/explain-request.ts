import type { FieldFix, ReportCause, ReportItem, ReportObject } from "../../api/report.ts";
import { allows, requestText } from "../scope/allows.ts";
import { type EntryField, type EntryVerdict, scopeEntries } from "../scope/scope-entries.ts";
import { explainKey, objectOf } from "./explain-key.ts";
import { authorizeWithKey, type KeyedRequest } from "./key-authorization.ts";
import { ancestorsOf, type ResolvedKey } from "./key-state.ts";
import { unscopedText } from "./unscoped-key.ts";

/**
 * Explains whether the scopes of a key allow a request, by the function that authorizes it; RBAC
 * still applies. The causes are what denies the request, and then what each entry of a scope says.
 */
export function explainRequest(
  resolved: ResolvedKey,
  keyed: KeyedRequest,
  now: number,
): ReportItem {
  const object = objectOf(resolved);
  const scopes = ancestorsOf(resolved)
    .filter(({ key }) => key.spec.scope !== "none")
    .map((one) => answerOf(one, keyed));
  const entries = scopes.flatMap((scope) =>
    scope.entries.map((entry) => entryCause(scope.object, entry)),
  );
  const verdict = authorizeWithKey(resolved, keyed, now);
  if (verdict.kind === "no-opinion") {
    const message =
      scopes.length > 0
        ? `the scope allows ${requestText(keyed.request)}.`
        : `the key has ${unscopedText(resolved.key.spec, { hasParent: false })}.`;
    return { object, state: "ok", reason: "WithinScope", message, causes: entries };
  }
  const own = explainKey(resolved, now);
  const denials = own.state === "ok" ? scopes.flatMap(denialOf) : own.causes;
  return {
    object,
    state: "problem",
    reason: "OutsideScope",
    message: `${verdict.reason}.`,
    causes: [...denials, ...entries],
  };
}

/** What the scope of a key, or of one of its parent keys, says about a request. */
interface ScopeAnswer {
  readonly object: ReportObject;
  readonly isAllowed: boolean;
  readonly entries: readonly EntryVerdict[];
}

function answerOf(resolved: ResolvedKey, { request, roles }: KeyedRequest): ScopeAnswer {
  const { scope } = resolved.key.spec;
  const context = { roles, ownNamespace: resolved.config.namespace };
  return {
    object: objectOf(resolved),
    isAllowed: allows(scope, request, context).kind === "allowed",
    entries: scopeEntries(scope, request, context),
  };
}

function denialOf({ object, isAllowed, entries }: ScopeAnswer): readonly ReportCause[] {
  return isAllowed ? [] : [{ object, reason: "OutsideScope", ...nearestField(entries) }];
}

/** The only field of an entry that does not match the request, or the scope as a whole. */
function nearestField(entries: readonly EntryVerdict[]): FieldFix {
  const [mismatch] = entries.find(({ mismatches }) => mismatches.length === 1)?.mismatches ?? [];
  if (mismatch === undefined)
    return {
      field: "spec.scope",
      message: "Add an entry that covers the request, or use another credential.",
    };
  const { field, found } = mismatch;
  return {
    field,
    value: found.length === 0 ? undefined : found.join(", "),
    message: `${fixOf(mismatch)}, or use another credential.`,
  };
}

function fixOf({ field, wanted }: EntryField): string {
  if (wanted !== undefined) return `Let it name ${JSON.stringify(wanted)}`;
  if (field.endsWith(".role")) return "Name a role that allows the request";
  return "Add an entry that covers the request";
}

function entryCause(
  object: ReportObject,
  { field, isAllowed, mismatches }: EntryVerdict,
): ReportCause {
  if (isAllowed) return { object, field, reason: "EntryAllows", message: "It allows the request." };
  const parts = mismatches.map((mismatch) => {
    const name = mismatch.field.slice(field.length + 1);
    const found = mismatch.found.length === 0 ? "lists nothing" : `is ${mismatch.found.join(", ")}`;
    const wanted = mismatch.wanted === undefined ? "" : ` and the request has ${mismatch.wanted}`;
    return `${name} ${found}${wanted}`;
  });
  const message =
    parts.length === 0
      ? "An entry of this kind cannot allow the request."
      : `It does not allow the request, because ${parts.join("; ")}.`;
  return { object, field, reason: "EntryDenies", message };
}
