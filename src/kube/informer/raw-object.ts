import { type Key, keyOf } from "../../api/object.ts";
import { recordAt, stringAt } from "../../api/parse.ts";
import type { ListOptions } from "./list-options.ts";

/** What identifies a version of an object. */
export interface ObjectHead {
  readonly key: Key;
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * Whether `one` is an older resourceVersion than `other`: those of one resource compare as integers
 * (Kubernetes API concepts, "Resource versions"). False if either is undefined.
 */
export function isOlder(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one.length === other.length ? one < other : one.length < other.length;
}

/** The key of an object as the API server sent it. */
export function rawKey(raw: unknown): Key {
  const metadata = recordAt(raw, "metadata");
  const namespace = stringAt(metadata, "namespace");
  const name = stringAt(metadata, "name") ?? "";
  return keyOf(namespace === undefined ? { name } : { namespace, name });
}

/** The uid of an object as the API server sent it. */
export function rawUid(raw: unknown): string | undefined {
  return stringAt(recordAt(raw, "metadata"), "uid");
}

/** The resourceVersion of an object as the API server sent it. */
export function rawVersion(raw: unknown): string | undefined {
  return stringAt(recordAt(raw, "metadata"), "resourceVersion");
}

/**
 * Whether a selection matches an object as the API server sent it; supports label selectors of
 * `label`, `!label` and `label=value`, separated by commas, and field selectors of the name or the
 * type.
 */
export function selects(
  { namespace, labelSelector, fieldSelector }: ListOptions,
  raw: unknown,
): boolean {
  const metadata = recordAt(raw, "metadata");
  if (namespace !== undefined && stringAt(metadata, "namespace") !== namespace) return false;
  if (
    fieldSelector !== undefined &&
    fieldSelector !== `type=${stringAt(raw, "type") ?? ""}` &&
    fieldSelector !== `metadata.name=${stringAt(metadata, "name") ?? ""}`
  )
    return false;
  if (labelSelector === undefined) return true;
  const labels = recordAt(metadata, "labels");
  return labelSelector.split(",").every((requirement) => fulfils(labels, requirement));
}

function fulfils(labels: Readonly<Record<string, unknown>>, requirement: string): boolean {
  if (requirement.startsWith("!")) return stringAt(labels, requirement.slice(1)) === undefined;
  const [name = "", value] = requirement.split("=");
  const given = stringAt(labels, name);
  return value === undefined ? given !== undefined : given === value;
}
