import { annotationPrefixes, annotations } from "../../api/names.ts";
import { listAt, recordAt, stringMapAt } from "../../api/parse.ts";
import { type AccessRule, parseAccessRule, parseOwner } from "../../api/shared-secret.ts";
import { isSame } from "../plan/merge-patch.ts";
import { accessOf } from "../shared-secret/access-rules.ts";
import { isSecretName } from "../sync/data-from.ts";
import { clusterList, syncList, type SyncList } from "../sync/option-items.ts";

/*
 * A SharedSecret that follows a Secret gives its data to all whom it names, so a write that gives
 * it to more of them requires `get` on that Secret. The policy latchkey-data-from decides the same
 * in CEL, with the same limits.
 */

/**
 * The Secret on which a write of a SharedSecret requires `get`; undefined if it requires none.
 * Nothing is stored before a creation.
 */
export function secretToGet(object: unknown, stored: unknown): string | undefined {
  const name = annotationsOf(object)[annotations.dataFrom];
  // The policy rejects a new name that is invalid, and nothing follows a stored one.
  if (typeof name !== "string" || !isSecretName(name)) return undefined;
  return stored === undefined || givesMore(object, stored) ? name : undefined;
}

function givesMore(object: unknown, stored: unknown): boolean {
  const [after, before] = [recordAt(object, "spec"), recordAt(stored, "spec")];
  return (
    changedAnnotations(object, stored).some((name) => isWider(name, object, stored)) ||
    isAccessWider(listAt(after, "access"), listAt(before, "access")) ||
    isOwnerWider(after, before)
  );
}

/**
 * The annotations that a write changes. Null, which is stored as an empty text, differs from
 * absence and from that text.
 */
export function changedAnnotations(object: unknown, stored: unknown): readonly string[] {
  const [after, before] = [annotationsOf(object), annotationsOf(stored)];
  return [...new Set([...Object.keys(after), ...Object.keys(before)])].filter(
    (name) => after[name] !== before[name],
  );
}

function annotationsOf(object: unknown): Readonly<Record<string, unknown>> {
  return recordAt(recordAt(object, "metadata"), "annotations");
}

/** Whether an annotation decides what a SharedSecret shares, and with whom. */
export function decidesAccess(name: string): boolean {
  return (
    name === annotations.dataFrom ||
    name === annotations.dataFromKeys ||
    name.startsWith(annotationPrefixes.sync) ||
    name.startsWith(annotationPrefixes.copy)
  );
}

/** Lists of which a name may be taken out, and how they are read. */
const lists: ReadonlyMap<string, (text: string | undefined) => SyncList> = new Map([
  [annotations.syncToProjects, syncList],
  [annotations.syncToClusters, clusterList],
]);

function isWider(name: string, object: unknown, stored: unknown): boolean {
  const parse = lists.get(name);
  if (parse === undefined) return decidesAccess(name);
  const [after, before] = [object, stored].map((state) =>
    parse(stringMapAt(recordAt(state, "metadata"), "annotations")[name]),
  );
  // A stored list that is not valid, because no policy has checked it, counts as empty.
  const known = before?.kind === "entries" ? before.entries : [];
  return after?.kind !== "entries" || !after.entries.every((entry) => known.includes(entry));
}

/**
 * Of longer lists, rules and entries of all their lists together, every change counts as one that
 * gives: the API server limits the cost of a policy.
 */
const comparedAccess = { rules: 64, entries: 1024 } as const;

function isAccessWider(after: readonly unknown[], before: readonly unknown[]): boolean {
  if (isSame(after, before)) return false;
  const most = Math.max(after.length, before.length);
  const rules = before.map(parseAccessRule);
  const entries = [...after.map(parseAccessRule), ...rules].flatMap(listsOf).flat().length;
  if (most > comparedAccess.rules || entries > comparedAccess.entries) return true;
  const applied = rules.filter((rule) => isApplied({ owner: {}, access: [rule] }));
  return !after.every(
    (rule) =>
      before.some((same) => isSame(same, rule)) ||
      applied.some((wide) => covers(wide, parseAccessRule(rule))),
  );
}

function listsOf({
  verbs,
  subresources,
  users,
  teams,
}: AccessRule): readonly (readonly string[])[] {
  return [verbs, subresources, users, teams];
}

function covers(wide: AccessRule, rule: AccessRule): boolean {
  const narrow = listsOf(rule);
  return listsOf(wide).every(
    (list, at) => list.includes("*") || narrow[at]?.every((entry) => list.includes(entry)),
  );
}

/**
 * Whether an owner and rules are applied: one with a name that is rejected grants nothing, and
 * would grant without that name. No prefix of users or teams is known here.
 */
function isApplied(access: Parameters<typeof accessOf>[0]): boolean {
  return accessOf(access, { user: "", team: "" }).problems.length === 0;
}

/** Other fields of an owner have no effect. */
function isOwnerWider(after: unknown, before: unknown): boolean {
  const [owner, stored] = [parseOwner(after), parseOwner(before)];
  const fields = (["user", "team"] as const).filter((field) => owner[field] !== undefined);
  if (fields.length === 0 || isSame(owner, stored)) return false;
  return (
    !isApplied({ owner: stored, access: [] }) ||
    fields.some((field) => owner[field] !== stored[field])
  );
}
