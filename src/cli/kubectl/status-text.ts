import { printable } from "./failure.ts";
import { type Paint, spanText } from "./output.ts";
import type { LifetimeStatus, SourceStatus, StatusReport } from "./status-report.ts";

/** The report as a tree of sources and targets, then keys, tokens and what is not visible. */
export function statusText(report: StatusReport, paint: Paint): string {
  const { sharedSecrets, keys, tokens, notVisible } = report;
  const sections = [
    section(
      "SharedSecrets",
      sharedSecrets.flatMap((source) => sourceLines(source, paint)),
    ),
    section("Access keys that end soon or are not well", lifetimeLines(keys, paint)),
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
  const title = `${source.name}   ${source.reason}, ${source.synced} of ${source.desired} copies`;
  const failed = new Set(source.failures.map(({ target }) => target));
  const paused = new Set(source.paused);
  const children = [
    ...(source.well ? [] : [paint(printable(source.message), "bad")]),
    ...(source.targets ?? [])
      .filter((target) => !failed.has(target))
      .map((target) =>
        paused.has(target) ? paint(printable(`${target}   paused`), "faint") : printable(target),
      ),
    ...source.failures.map(({ target, reason, message }) =>
      paint(printable(`${target}   ${reason}: ${message}`), "bad"),
    ),
  ];
  return [paint(printable(title), source.well ? "good" : "bad"), ...branches(children)];
}

function branches(lines: readonly string[]): readonly string[] {
  return lines.map((line, at) => `${at === lines.length - 1 ? "└─" : "├─"} ${line}`);
}

/** Maximum keys or tokens in the text; `-o json` has all of them. */
const mostLines = 20;

function lifetimeLines(states: readonly LifetimeStatus[], paint: Paint): readonly string[] {
  const lines = states.slice(0, mostLines).map(({ name, well, reason, message, endsIn }) => {
    const end = endsIn === undefined || endsIn < 0 ? "" : `, ends in ${spanText(endsIn)}`;
    return paint(printable(`${name}   ${reason}${end}: ${message}`), well ? "faint" : "bad");
  });
  return states.length <= mostLines
    ? lines
    : [...lines, paint(`and ${states.length - mostLines} more`, "faint")];
}
