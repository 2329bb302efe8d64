import { annotations, labels } from "../../api/names.ts";
import {
  type Annotated,
  keyOf,
  type Labelled,
  type Marks,
  type ObjectRef,
} from "../../api/object.ts";
import { isSecretKey } from "../../api/data-key.ts";
import { quoted } from "../report-object.ts";
import { optionItems } from "./option-items.ts";

/**
 * Which data keys of a SharedSecret a placeholder has, by its own data keys; undefined for all of
 * them under their own names.
 */
export type PickedKeys = ReadonlyMap<string, string> | undefined;

/** What a placeholder asks for: a Secret with the label `sharedsecret-name`. */
export interface PlaceholderRequest {
  /** Absent if a label is missing or empty. */
  readonly source?: ObjectRef & { readonly namespace: string };
  readonly keys: PickedKeys;
  /** Why the labels or `sync-keys` are invalid. */
  readonly problem?: string;
}

/** Whether a placeholder asks for this SharedSecret. */
export function asksFor({ source }: PlaceholderRequest, sharedSecret: ObjectRef): boolean {
  return source !== undefined && keyOf(source) === keyOf(sharedSecret);
}

/**
 * Whether a Secret asks to be filled; not if it has the mark of an agent beside this Latchkey,
 * which has filled it.
 */
export function isPlaceholder({ labels: given }: Labelled): boolean {
  return given[labels.sharedSecretName] !== undefined && given[labels.outboxUid] === undefined;
}

/** Whether a Secret has Latchkey's label or is a placeholder, so that its data is digested. */
export function isObservedWhole(marks: Labelled): boolean {
  return marks.labels[labels.sourceUid] !== undefined || isPlaceholder(marks);
}

/**
 * Whether a Secret is emptied where a copy is deleted: a user has created it, or asks for it to be
 * filled.
 */
export function isEmptied(marks: Marks): boolean {
  return isFilled(marks) || isPlaceholder(marks);
}

/** Whether Latchkey has filled a Secret as a placeholder. */
export function isFilled(marks: Annotated): boolean {
  return marks.annotations[annotations.filled] === filledValue;
}

/** The value of the annotation `filled`. */
export const filledValue = "true";

/** The request in the labels and annotations of a Secret; undefined if it is no placeholder. */
export function placeholderRequestOf(marks: Marks): PlaceholderRequest | undefined {
  if (!isPlaceholder(marks)) return undefined;
  const name = marks.labels[labels.sharedSecretName] ?? "";
  const namespace = marks.labels[labels.sharedSecretNamespace] ?? "";
  if (name === "") return emptyLabel(labels.sharedSecretName, "the name of a SharedSecret");
  if (namespace === "")
    return emptyLabel(labels.sharedSecretNamespace, "the namespace of the SharedSecret");
  const source = { namespace, name };
  const picked = pickedKeysOf(marks.annotations[annotations.syncKeys]);
  return "why" in picked
    ? { source, keys: undefined, problem: `${annotations.syncKeys}: ${picked.why}` }
    : { source, keys: picked.keys };
}

function emptyLabel(label: string, meaning: string): PlaceholderRequest {
  return { keys: undefined, problem: `${label}: the label is empty; set it to ${meaning}` };
}

/** Maximum items and bytes (UTF-8) of `sync-keys`. */
const pickedBounds = { items: 64, bytes: 8192 } as const;

/** Maximum data keys of a placeholder with `sync-keys`. */
export const mostPickedKeys = pickedBounds.items;

/**
 * Maximum data keys of a SharedSecret from which `sync-keys` picks: the digest of each of them is
 * in memory.
 */
export const mostKeysToPickFrom = 256;

/** Parses `sync-keys` or `data-from-keys`: `<key>` or `<new key>=<key>`. */
export function pickedKeysOf(
  text: string | undefined,
): { readonly keys: PickedKeys } | { readonly why: string } {
  if (text === undefined) return { keys: undefined };
  const items = optionItems(text, pickedBounds);
  if (items.kind === "refused") return { why: items.why };
  if (items.items.length === 0)
    return { why: "is empty; name at least one data key, or remove the annotation for all keys" };
  for (const { text: item, key, value = key } of items.items) {
    if (!isSecretKey(key) || !isSecretKey(value))
      return {
        why:
          `${quoted(item)} is invalid; must have the form <key> or <new key>=<key>, ` +
          'with data keys of letters, digits, "-", "_" and "."',
      };
  }
  return { keys: new Map(items.items.map(({ key, value = key }) => [key, value])) };
}

/** The values that a placeholder has, or the data key that the SharedSecret does not have. */
type Picked<T> =
  | { readonly kind: "values"; readonly values: Readonly<Record<string, T>> }
  | { readonly kind: "missing"; readonly key: string };

/** Picks and renames values by data key. */
export function pick<T>(values: Readonly<Record<string, T>>, keys: PickedKeys): Picked<T> {
  if (keys === undefined) return { kind: "values", values };
  const byKey = new Map(Object.entries(values));
  const picked: [string, T][] = [];
  for (const [own, key] of keys) {
    const value = byKey.get(key);
    if (value === undefined) return { kind: "missing", key };
    picked.push([own, value]);
  }
  return { kind: "values", values: Object.fromEntries(picked) };
}

/** Whether two records have the same keys and values. */
export function haveSameValues(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): boolean {
  const entries = Object.entries(one);
  const others = new Map(Object.entries(other));
  return (
    entries.length === others.size && entries.every(([key, value]) => others.get(key) === value)
  );
}
