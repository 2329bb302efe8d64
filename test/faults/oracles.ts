import { recordAt, stringAt } from "../../src/api/parse.ts";
import { reportCount } from "../../src/domain/outbox/outbox-names.ts";
import type { Snapshot } from "../support/snapshot.ts";
import type { Allowance } from "./fault.ts";
import type { Counts } from "./ledger.ts";
import type { Outcome } from "./play.ts";
import type { RetryAllowance } from "./scenario.ts";

/**
 * The result of undisturbed runs of a scenario; counts are the minimum and the maximum of several
 * runs.
 */
export interface Expectation {
  readonly endState: Snapshot;
  readonly counts: ReadonlyMap<string, readonly [number, number]>;
  /**
   * The maximum number of writes that one of the runs requested: a fault may be injected at each.
   */
  readonly calls: number;
  /** The maximum number of reads of Secrets with their data. */
  readonly reads: number;
  readonly changes: number;
  readonly retryAllowance?: RetryAllowance;
}

/**
 * The common result of undisturbed runs; throws if their end states differ, if they do not become
 * idle, or on an unexpected error.
 */
export function expectationOf(
  outcomes: readonly Outcome[],
  retryAllowance?: RetryAllowance,
): Expectation {
  const [first] = outcomes;
  if (first === undefined) throw new Error("no run to learn from");
  const problems = outcomes.flatMap((outcome) => [
    ...outcome.mistakes,
    ...outcome.late,
    ...difference(first.endState, outcome.endState),
  ]);
  if (problems.length > 0) throw new Error(`undisturbed runs disagree:\n${problems.join("\n")}`);
  const entries = new Set(outcomes.flatMap(({ counts }) => [...counts.keys()]));
  const range = (entry: string) => outcomes.map(({ counts }) => counts.get(entry) ?? 0);
  return {
    endState: first.endState,
    counts: new Map(
      [...entries].map((entry) => [entry, [Math.min(...range(entry)), Math.max(...range(entry))]]),
    ),
    calls: Math.max(...outcomes.map(({ calls }) => calls.length)),
    reads: Math.max(...outcomes.map(({ reads }) => reads)),
    changes: first.changes,
    ...(retryAllowance === undefined ? {} : { retryAllowance }),
  };
}

/** The problems of a disturbed run, by oracle; all lists are empty if it passed. */
export interface Verdict {
  readonly endState: readonly string[];
  readonly counts: readonly string[];
  readonly quiet: readonly string[];
  readonly mistakes: readonly string[];
}

/** The parts of a fault that decide how a run with it is judged. */
export interface JudgedFault {
  readonly allowance: Allowance;
  readonly losesEvents?: boolean;
  /** Set if the fault is injected at a request and decides its result. */
  readonly call?: unknown;
}

/** Compares a disturbed run with undisturbed ones. */
export function judge(outcome: Outcome, expected: Expectation, fault: JudgedFault): Verdict {
  const losesEvents =
    fault.losesEvents === true ||
    (fault.call !== undefined && outcome.injectedAt?.includes(" events ") === true);
  const states = [expected.endState, outcome.endState].map((state) =>
    state.filter((text) => !losesEvents || !text.includes('"kind": "EventList"')),
  );
  return {
    endState: difference(states[0] ?? [], states[1] ?? []),
    counts: countProblems(outcome.counts, expected, fault.allowance),
    quiet: outcome.late,
    mistakes: outcome.mistakes,
  };
}

/** All problems of a verdict, one line each. */
export function problemsOf(verdict: Verdict): readonly string[] {
  return Object.entries(verdict).flatMap(([oracle, problems]: [string, readonly string[]]) =>
    problems.map((problem) => `${oracle}: ${problem}`),
  );
}

function countProblems(
  counts: Counts,
  expected: Expectation,
  allowance: Allowance,
): readonly string[] {
  return [...new Set([...counts.keys(), ...expected.counts.keys()])].flatMap((entry) => {
    const count = counts.get(entry) ?? 0;
    const undisturbed = expected.counts.get(entry) ?? ([0, 0] as const);
    const [least, most] = isStatus(entry)
      ? statusesAllowed(
          undisturbed,
          { changes: expected.changes, isOfAgents: isReport(entry) },
          allowance,
        )
      : allowed(entry, undisturbed, allowanceFor(entry, allowance, expected.retryAllowance));
    return count < least || count > most
      ? [`${entry}: ${count} instead of ${undisturbed.join(" to ")}`]
      : [];
  });
}

function allowanceFor(
  entry: string,
  allowance: Allowance,
  retryAllowance: RetryAllowance | undefined,
): Allowance {
  if (retryAllowance?.of.test(entry) !== true) return allowance;
  return {
    ...allowance,
    creates: allowance.creates + (retryAllowance.creates ?? 0),
    updates: allowance.updates + (retryAllowance.updates ?? 0),
    deletes: allowance.deletes + (retryAllowance.deletes ?? 0),
  };
}

/** Reports of agents are statuses too. */
function isStatus(entry: string): boolean {
  return entry.split(" ")[1]?.endsWith("/status") === true || isReport(entry);
}

function isReport(entry: string): boolean {
  return entry.endsWith("/report");
}

/**
 * If the clock runs fast enough, each change is reported twice: when it is in progress, and when it
 * is done. The agent that takes over, and the one that exits and starts again, write all reports.
 */
function statusesAllowed(
  [least, most]: readonly [number, number],
  { changes, isOfAgents }: { readonly changes: number; readonly isOfAgents: boolean },
  { statuses }: Allowance,
): readonly [number, number] {
  const leaders = isOfAgents ? 2 * reportCount : 0;
  return [Math.min(1, least), Math.max(most, 2 * changes) + statuses + leaders];
}

function allowed(
  entry: string,
  [least, most]: readonly [number, number],
  { creates, updates, deletes }: Allowance,
): readonly [number, number] {
  const [verb] = entry.split(" ");
  const slack = verb === "create" ? creates : verb === "delete" ? deletes : updates;
  return [least - slack, most + slack];
}

/** The missing, unexpected and different objects of a snapshot; one line each. */
export function difference(expected: Snapshot, found: Snapshot): readonly string[] {
  const missing = expected.filter((text) => !found.includes(text));
  const unexpected = found.filter((text) => !expected.includes(text));
  const changed = missing.flatMap((text) => {
    const counterpart = unexpected.find((other) => titleOf(other) === titleOf(text));
    return counterpart === undefined ? [] : [{ text, counterpart }];
  });
  return [
    ...missing
      .filter((text) => !changed.some((pair) => pair.text === text))
      .map((text) => `missing: ${titleOf(text)}`),
    ...unexpected
      .filter((text) => !changed.some(({ counterpart }) => counterpart === text))
      .map((text) => `unexpected: ${titleOf(text)}`),
    ...changed.map(
      ({ text, counterpart }) =>
        `${titleOf(text)}: expected${linesOnlyIn(text, counterpart)}; found${linesOnlyIn(counterpart, text)}`,
    ),
  ];
}

function titleOf(text: string): string {
  const object: unknown = JSON.parse(text);
  const { namespace, name } = recordAt(object, "metadata");
  return [stringAt(object, "kind"), namespace, name, stringAt(object, "regarding")]
    .filter((part) => typeof part === "string")
    .join(" ");
}

function linesOnlyIn(text: string, other: string): string {
  const lines = new Set(other.split("\n"));
  return text
    .split("\n")
    .filter((line) => !lines.has(line))
    .map((line) => ` ${line.trim()}`)
    .join("");
}
