import type { ReportItem } from "../../../api/report.ts";
import { nameOf } from "../../../domain/report-object.ts";
import { sleep } from "../../../runtime/clock.ts";
import { runChecks } from "./checks.ts";
import type { Action } from "../cli.ts";
import type { commands } from "../command-table.ts";
import { exitCodes } from "../failure.ts";
import { type Paint, tableText } from "../output.ts";
import { isWell, printReport } from "./report.ts";

const everyMs = 2_000;

/** `kubectl latchkey check`. */
export const check: Action<typeof commands.check.flags> = async ({ flags }, cli) => {
  const cluster = await cli.connect(flags);
  const { clock, terminal } = cli;
  const end = clock.monotonic() + flags.wait;
  const look = () => runChecks({ cluster, namespace: flags.latchkeyNamespace }, { clock });
  let results = await look();
  while (!isWell(results) && clock.monotonic() < end) {
    if (terminal.isError) terminal.say("waiting until Latchkey is well ...");
    await sleep(everyMs, { clock });
    results = await look();
  }
  printReport(results, (paint) => resultsText(results, paint), { ...flags, terminal });
  return isWell(results) ? exitCodes.done.code : exitCodes.unhealthy.code;
};

function resultsText(results: readonly ReportItem[], paint: Paint): string {
  const text = tableText(
    ["OBJECT", "STATE", "MESSAGE"],
    results.map(({ object, state, message }) => [nameOf(object), state, message]),
  );
  // Whole lines are painted, because colors count as width in columns.
  return text
    .split("\n")
    .map((line, at) => {
      const state = results[at - 1]?.state;
      if (state === "problem") return paint(line, "bad");
      return state === "unknown" ? paint(line, "faint") : line;
    })
    .join("\n");
}
