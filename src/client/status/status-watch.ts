import { aborted, sleep, type Timers } from "../../runtime/clock.ts";
import { reportText } from "../report.ts";
import { paintWith, type ResultFormat } from "../output.ts";
import type { Terminal } from "../terminal.ts";
import { statusItems, statusText } from "./status-report.ts";
import { pauseAfter, type StatusSource, type StatusView } from "./status-source.ts";

/** How the reports are printed. */
export interface WatchOptions {
  readonly intervalMs: number;
  readonly output: ResultFormat;
  /** What the report is about, for the first line on a terminal. */
  readonly title: string;
}

/** Dependencies of {@link watchStatus}. */
interface WatchDeps {
  readonly source: Pick<StatusSource, "first" | "next" | "tookMs">;
  readonly terminal: Pick<Terminal, "print" | "say" | "isOutput" | "hasColors" | "rows">;
  readonly clock: Timers;
  /** Ends the command. */
  readonly signal: AbortSignal;
}

/**
 * Prints a report, and again until the signal aborts: in place on a terminal, elsewhere whenever it
 * changes. Rejects if the first report cannot be read.
 */
export async function watchStatus(options: WatchOptions, deps: WatchDeps): Promise<void> {
  const { source, terminal, clock, signal } = deps;
  const isInPlace = terminal.isOutput && options.output === undefined;
  const show = isInPlace ? inPlace(options, deps) : onChange(options, deps);
  const ended = aborted(signal).then(() => undefined);
  try {
    for (let isFirst = true; !signal.aborted; isFirst = false) {
      const reading = isFirst ? source.first() : source.next();
      // The connection is closed while a request may be pending.
      reading.catch(() => {});
      const view = await Promise.race([reading, ended]);
      if (view === undefined) return;
      show(view);
      await sleep(pauseAfter(source.tookMs, options.intervalMs), { clock, signal });
    }
  } finally {
    if (isInPlace) terminal.print(wrapLines);
  }
}

type Show = (view: StatusView) => void;

/** Control sequences of a terminal (ECMA-48, and DECAWM of the VT100). */
const [home, clearLine, clearRest] = ["\u{1b}[H", "\u{1b}[K", "\u{1b}[J"];
const [cutLines, wrapLines] = ["\u{1b}[?7l", "\u{1b}[?7h"];

function inPlace({ title }: WatchOptions, { terminal }: WatchDeps): Show {
  const paint = paintWith(terminal.hasColors);
  return ({ report, readAt, problem }) => {
    const at = readAt === undefined ? "" : new Date(readAt).toISOString().slice(11, 19);
    const head = [
      paint(`${title}   ${at} UTC`, "faint"),
      ...(problem === undefined ? [] : [paint(`not current: ${problem}; trying again`, "bad")]),
      "",
    ];
    const body = report === undefined ? [] : statusText(report, paint).trimEnd().split("\n");
    const lines = fitting([...head, ...body], terminal.rows());
    const text = lines.map((line) => `${line}${clearLine}`).join("\n");
    terminal.print(`${cutLines}${home}${text}${clearRest}`);
  };
}

/** The first lines, if there are more than a terminal has. */
function fitting(lines: readonly string[], rows: number): readonly string[] {
  if (lines.length <= rows) return lines;
  const shown = Math.max(1, rows - 1);
  return [...lines.slice(0, shown), `... and ${lines.length - shown} more lines`];
}

function onChange({ output }: WatchOptions, { terminal }: WatchDeps): Show {
  const paint = paintWith(terminal.hasColors);
  let last = "";
  let lastProblem: string | undefined;
  return ({ report, problem }) => {
    if (problem !== lastProblem)
      terminal.say(
        problem === undefined ? "the API server answers again" : `${problem}; trying again`,
      );
    lastProblem = problem;
    const state = JSON.stringify(report, withoutAges);
    if (report === undefined || state === last) return;
    const separator =
      last === "" ? "" : output === undefined ? "\n" : output === "yaml" ? "---\n" : "";
    last = state;
    const text = reportText(statusItems(report), output, () => statusText(report, paint));
    terminal.print(separator + text);
  };
}

/** The fields of a report that change as time passes. */
const ages: readonly string[] = ["endsIn", "heartbeatAge", "unseenAge"];

function withoutAges(field: string, value: unknown): unknown {
  return ages.includes(field) ? undefined : value;
}
