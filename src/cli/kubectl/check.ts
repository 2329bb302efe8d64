import { timestamp } from "../../domain/plan/conditions.ts";
import { sleep } from "../../runtime/sleep.ts";
import { latchkeyVersion } from "../latchkey-version.ts";
import { type CheckResult, isWell, runChecks } from "./checks.ts";
import type { Action, Cli } from "./cli.ts";
import type { commands } from "./command-table.ts";
import { exitCodes } from "./failure.ts";
import { paintWith, resultText, tableText } from "./output.ts";

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
  const content = {
    client: latchkeyVersion,
    at: timestamp(clock.now()),
    well: isWell(results),
    checks: results,
  };
  terminal.print(resultText(flags.output, content, () => resultsText(results, cli)));
  return isWell(results) ? exitCodes.done.code : exitCodes.unhealthy.code;
};

function resultsText(results: readonly CheckResult[], { terminal }: Cli): string {
  const paint = paintWith(terminal.hasColors);
  const text = tableText(
    ["CHECK", "STATE", "DETAIL"],
    results.map(({ check: name, state, detail }) => [name, state, detail]),
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
