import { percentile } from "../support/percentile.ts";
import type { Latency } from "./markers.ts";
import type { MemoryReport, Sample } from "./memory.ts";
import type { Outcome } from "./pace.ts";

/** The slope of resident memory that is too high, in MB per minute. */
const slopeLimit = 1;

/** A soak shorter than this, in minutes, gives no reliable slopes. */
export const shortestForSlope = 10;

/** The results of a soak. */
export interface Findings {
  readonly seed: number;
  readonly minutes: number;
  readonly perSecond: number;
  readonly outcomes: Readonly<Record<string, Outcome>>;
  readonly total: Outcome;
  /** Changes that were not sent, because nearly all objects waited for a response. */
  readonly heldBack: number;
  readonly failures: readonly string[];
  /** The number of broken watches, by kind. */
  readonly broken: Readonly<Record<string, number>>;
  readonly latencies: readonly Latency[];
  /** Timed changes without an effect. */
  readonly withoutEffect: number;
  readonly memory: MemoryReport;
  readonly samples: readonly Sample[];
  readonly reconciles: number;
  readonly cpuSeconds: number;
  /** The differences at the end, after waiting for the expected state. */
  readonly differences: readonly string[];
  /** Seconds from the last change until there was no difference. */
  readonly settledAfter: number;
  /** Writes of the controller, without those of the Lease. */
  readonly writes: number;
  /** Writes of a controller that was started afterwards. */
  readonly freshWrites: readonly string[];
  /** How the controller exited, if it did. */
  readonly deaths: readonly string[];
  readonly errorLines: readonly string[];
  readonly bugs: number;
  readonly secretLines: number;
}

/** A goal that must be met. */
export interface Must {
  readonly sentence: string;
  readonly holds: boolean;
  /** Details that are printed if it is missed. */
  readonly details: readonly string[];
}

/** The goals of a soak. */
export function mustsOf(findings: Findings): readonly Must[] {
  const { total, memory, heldBack, failures, differences, deaths, errorLines } = findings;
  const all = total.done + total.late + total.failed + heldBack;
  const must = (sentence: string, holds: boolean, details: readonly string[] = []): Must => ({
    sentence,
    holds,
    details,
  });
  const none = (sentence: string, found: readonly string[]): Must =>
    must(sentence, found.length === 0, found);
  const areMost = total.done >= 0.8 * all && total.failed <= 0.01 * all;
  const grows = `resident memory grows by less than ${slopeLimit} MB a minute`;
  return [
    must(
      "of a hundred changes, the API server makes 80 and fails at no more than one",
      areMost,
      failures,
    ),
    none("the last change of every sort arrives, and nothing else is left", differences),
    must("every timed change has its effect", findings.withoutEffect === 0),
    none("a controller started afterwards writes nothing", findings.freshWrites),
    none("the controller never dies", deaths),
    none("nothing is logged at level error", errorLines),
    must("no reconcile meets a bug", findings.bugs === 0),
    must("no secret is in the log", findings.secretLines === 0),
    ...(isLong(findings) ? [must(grows, memory.residentSlope < slopeLimit)] : []),
  ];
}

const isLong = ({ minutes }: Findings): boolean => minutes >= shortestForSlope;

/** The summary that is printed at the end. */
export function summaryOf(findings: Findings): string {
  const { memory, total } = findings;
  const row = (what: string, value: string): string => `${what.padEnd(34)} ${value}`;
  const below = memory.residentSlope < slopeLimit ? "below" : "NOT below";
  const verdict = isLong(findings)
    ? `${below} ${slopeLimit} MB/min`
    : `no verdict: a soak of less than ${shortestForSlope} minutes is too short for one`;
  const made = `${total.done} made, ${total.late} too late (404, 409), ${total.failed} failed, ${findings.heldBack} held back`;
  const rate = (total.done / findings.minutes / 60).toFixed(1);
  const broken = Object.entries(findings.broken).map(([sort, count]) => `${count} ${sort}`);
  const { reconciles, cpuSeconds, errorLines, bugs } = findings;
  return [
    row("changes", `${made}; ${rate} a second for ${findings.minutes} min, SEED=${findings.seed}`),
    row("writes of the controller", String(findings.writes)),
    ...Object.entries(findings.outcomes).map(([sort, { done, late, failed }]) =>
      row(`  ${sort}`, `${done} made, ${late} too late, ${failed} failed`),
    ),
    row("watches broken", broken.join(", ")),
    ...latencyRows(findings.latencies).map(([what, value]) => row(what, value)),
    row("all right after the last change", `${findings.settledAfter.toFixed(1)} s`),
    row("reconciles, processor time", `${reconciles}, ${cpuSeconds.toFixed(0)} s`),
    row("errors logged, bugs", `${errorLines.length}, ${bugs}`),
    row(
      `resident after ${memory.warmUpMinutes} min of warm-up`,
      `${memory.residentAfterWarmUp.toFixed(1)} MB`,
    ),
    row("resident at the end", `${memory.residentAtEnd.toFixed(1)} MB`),
    row("slope of resident memory", `${memory.residentSlope.toFixed(2)} MB/min, ${verdict}`),
    row("slope of the heap's lows", `${memory.heapSlope.toFixed(2)} MB/min`),
    "",
    ...mustsOf(findings).flatMap(({ sentence, holds, details }) => [
      `${holds ? "ok    " : "MISSED"} ${sentence}`,
      ...(holds ? [] : details.slice(0, 20).map((detail) => `         ${detail}`)),
    ]),
  ].join("\n");
}

/** Percentiles of each marker: those without broken watches, and all. */
export function latencyRows(latencies: readonly Latency[]): readonly (readonly [string, string])[] {
  const names = [...new Set(latencies.map(({ marker }) => marker))];
  const figures = (some: readonly Latency[]): string => {
    const ms = some.map((latency) => latency.ms);
    return `p50 ${shownMs(percentile(ms, 0.5))}, p99 ${shownMs(percentile(ms, 0.99))}, longest ${shownMs(percentile(ms, 1))}, n ${ms.length}`;
  };
  return names.flatMap((name) => {
    const all = latencies.filter(({ marker }) => marker === name);
    return [
      [name, `${figures(all.filter(({ isCalm }) => isCalm))} (watches whole)`] as const,
      [`  broken watches included`, figures(all)] as const,
    ];
  });
}

function shownMs(ms: number): string {
  return ms >= 10_000 ? `${(ms / 1000).toFixed(0)} s` : `${ms.toFixed(0)} ms`;
}
