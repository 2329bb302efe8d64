import { annotations, labels } from "../../api/names.ts";
import { isRecord, ownValue } from "../../api/parse.ts";

/*
 * The agent of a cluster decides by the rules of copies at home, but its copies carry other marks,
 * so that it and a Latchkey in that cluster ignore each other's copies. The marks of both are
 * swapped on the way in and back on the way out: what is not of the agent comes back as it was.
 */

const swappedLabels = pairs(labels.sourceUid, labels.outboxUid);
const swappedAnnotations = pairs(annotations.syncError, annotations.clusterSyncError);

/**
 * A Secret of the cluster, raw, as the rules of copies read it. Anything else is returned as it is.
 */
export function marksAsRead(raw: unknown, cluster: string): unknown {
  return withMarks(raw, (text) => copyOfAsRead(text, cluster));
}

/**
 * A manifest of a Secret, or a merge patch of one, as it is written to the cluster: the inverse of
 * {@link marksAsRead}.
 */
export function marksAsWritten(raw: unknown, cluster: string): unknown {
  return withMarks(raw, (text) => copyOfAsWritten(text, cluster));
}

/** Swaps the labels in a label selector; its own inverse. */
export function swappedSelector(selector: string): string {
  return selector.replaceAll(/[-\w./]+/g, (word) => swappedLabels.get(word) ?? word);
}

/** Before what names no source of the outbox, so that no rule takes the Secret for a copy. */
const foreign = "//";

function copyOfAsRead(text: string, cluster: string): string {
  const prefix = `${cluster}${foreign}`;
  const own = text.startsWith(prefix) ? text.slice(prefix.length) : foreign;
  return own.startsWith(foreign) ? `${foreign}${text}` : own;
}

function copyOfAsWritten(text: string, cluster: string): string {
  return text.startsWith(foreign) ? text.slice(foreign.length) : `${cluster}${foreign}${text}`;
}

function withMarks(raw: unknown, copyOf: (text: string) => string): unknown {
  if (!isRecord(raw)) return raw;
  const metadata = ownValue(raw, "metadata");
  if (!isRecord(metadata)) return raw;
  const given = ownValue(metadata, "labels");
  const others = ownValue(metadata, "annotations");
  const newLabels = isRecord(given) ? swapped(given, swappedLabels) : given;
  const swappedOthers = isRecord(others) ? swapped(others, swappedAnnotations) : others;
  const text = isRecord(swappedOthers) ? ownValue(swappedOthers, annotations.copyOf) : undefined;
  const newAnnotations =
    isRecord(swappedOthers) && typeof text === "string"
      ? { ...swappedOthers, [annotations.copyOf]: copyOf(text) }
      : swappedOthers;
  if (newLabels === given && newAnnotations === others) return raw;
  return {
    ...raw,
    metadata: {
      ...metadata,
      ...(given === undefined ? {} : { labels: newLabels }),
      ...(others === undefined ? {} : { annotations: newAnnotations }),
    },
  };
}

type Names = ReadonlyMap<string, string>;

/** The record with other names of some keys; the record itself if it has none of them. */
function swapped(
  record: Readonly<Record<string, unknown>>,
  names: Names,
): Readonly<Record<string, unknown>> {
  if (![...names.keys()].some((name) => Object.hasOwn(record, name))) return record;
  return Object.fromEntries(
    Object.entries(record).map(([key, value]) => [names.get(key) ?? key, value]),
  );
}

function pairs(one: string, other: string): Names {
  return new Map([
    [one, other],
    [other, one],
  ]);
}
