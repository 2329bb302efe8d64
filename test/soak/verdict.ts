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
  const { total, memory } = findings;
  const all = total.done + total.late + total.failed + findings.heldBack;
  const must = (sentence: string, holds: boolean, details: readonly string[] = []): Must => ({
    sentence,
    holds,
    details,
  });
  const isLong = findings.minutes >= shortestForSlope;
  return [
    must(
      "of a hundred changes, the API server makes 80 and fails at no more than one",
      total.done >= 0.8 * all && total.failed <= 0.01 * all,
      findings.failures,
    ),
    must(
      "the last change of every sort arrives, and nothing else is left",
      findings.differences.length === 0,
      findings.differences,
    ),
    must("every timed change has its effect", findings.withoutEffect === 0),
    must(
      "a controller started afterwards writes nothing",
      findings.freshWrites.length === 0,
      findings.freshWrites,
    ),
    must("the controller never dies", findings.deaths.length === 0, findings.deaths),
    must("nothing is logged at level error", findings.errorLines.length === 0, findings.errorLines),
    must("no reconcile meets a bug", findings.bugs === 0),
    must("no secret is in the log", findings.secretLines === 0),
    ...(isLong
      ? [
          must(
            `resident memory grows by less than ${slopeLimit} MB a minute`,
            memory.residentSlope < slopeLimit,
          ),
        ]
      : []),
  ];
}

/** The summary that is printed at the end. */
export function summaryOf(findings: Findings): string {
  const { memory, total } = findings;
  const row = (what: string, value: string): string => `${what.padEnd(34)} ${value}`;
  const isLong = findings.minutes >= shortestForSlope;
  const below = memory.residentSlope < slopeLimit ? "below" : "NOT below";
  const verdict = isLong
    ? `${below} ${slopeLimit} MB/min`
    : `no verdict: a soak of less than ${shortestForSlope} minutes is too short for one`;
  return [
    row(
      "changes",
      `${total.done} made, ${total.late} too late (404, 409), ${total.failed} failed, ${findings.heldBack} held back; ${(total.done / findings.minutes / 60).toFixed(1)} a second for ${findings.minutes} min, SEED=${findings.seed}`,
    ),
    row("writes of the controller", String(findings.writes)),
    ...Object.entries(findings.outcomes).map(([sort, { done, late, failed }]) =>
      row(`  ${sort}`, `${done} made, ${late} too late, ${failed} failed`),
    ),
    row(
      "watches broken",
      Object.entries(findings.broken)
        .map(([sort, count]) => `${count} ${sort}`)
        .join(", "),
    ),
    ...latencyRows(findings.latencies).map(([what, value]) => row(what, value)),
    row("all right after the last change", `${findings.settledAfter.toFixed(1)} s`),
    row(
      "reconciles, processor time",
      `${findings.reconciles}, ${findings.cpuSeconds.toFixed(0)} s`,
    ),
    row("errors logged, bugs", `${findings.errorLines.length}, ${findings.bugs}`),
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
