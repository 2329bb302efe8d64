import type { Condition } from "./conditions.ts";
import {
  annotations as ownAnnotations,
  labels as ownLabels,
  lastAppliedAnnotation,
} from "./names.ts";
import type { Metadata } from "./object.ts";
import { SecretText } from "./secret-text.ts";

/** Whether a value is a JSON object; a SecretText is a string with a coat, not an object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof SecretText)
  );
}

/**
 * The value of an own field of an object: a field may have the name of an inherited one, such as
 * `constructor`.
 */
export function ownValue(record: Readonly<Record<string, unknown>>, field: string): unknown {
  return Object.hasOwn(record, field) ? record[field] : undefined;
}

/** The JSON object under `field`; an empty one when there is none. */
export function recordAt(value: unknown, field: string): Readonly<Record<string, unknown>> {
  const inner = isRecord(value) ? ownValue(value, field) : undefined;
  return isRecord(inner) ? inner : {};
}

/** The string under `field`, if it is one. */
export function stringAt(value: unknown, field: string): string | undefined {
  const inner = isRecord(value) ? ownValue(value, field) : undefined;
  return typeof inner === "string" ? inner : undefined;
}

/** The finite number under `field`, if it is one. */
export function numberAt(value: unknown, field: string): number | undefined {
  const inner = isRecord(value) ? ownValue(value, field) : undefined;
  return typeof inner === "number" && Number.isFinite(inner) ? inner : undefined;
}

/** Whether `field` is true. */
export function isTrueAt(value: unknown, field: string): boolean {
  return isRecord(value) && ownValue(value, field) === true;
}

/** The list under `field`; an empty one when there is none. */
export function listAt(value: unknown, field: string): readonly unknown[] {
  const inner = isRecord(value) ? ownValue(value, field) : undefined;
  return Array.isArray(inner) ? inner : [];
}

/** The strings of the list under `field`. */
export function stringsAt(value: unknown, field: string): readonly string[] {
  return listAt(value, field).filter((entry) => typeof entry === "string");
}

/**
 * The string values of the object under `field`; the same object if it has no others, because
 * copying a hundred thousand labels is slow.
 */
export function stringMapAt(value: unknown, field: string): Readonly<Record<string, string>> {
  const record = recordAt(value, field);
  return isStringMap(record)
    ? record
    : Object.fromEntries(
        Object.entries(record).filter(
          (entry): entry is [string, string] => typeof entry[1] === "string",
        ),
      );
}

function isStringMap(
  record: Readonly<Record<string, unknown>>,
): record is Readonly<Record<string, string>> {
  return Object.values(record).every((value) => typeof value === "string");
}

/** ObjectMeta as the API server sends it; throws a TypeError that names the missing field. */
export function parseMetadata(raw: unknown): Metadata {
  const metadata = recordAt(raw, "metadata");
  return {
    ...parseIdentity(metadata),
    labels: stringMapAt(metadata, "labels"),
    annotations: withoutLastApplied(stringMapAt(metadata, "annotations")),
  };
}

/**
 * {@link parseMetadata} with only the labels and annotations that Latchkey reads: others may take a
 * megabyte.
 */
export function parseLatchkeyMetadata(raw: unknown): Metadata {
  const metadata = recordAt(raw, "metadata");
  return {
    ...parseIdentity(metadata),
    labels: stringsUnder(metadata, "labels", ownLabelKeys),
    annotations: stringsUnder(metadata, "annotations", ownAnnotationKeys),
  };
}

const ownLabelKeys: readonly string[] = Object.values(ownLabels);
const ownAnnotationKeys: readonly string[] = Object.values(ownAnnotations);

/**
 * The strings of the object under `field` that have one of these keys, however many others there
 * are.
 */
function stringsUnder(
  value: unknown,
  field: string,
  keys: readonly string[],
): Readonly<Record<string, string>> {
  const record = recordAt(value, field);
  return Object.fromEntries(
    keys.flatMap((key) =>
      typeof ownValue(record, key) === "string" ? [[key, stringAt(record, key) ?? ""]] : [],
    ),
  );
}

function parseIdentity(
  metadata: Readonly<Record<string, unknown>>,
): Omit<Metadata, "labels" | "annotations"> {
  const namespace = stringAt(metadata, "namespace");
  const deletionTimestamp = stringAt(metadata, "deletionTimestamp");
  return {
    ...(namespace === undefined ? {} : { namespace }),
    name: required(metadata, "name"),
    uid: required(metadata, "uid"),
    resourceVersion: required(metadata, "resourceVersion"),
    generation: numberAt(metadata, "generation") ?? 0,
    creationTimestamp: required(metadata, "creationTimestamp"),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    finalizers: stringsAt(metadata, "finalizers"),
  };
}

/** The conditions of a status; entries of another shape are left out. */
export function parseConditions(status: unknown): readonly Condition[] {
  return listAt(status, "conditions").filter(isCondition);
}

function isCondition(value: unknown): value is Condition {
  const texts = ["type", "status", "reason", "message", "lastTransitionTime"];
  return texts.every((field) => stringAt(value, field) !== undefined);
}

/** Dropped on arrival, for the secrets that it repeats. */
function withoutLastApplied(
  annotations: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (!Object.hasOwn(annotations, lastAppliedAnnotation)) return annotations;
  const { [lastAppliedAnnotation]: _, ...rest } = annotations;
  return rest;
}

function required(metadata: Readonly<Record<string, unknown>>, field: string): string {
  const value = stringAt(metadata, field);
  if (value === undefined) throw new TypeError(`metadata.${field} is missing`);
  return value;
}
