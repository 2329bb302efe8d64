import type { ObjectRef } from "../../api/object.ts";
import { isRecord, numberAt, recordAt, stringAt } from "../../api/parse.ts";

/** What an agent reports of one source. */
export interface SourceReport {
  /** The resourceVersion of the Secret of the outbox that it has acted upon. */
  readonly seen: string;
  readonly desired: number;
  readonly synced: number;
  readonly conflicts: number;
  readonly failed: number;
  /** The first reason for which a target is not synced, or why none of them is written. */
  readonly reason?: string;
  /** One sentence about it, without a value. */
  readonly message?: string;
}

/** A report of an agent: what it says of the sources with one report number. */
export interface ClusterReport {
  /** By the uid of the source. */
  readonly sources: ReadonlyMap<string, SourceReport>;
  /**
   * Withdrawn sources of which the cluster has nothing any more: by uid, the resourceVersion of the
   * Secret of the outbox that withdraws it.
   */
  readonly done: ReadonlyMap<string, string>;
  /** Sources of copies that no Secret of the outbox is about: `namespace/name` by uid. */
  readonly unknown: ReadonlyMap<string, string>;
  /** Why the agent writes nothing; only in the first report. */
  readonly problem?: { readonly reason: string; readonly message: string };
}

/** Maximum bytes of a report: the policy latchkey-outbox rejects a larger one. */
export const largestReport = 64 * 1024;

/** The data key of a report in its ConfigMap. */
export const reportKey = "report.json";

const format = 1;
const longest = { uid: 128, reason: 64, message: 256, version: 64, place: 507 } as const;

/** A report without anything. */
export const emptyReport: ClusterReport = {
  sources: new Map(),
  done: new Map(),
  unknown: new Map(),
};

/**
 * The text of a report, of at most {@link largestReport} bytes: sentences go first, then sources
 * that are well, then unknown ones, so that what is done is always said.
 */
export function reportText(report: ClusterReport): string {
  for (const shorter of [report, withoutMessages(report), failuresOf(report), doneOf(report)]) {
    const text = encoded(shorter);
    if (Buffer.byteLength(text) <= largestReport) return text;
  }
  const done = [...report.done].slice(0, Math.floor(largestReport / (longest.uid + 3)));
  return encoded({ ...emptyReport, done: new Map(done) });
}

function encoded({ sources, done, unknown, problem }: ClusterReport): string {
  return JSON.stringify({
    format,
    sources: Object.fromEntries(sources),
    done: Object.fromEntries(done),
    unknown: Object.fromEntries(unknown),
    ...(problem === undefined ? {} : { problem }),
  });
}

function withoutMessages(report: ClusterReport): ClusterReport {
  const sources = [...report.sources].map(
    ([uid, { message: _, ...source }]) => [uid, source] as const,
  );
  return { ...report, sources: new Map(sources) };
}

function failuresOf(report: ClusterReport): ClusterReport {
  const { sources } = withoutMessages(report);
  return { ...report, sources: new Map([...sources].filter(([, { reason }]) => reason)) };
}

function doneOf({ done }: ClusterReport): ClusterReport {
  return { ...emptyReport, done };
}

/**
 * Reads a report as the central cluster does: it is a stranger's text, so what is not valid is left
 * out, and texts are cut.
 */
export function parseReport(text: string): ClusterReport {
  if (Buffer.byteLength(text) > largestReport) return emptyReport;
  const read = jsonOf(text);
  if (numberAt(read, "format") !== format) return emptyReport;
  const problem = recordAt(read, "problem");
  const reason = shortAt(problem, "reason", longest.reason);
  return {
    sources: new Map(
      entriesOf(recordOf(read, "sources")).map(([uid, source]) => [uid, sourceReport(source)]),
    ),
    done: new Map(
      entriesOf(recordOf(read, "done")).flatMap(([uid, seen]) =>
        typeof seen === "string" && seen.length <= longest.version ? [[uid, seen] as const] : [],
      ),
    ),
    unknown: new Map(
      entriesOf(recordOf(read, "unknown")).flatMap(([uid, place]) =>
        typeof place === "string" && place.length <= longest.place ? [[uid, place] as const] : [],
      ),
    ),
    ...(reason === undefined
      ? {}
      : { problem: { reason, message: shortAt(problem, "message", longest.message) ?? "" } }),
  };
}

function sourceReport(source: unknown): SourceReport {
  const count = (field: string): number => {
    const number = numberAt(source, field) ?? 0;
    return Number.isSafeInteger(number) && number > 0 ? number : 0;
  };
  const reason = shortAt(source, "reason", longest.reason);
  const message = shortAt(source, "message", longest.message);
  return {
    seen: shortAt(source, "seen", longest.version) ?? "",
    desired: count("desired"),
    synced: count("synced"),
    conflicts: count("conflicts"),
    failed: count("failed"),
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

function shortAt(value: unknown, field: string, length: number): string | undefined {
  return stringAt(value, field)?.slice(0, length) || undefined;
}

function recordOf(value: unknown, field: string): unknown {
  return isRecord(value) ? value[field] : undefined;
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return isRecord(value)
    ? Object.entries(value).filter(([uid]) => uid !== "" && uid.length <= longest.uid)
    : [];
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A source that a cluster has copies of and that its outbox says nothing about. */
export interface UnknownSource {
  readonly source: ObjectRef;
  readonly uid: string;
}

/** The sources that a report names as unknown, by the name of their Secret in an outbox. */
export function unknownByName(_report: ClusterReport): ReadonlyMap<string, UnknownSource> {
  return new Map();
}
