import { keyOf, type ObjectRef } from "../api/object.ts";
import type { ReportCause, ReportObject } from "../api/report.ts";

/** An object of a kind, as a message names it. */
export interface NamedObject extends ObjectRef {
  readonly kind: string;
}

/** A field of an object that decides an outcome, and what to change. */
export interface Cause {
  readonly object: NamedObject;
  /** Path of the field, such as `spec.ttl` or `metadata.annotations["management.service/sync"]`. */
  readonly field: string;
  /** The value of the field; absent if it is not set or may be secret. */
  readonly found?: string;
  /** A reason of a report. */
  readonly reason: string;
  /** What to change, as a sentence without a full stop. */
  readonly fix: string;
}

/** A cause as a report has it. */
export function reportCause({ object, field, found, reason, fix }: Cause): ReportCause {
  const value = found === undefined ? {} : { value: found };
  return { object, field, ...value, reason, message: `${fix}.` };
}

/** The path of an annotation in an object. */
export function annotationField(name: string): string {
  return `metadata.annotations[${JSON.stringify(name)}]`;
}

/** The path of a label in an object. */
export function labelField(name: string): string {
  return `metadata.labels[${JSON.stringify(name)}]`;
}

/** The kind of an object and, quoted, its namespace and name; the kind alone without a name. */
export function nameOf({ kind, namespace, name }: ReportObject): string {
  if (name === undefined) return kind;
  const ref = namespace === undefined ? { name } : { namespace, name };
  return `${kind} ${JSON.stringify(keyOf(ref))}`;
}

const longestValue = 64;

/** A value in quotes, at most 64 characters of it. */
export function quoted(text: string): string {
  return JSON.stringify(text.length <= longestValue ? text : `${text.slice(0, longestValue)}...`);
}

/** The value of a field as {@link Cause} has it; empty if it is not set. */
export function foundValue(value: string | undefined): Pick<Cause, "found"> {
  return value === undefined ? {} : { found: value };
}
