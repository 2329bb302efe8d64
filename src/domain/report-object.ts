import type { ObjectRef } from "../api/object.ts";
import type { ReportObject } from "../api/report.ts";

/** An object of a report, by its kind and a reference or its metadata. */
export function reportObject(kind: string, { namespace, name }: ObjectRef): ReportObject {
  return { kind, namespace, name };
}

/** The namespace and name of an object, such as `web/db`, or its name if it has no namespace. */
export function placeOf({ namespace, name = "" }: ReportObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** The kind of an object and, quoted, its namespace and name; the kind alone without a name. */
export function nameOf(object: ReportObject): string {
  const { kind, name } = object;
  return name === undefined ? kind : `${kind} ${JSON.stringify(placeOf(object))}`;
}

/** The path of an annotation in an object. */
export function annotationField(name: string): string {
  return `metadata.annotations[${JSON.stringify(name)}]`;
}

/** The path of a label in an object. */
export function labelField(name: string): string {
  return `metadata.labels[${JSON.stringify(name)}]`;
}

const longestValue = 64;

/** A value in quotes, at most 64 characters of it. */
export function quoted(text: string): string {
  return JSON.stringify(shortened(text));
}

/** At most `most` characters of a text, and dots in place of the others. */
export function shortened(text: string, most = longestValue): string {
  return text.length <= most ? text : `${text.slice(0, most)}...`;
}
