import type { ReportItem } from "../../../api/report.ts";
import { placeOf } from "../../../domain/report-object.ts";
import { colorOf } from "../explain/report.ts";
import { printable } from "../failure.ts";
import { type Paint, spanText } from "../output.ts";
import type { LifetimeStatus, SourceStatus, StatusReport } from "./status-report.ts";

/** The report as a tree of sources and targets, then keys, tokens and what is not visible. */
export function statusText(report: StatusReport, paint: Paint): string {
  const { sharedSecrets, keys, tokens, notVisible } = report;
  const sections = [
    section(
      "SharedSecrets",
      sharedSecrets.flatMap((source) => sourceLines(source, paint)),
    ),
    section("Access keys that expire soon or are not ready", lifetimeLines(keys, paint)),
    section("Direct tokens", lifetimeLines(tokens, paint)),
    notVisible.length === 0
      ? []
      : section(
          "Not visible to you",
          notVisible.map(({ message }) => printable(message)),
        ),
  ];
  return [...sections.flat(), ""].join("\n");
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return [title, ...(lines.length === 0 ? ["none"] : lines).map((line) => `  ${line}`)];
}

function sourceLines(source: SourceStatus, paint: Paint): readonly string[] {
  const { object, state, reason, message, summary, secrets } = source;
  const color = colorOf(source);
  const children = [
    ...(state === "ok" ? [] : [paint(printable(message), color)]),
    ...secrets.map((secret) => targetLine(secret, paint)),
  ];
  const title = `${placeOf(object)}   ${reason}, ${summary}`;
  return [paint(printable(title), color), ...branches(children)];
}

function targetLine({ object, state, reason, message, target }: ReportItem, paint: Paint): string {
  const title = `${placeOf(object)}   ${state === "info" ? "paused" : (target ?? "")}`;
  if (state === "problem") return paint(printable(`${title} ${reason}: ${message}`), "bad");
  return state === "info" ? paint(printable(title), "faint") : printable(title);
}

function branches(lines: readonly string[]): readonly string[] {
  return lines.map((line, at) => `${at === lines.length - 1 ? "└─" : "├─"} ${line}`);
}

/** Maximum keys or tokens in the text; `-o json` has all of them. */
const mostLines = 20;

function lifetimeLines(states: readonly LifetimeStatus[], paint: Paint): readonly string[] {
  const lines = states.slice(0, mostLines).map((found) => {
    const { object, state, reason, message, endsIn } = found;
    const end = endsIn === undefined || endsIn < 0 ? "" : `, ends in ${spanText(endsIn)}`;
    const line = printable(`${placeOf(object)}   ${reason}${end}: ${message}`);
    return paint(line, state === "problem" ? "bad" : "faint");
  });
  return states.length <= mostLines
    ? lines
    : [...lines, paint(`and ${states.length - mostLines} more`, "faint")];
}
