import type { Condition } from "./conditions.ts";
import {
  annotations as ownAnnotations,
  labels as ownLabels,
  lastAppliedAnnotation,
} from "./names.ts";
import type { Metadata } from "./object.ts";
import { SecretText } from "./secret-text.ts";

/** Whether a value is a JSON object; false for a SecretText, which wraps a string. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof SecretText)
  );
}

/** The value of an own property, never of an inherited one: a field may be named `constructor`. */
export function ownValue(record: Readonly<Record<string, unknown>>, field: string): unknown {
  return Object.hasOwn(record, field) ? record[field] : undefined;
}

/** The JSON object under `field`; an empty object if there is none. */
export function recordAt(value: unknown, field: string): Readonly<Record<string, unknown>> {
  const inner = isRecord(value) ? ownValue(value, field) : undefined;
  return isRecord(inner) ? inner : {};
}

/** The string under `field`; undefined for any other value. */
export function stringAt(value: unknown, field: string): string | undefined {
  const inner = isRecord(value) ? ownValue(value, field) : undefined;
  return typeof inner === "string" ? inner : undefined;
}

/** The finite number under `field`; undefined for any other value. */
export function numberAt(value: unknown, field: string): number | undefined {
  const inner = isRecord(value) ? ownValue(value, field) : undefined;
  return typeof inner === "number" && Number.isFinite(inner) ? inner : undefined;
}

/** Whether an object says that it has this version and kind. */
export function isOfKind(value: unknown, apiVersion: string, kind: string): boolean {
  return stringAt(value, "apiVersion") === apiVersion && stringAt(value, "kind") === kind;
}

/** Whether `field` is true. */
export function isTrueAt(value: unknown, field: string): boolean {
  return isRecord(value) && ownValue(value, field) === true;
}

/** The list under `field`; an empty list if there is none. */
export function listAt(value: unknown, field: string): readonly unknown[] {
  const inner = isRecord(value) ? ownValue(value, field) : undefined;
  return Array.isArray(inner) ? inner : [];
}

/** The strings of the list under `field`. */
export function stringsAt(value: unknown, field: string): readonly string[] {
  return listAt(value, field).filter((entry) => typeof entry === "string");
}

/**
 * The string values of the object under `field`; the object itself if all its values are strings,
 * because copying 100,000 labels is slow.
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

/** Parses ObjectMeta from the API server; throws a TypeError that names the missing field. */
export function parseMetadata(raw: unknown): Metadata {
  const metadata = recordAt(raw, "metadata");
  return {
    ...parseIdentity(metadata),
    labels: stringMapAt(metadata, "labels"),
    annotations: withoutLastApplied(stringMapAt(metadata, "annotations")),
  };
}

/**
 * Like {@link parseMetadata}, with only the labels and annotations that Latchkey reads: the others
 * may take a megabyte.
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
 * The string values of these keys in the object under `field`; does not iterate over other keys.
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

/** Parses the conditions of a status; omits invalid entries. */
export function parseConditions(status: unknown): readonly Condition[] {
  return listAt(status, "conditions").filter(isCondition);
}

function isCondition(value: unknown): value is Condition {
  const texts = ["type", "status", "reason", "message", "lastTransitionTime"];
  return texts.every((field) => stringAt(value, field) !== undefined);
}

/**
 * Removes the last-applied-configuration annotation, because it repeats the secrets of the object.
 */
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
