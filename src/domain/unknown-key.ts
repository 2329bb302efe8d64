import { knownKeys, type MarkedKind, type MetadataKey } from "../api/known-keys.ts";
import { group } from "../api/names.ts";
import type { ReportItem, ReportObject } from "../api/report.ts";
import { similarName } from "./similar-name.ts";

/** That a label or annotation has no effect on an object of a kind, and what was probably meant. */
export function unknownKeySentence(kind: MarkedKind, unknown: MetadataKey): string {
  const { field, key } = unknown;
  const meant = meantKey(kind, unknown);
  const fix =
    meant === undefined
      ? `remove it; kubectl explain sharedsecret lists those that have one`
      : meant.key === key
        ? `set it as ${nounOf(meant)} ${key}`
        : `did you mean ${nounOf(meant)} ${meant.key}?`;
  return `${field === "labels" ? "label" : "annotation"} ${key} has no effect on ${kind}s; ${fix}`;
}

/** The label or annotation that an unknown one of an object was probably meant to be. */
export function meantKey(kind: MarkedKind, { field, key }: MetadataKey): MetadataKey | undefined {
  const { labels, annotations } = knownKeys[kind];
  const fieldOf = (known: string): MetadataKey["field"] =>
    knownKeys[kind][field].includes(known) ? field : field === "labels" ? "annotations" : "labels";
  const all = [...annotations, ...labels];
  if (all.includes(key)) return { field: fieldOf(key), key };
  const similar = similarName(wordOf(key), all.map(wordOf));
  const found = all.find((known) => wordOf(known) === similar);
  return found === undefined ? undefined : { field: fieldOf(found), key: found };
}

function wordOf(key: string): string {
  return key.slice(group.length + 1);
}

function nounOf({ field }: MetadataKey): string {
  return field === "labels" ? "the label" : "the annotation";
}

/** That a label or annotation of an object has no effect, and which one has. */
export function unknownKeyItem(
  kind: MarkedKind,
  object: ReportObject,
  unknown: MetadataKey,
): ReportItem {
  const meant = meantKey(kind, unknown);
  const field = `metadata.${unknown.field}[${JSON.stringify(unknown.key)}]`;
  const fix =
    meant === undefined ? "Remove it." : `Set ${meant.field.slice(0, -1)} ${meant.key} instead.`;
  const reason = "UnknownAnnotation";
  return {
    object,
    state: "problem",
    reason,
    message: unknownKeySentence(kind, unknown),
    causes: [{ object, field, reason, message: fix }],
  };
}
