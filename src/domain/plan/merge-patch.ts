import { isRecord, ownValue } from "../../api/parse.ts";

/**
 * Returns the JSON merge patch (RFC 7386) that turns `from` into `to`; undefined if they are equal.
 * Lists are replaced as a whole.
 */
export function mergePatch(
  from: Readonly<Record<string, unknown>>,
  to: Readonly<Record<string, unknown>>,
): Record<string, unknown> | undefined {
  // Field names may equal inherited properties (`constructor`, `__proto__`): only own properties
  // are read, and none is set by assignment.
  const patch: [string, unknown][] = [];
  for (const field of Object.keys(from)) {
    if (ownValue(to, field) === undefined) patch.push([field, null]);
  }
  for (const [field, wanted] of Object.entries(to)) {
    if (wanted === undefined) continue;
    const change = changeOf(ownValue(from, field), wanted);
    if (change !== undefined) patch.push([field, change]);
  }
  return patch.length === 0 ? undefined : Object.fromEntries(patch);
}

function changeOf(present: unknown, wanted: unknown): unknown {
  if (isRecord(present) && isRecord(wanted)) return mergePatch(present, wanted);
  return isSame(present, wanted) ? undefined : wanted;
}

/** Deep equality of JSON values; the order of fields does not count. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((entry, index) => isSame(entry, other[index]));
  }
  if (isRecord(one) && isRecord(other)) {
    const fields = new Set([...Object.keys(one), ...Object.keys(other)]);
    return [...fields].every((field) => isSame(ownValue(one, field), ownValue(other, field)));
  }
  return one === other;
}
