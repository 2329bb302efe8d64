import { annotations, group } from "../../api/names.ts";
import { isLabelValue, isQualifiedName } from "../../api/label-form.ts";
import type { Annotated, Marks } from "../../api/object.ts";
import { quoted } from "../report-object.ts";
import { listEntries, type OptionItem, optionItems } from "./option-items.ts";

/** Labels and annotations that the copies of a SharedSecret have beside Latchkey's own. */
export type CopyMetadata = Marks;

/** The options `copy-labels` and `copy-annotations`, or why one of them is invalid. */
type CopyMetadataOption =
  | { readonly kind: "metadata"; readonly metadata?: CopyMetadata }
  | { readonly kind: "refused"; readonly why: string };

type Texts = Readonly<Record<string, string>>;
type Field = keyof CopyMetadata;

/**
 * For each field of the metadata: the option on the SharedSecret, and the annotation of a copy that
 * records which keys are Latchkey's.
 */
const fields = {
  labels: { option: annotations.copyLabels, record: annotations.copiedLabels },
  annotations: { option: annotations.copyAnnotations, record: annotations.copiedAnnotations },
} as const;

/** Parses the options `copy-labels` and `copy-annotations` of a SharedSecret. */
export function copyMetadataOf(given: Texts): CopyMetadataOption {
  const labels = readOption("labels", given);
  if ("why" in labels) return { kind: "refused", why: labels.why };
  const others = readOption("annotations", given);
  if ("why" in others) return { kind: "refused", why: others.why };
  const metadata = { labels: labels.texts, annotations: others.texts };
  return isEmpty(metadata) ? { kind: "metadata" } : { kind: "metadata", metadata };
}

function readOption(
  field: Field,
  given: Texts,
): { readonly texts: Texts } | { readonly why: string } {
  const { option } = fields[field];
  const items = optionItems(given[option]);
  if (items.kind === "refused") return { why: `${option}: ${items.why}` };
  for (const item of items.items) {
    const why = itemProblem(field, item);
    if (why !== undefined) return { why: `${option}: ${quoted(item.text)} is invalid; ${why}` };
  }
  return { texts: Object.fromEntries(items.items.map(({ key, value = "" }) => [key, value])) };
}

function itemProblem(field: Field, { key, value }: OptionItem): string | undefined {
  if (value === undefined) return "must have the form key=value";
  // Kubernetes ignores the case of the domain of an annotation, but not of a label (apimachinery,
  // ValidateAnnotations and ValidateLabels).
  if (!isQualifiedName(field === "labels" ? key : key.toLowerCase()))
    return "the key must be a qualified name, such as team or example.com/team";
  if (isReservedKey(key))
    return "keys of kubernetes.io, k8s.io and management.service are reserved; remove the item";
  if (field === "labels" && !isLabelValue(value))
    return (
      "the value of a label must have at most 63 letters, digits, '-', '_' and '.', " +
      "and begin and end with a letter or digit"
    );
  return undefined;
}

/** Returns the labels and annotations that are allowed; undefined if there are none. */
export function allowedMetadata(
  metadata: CopyMetadata,
  allowCopyKeys: string | undefined,
): CopyMetadata | undefined {
  const withheld = withheldKeys(metadata, allowCopyKeys);
  if (withheld.length === 0) return metadata;
  const left = {
    labels: without(metadata.labels, withheld),
    annotations: without(metadata.annotations, withheld),
  };
  return isEmpty(left) ? undefined : left;
}

/** The keys that are not allowed. */
export function withheldKeys(
  metadata: CopyMetadata | undefined,
  allowCopyKeys: string | undefined,
): readonly string[] {
  if (metadata === undefined) return [];
  const isAllowed = copyKeyFilter(allowCopyKeys);
  const keys = [...Object.keys(metadata.labels), ...Object.keys(metadata.annotations)];
  return keys.filter((key) => !isAllowed(key));
}

/** The text that a copy lacks the label or annotation with a key, and how to allow it. */
export function withheldText(key: string): string {
  return (
    `without key ${JSON.stringify(key)}, which is not allowed; ` +
    "add it to --copy-keys of latchkey controller, or to annotation " +
    `${annotations.allowCopyKeys} of the namespace`
  );
}

/** Whether a copy has these labels and annotations, and no others that Latchkey has set. */
export function hasCopyMetadata(copy: Marks, wanted: CopyMetadata | undefined): boolean {
  return fieldNames.every((field) => {
    const texts = wanted?.[field] ?? {};
    return (
      copy.annotations[fields[field].record] === recordOf(texts) &&
      Object.entries(texts).every(([key, value]) => copy[field][key] === value)
    );
  });
}

/**
 * The labels and annotations of a copy with these of its source. Those that an earlier list set,
 * and this one does not, are removed; others are kept.
 */
export function withCopyMetadata(copy: Marks | undefined, wanted: CopyMetadata | undefined): Marks {
  const [labels, others] = fieldNames.map((field) => ({
    ...without(copy?.[field] ?? {}, recorded(copy, field)),
    ...wanted?.[field],
  }));
  const records = fieldNames.flatMap((field) => {
    const record = recordOf(wanted?.[field] ?? {});
    return record === undefined ? [] : [[fields[field].record, record]];
  });
  const recordKeys = fieldNames.map((field) => fields[field].record);
  return {
    labels: { ...labels },
    annotations: { ...without(others ?? {}, recordKeys), ...Object.fromEntries(records) },
  };
}

const fieldNames = ["labels", "annotations"] as const;

/** The keys that a copy records as set by Latchkey, without keys that Latchkey never sets. */
function recorded(copy: Annotated | undefined, field: Field): readonly string[] {
  const record = copy?.annotations[fields[field].record] ?? "";
  return record.split(",").filter((key) => !isReservedKey(key));
}

/** The value of a record: the keys in order, separated by commas; undefined if there are none. */
function recordOf(texts: Texts): string | undefined {
  const keys = Object.keys(texts).sort();
  return keys.length === 0 ? undefined : keys.join(",");
}

/** Labels or annotations without these keys. */
export function without(texts: Texts, keys: readonly string[]): Texts {
  return Object.fromEntries(Object.entries(texts).filter(([key]) => !keys.includes(key)));
}

function isEmpty({ labels, annotations: others }: CopyMetadata): boolean {
  return Object.keys(labels).length + Object.keys(others).length === 0;
}

/**
 * Domains of keys that Kubernetes and Latchkey interpret (Kubernetes, "Well-Known Labels,
 * Annotations and Taints": `kubernetes.io` and `k8s.io` are reserved).
 */
const reservedDomains: readonly string[] = [group, "kubernetes.io", "k8s.io"];

/**
 * Whether the key of a label or annotation belongs to Kubernetes or to Latchkey, so that no list
 * allows it on copies; the case of its domain does not count.
 */
export function isReservedKey(key: string): boolean {
  const domain = domainOf(key);
  return reservedDomains.some(
    (reserved) => domain === reserved || domain?.endsWith(`.${reserved}`) === true,
  );
}

/**
 * Returns whether the copies in a namespace may have the key of a label or annotation: the list of
 * the namespace, as `readNamespace` returns it, has the key, or its domain as `<domain>/*`.
 */
export function copyKeyFilter(allowCopyKeys: string | undefined): (key: string) => boolean {
  const entries = new Set(listEntries(allowCopyKeys ?? ""));
  return (key) => {
    const domain = domainOf(key);
    return entries.has(key) || (domain !== undefined && entries.has(`${domain}/*`));
  };
}

/** Maximum characters of the annotation `allow-copy-keys`; a longer one allows nothing. */
const longestAllowList = 4096;

/**
 * The list of the keys that the copies in a namespace may have: those that the controller allows
 * everywhere, and those of the annotation `allow-copy-keys`; undefined without both.
 */
export function allowedCopyKeys(
  annotation: string | undefined,
  everywhere: readonly string[],
): string | undefined {
  const own = annotation === undefined || annotation.length > longestAllowList ? [] : [annotation];
  const lists = [...everywhere, ...own];
  return lists.length === 0 ? undefined : lists.join(",");
}

function domainOf(key: string): string | undefined {
  const slash = key.indexOf("/");
  return slash === -1 ? undefined : key.slice(0, slash).toLowerCase();
}
