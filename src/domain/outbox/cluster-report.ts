import { excessIn } from "../../api/bounded-json.ts";
import type { Reason } from "../../api/conditions.ts";
import type { ObjectRef } from "../../api/object.ts";
import { numberAt, recordAt, stringAt } from "../../api/parse.ts";
import { readingBounds } from "../../api/reading-bounds.ts";
import { isSourceUid, outboxName, placeIn } from "./outbox-names.ts";

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

/** The data key of a report in its ConfigMap. */
export const reportKey = "report.json";

const format = 1;
const longest = { message: 256, version: 64 } as const;

/** A report without anything. */
export const emptyReport: ClusterReport = {
  sources: new Map(),
  done: new Map(),
  unknown: new Map(),
};

/** Reasons of a cluster that only the central cluster knows: an agent that says one imitates it. */
const centralReasons: readonly string[] = [
  "ClusterUnknown",
  "ClusterUnreachable",
  "OutboxFull",
  "OutboxMissing",
  "ProjectNotLetIn",
] satisfies readonly Reason[];

/** Whether a text is a reason (metav1.Condition), of at most 64 letters. */
export function isReason(text: string): boolean {
  return /^[A-Za-z]{1,64}$/.test(text);
}

/**
 * The text of a report, within `readingBounds.agentReport`. Where not all fits, sentences go first,
 * then sources that are well, then unknown ones, so that what is done is always said.
 */
export function reportText(report: ClusterReport): string {
  const bounded = { ...report, sources: mapped(report.sources, boundedSource) };
  const whole = encoded(bounded);
  return Buffer.byteLength(whole) <= readingBounds.agentReport.bytes
    ? whole
    : encoded(shortened(bounded));
}

function boundedSource({ message, ...source }: SourceReport): SourceReport {
  const text = plainText(message ?? "");
  return { ...source, ...(text === "" ? {} : { message: text }) };
}

function encoded({ sources, done, unknown, problem }: ClusterReport): string {
  return JSON.stringify({
    format,
    sources: Object.fromEntries(mapped(sources, sourceEntry)),
    done: Object.fromEntries(done),
    unknown: Object.fromEntries(unknown),
    ...(problem === undefined ? {} : { problem }),
  });
}

/** A source as a list, because a report has thousands of them: two entries if it is well. */
function sourceEntry({ seen, desired, synced, ...source }: SourceReport): readonly unknown[] {
  const { conflicts, failed, reason, message } = source;
  const isPlain = message === undefined && isWell({ seen, desired, synced, ...source });
  if (isPlain) return [seen, desired];
  const why = message === undefined ? (reason === undefined ? [] : [reason]) : [reason, message];
  return [seen, desired, synced, conflicts, failed, ...why];
}

/** Whether every target of a source in a cluster has its data, and nothing is to be said of it. */
export function isWell(report: Omit<SourceReport, "message">): boolean {
  const { desired, synced, conflicts, failed, reason } = report;
  return synced === desired && conflicts === 0 && failed === 0 && reason === undefined;
}

/** As much of a report as fits, without sentences. */
function shortened({ sources, done, unknown, problem }: ClusterReport): ClusterReport {
  const rest = problem === undefined ? {} : { problem };
  const budget =
    readingBounds.agentReport.bytes - Buffer.byteLength(encoded({ ...emptyReport, ...rest }));
  const { fitting } = fitted(budget);
  const named = mapped(sources, withoutMessage);
  const isTroubled = (source: SourceReport): boolean => !isWell(source);
  const said = fitting(done, (seen) => seen);
  const troubled = fitting(filtered(named, isTroubled), sourceEntry);
  const unheard = fitting(unknown, (place) => place);
  const well = fitting(filtered(named, isWell), sourceEntry);
  return { done: said, sources: new Map([...troubled, ...well]), unknown: unheard, ...rest };
}

/** A report without its sentence. */
export function withoutMessage<T extends { readonly message?: string }>(
  report: T,
): Omit<T, "message"> {
  const { message: _, ...others } = report;
  return others;
}

/** Takes entries while there are bytes left for them in JSON, from `bytes` on. */
function fitted(bytes: number) {
  let left = bytes;
  const fitting = <T>(
    entries: ReadonlyMap<string, T>,
    written: (value: T) => unknown,
  ): ReadonlyMap<string, T> => {
    const taken = new Map<string, T>();
    for (const [uid, value] of entries) {
      // The brackets of a list are as long as the comma and the colon of an entry.
      const size = Buffer.byteLength(JSON.stringify([uid, written(value)]));
      if (size > left) return taken;
      left -= size;
      taken.set(uid, value);
    }
    return taken;
  };
  return { fitting };
}

/**
 * Reads a report as the central cluster does: its text is untrusted, so what is not valid is left
 * out, and sentences are cut and have no control characters.
 */
export function parseReport(text: string): ClusterReport {
  const { bytes, depth } = readingBounds.agentReport;
  if (Buffer.byteLength(text) > bytes || excessIn(text, { values: bytes, depth }) !== undefined)
    return emptyReport;
  const read = jsonOf(text);
  if (numberAt(read, "format") !== format) return emptyReport;
  const problem = recordAt(read, "problem");
  const reason = stringAt(problem, "reason") ?? "";
  return {
    sources: entriesOf(read, "sources", sourceReport),
    done: entriesOf(read, "done", versionIn),
    unknown: entriesOf(read, "unknown", (place) =>
      typeof place === "string" && placeIn(place) !== undefined ? place : undefined,
    ),
    ...(isReported(reason)
      ? { problem: { reason, message: plainText(stringAt(problem, "message") ?? "") } }
      : {}),
  };
}

function sourceReport(entry: unknown): SourceReport | undefined {
  if (!Array.isArray(entry)) return undefined;
  const [seen, desired, synced = desired, conflicts = 0, failed = 0, ...why]: unknown[] = entry;
  const version = versionIn(seen);
  if (version === undefined) return undefined;
  const [reason, message] = why.map((text) => (typeof text === "string" ? text : ""));
  const text = plainText(message ?? "");
  return {
    seen: version,
    desired: countIn(desired),
    synced: countIn(synced),
    conflicts: countIn(conflicts),
    failed: countIn(failed),
    ...(reason !== undefined && isReported(reason) ? { reason } : {}),
    ...(text === "" ? {} : { message: text }),
  };
}

function isReported(reason: string): boolean {
  return isReason(reason) && !centralReasons.includes(reason);
}

const largestCount = 2 ** 31 - 1;

function countIn(value: unknown): number {
  const isCount = typeof value === "number" && Number.isInteger(value) && value >= 0;
  return isCount && value <= largestCount ? value : 0;
}

function versionIn(value: unknown): string | undefined {
  return typeof value === "string" && value.length <= longest.version ? value : undefined;
}

/** An untrusted sentence, as a status and a terminal can have it. */
function plainText(text: string): string {
  // oxlint reports control characters in regular expressions, so they are matched by category.
  const plain = text.slice(0, longest.message).toWellFormed();
  return plain.replaceAll(/\p{Cc}|\p{Bidi_Control}/gu, " ").trim();
}

function entriesOf<T>(
  value: unknown,
  field: string,
  read: (entry: unknown) => T | undefined,
): ReadonlyMap<string, T> {
  const entries = Object.entries(recordAt(value, field)).slice(0, readingBounds.agentReport.values);
  return new Map(
    entries.flatMap(([uid, entry]) => {
      const taken = isSourceUid(uid) ? read(entry) : undefined;
      return taken === undefined ? [] : [[uid, taken] as const];
    }),
  );
}

function filtered<T>(
  map: ReadonlyMap<string, T>,
  isTaken: (value: T) => boolean,
): ReadonlyMap<string, T> {
  return new Map([...map].filter(([, value]) => isTaken(value)));
}

function mapped<T, R>(map: ReadonlyMap<string, T>, of: (value: T) => R): ReadonlyMap<string, R> {
  return new Map([...map].map(([key, value]) => [key, of(value)]));
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

/** Maximum unknown sources of a report that are answered at a time; the next report has others. */
const mostAnswered = 256;

/** The first sources that a report names as unknown, by the name of their Secret in an outbox. */
export function unknownByName({ unknown }: ClusterReport): ReadonlyMap<string, UnknownSource> {
  return new Map(
    [...unknown].slice(0, mostAnswered).flatMap(([uid, place]) => {
      const source = placeIn(place);
      return source === undefined ? [] : [[outboxName(source), { source, uid }] as const];
    }),
  );
}
