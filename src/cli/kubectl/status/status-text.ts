import type { ObjectState } from "../../../domain/object-state.ts";
import { printable } from "../failure.ts";
import { type Paint, spanText } from "../output.ts";
import type { LifetimeStatus, SourceStatus, StatusReport, TargetStatus } from "./status-report.ts";

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
  const title = `${source.name}   ${source.reason}, ${source.summary}`;
  const color = colorOf(source, "good");
  const children = [
    ...(source.state === "ready" ? [] : [paint(printable(source.message), color)]),
    ...source.targets.map((target) => targetLine(target, paint)),
  ];
  return [paint(printable(title), color), ...branches(children)];
}

function colorOf({ state }: ObjectState, ready: "good" | "faint"): "good" | "faint" | "bad" {
  return state === "not-ready" ? "bad" : state === "ready" ? ready : "faint";
}

function targetLine({ target, state, failure }: TargetStatus, paint: Paint): string {
  const title = `${target}   ${state ?? ""}`;
  if (failure !== undefined)
    return paint(printable(`${title} ${failure.reason}: ${failure.message}`), "bad");
  return state === "paused" ? paint(printable(title), "faint") : printable(title);
}

function branches(lines: readonly string[]): readonly string[] {
  return lines.map((line, at) => `${at === lines.length - 1 ? "└─" : "├─"} ${line}`);
}

/** Maximum keys or tokens in the text; `-o json` has all of them. */
const mostLines = 20;

function lifetimeLines(states: readonly LifetimeStatus[], paint: Paint): readonly string[] {
  const lines = states.slice(0, mostLines).map((found) => {
    const { name, reason, message, endsIn } = found;
    const end = endsIn === undefined || endsIn < 0 ? "" : `, ends in ${spanText(endsIn)}`;
    return paint(printable(`${name}   ${reason}${end}: ${message}`), colorOf(found, "faint"));
  });
  return states.length <= mostLines
    ? lines
    : [...lines, paint(`and ${states.length - mostLines} more`, "faint")];
}
