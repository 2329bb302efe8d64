import type { Clock } from "../../runtime/clock.ts";
import type { Environment } from "../../runtime/options.ts";
import { entries } from "./actions.ts";
import type { GivenWords } from "./app.ts";
import type { Cli } from "./cli.ts";
import type { Command } from "./command.ts";
import type { OpenCluster } from "./connect.ts";
import { exitCodeOf, runExitCodes, sentenceOf } from "./failure.ts";
import type { Terminal } from "./terminal.ts";

/** Dependencies of {@link runInvocation}. */
export interface ActDeps {
  readonly terminal: Terminal;
  readonly env: Environment;
  readonly clock: Clock;
  readonly hostname: string;
}

/** Runs a command of the table, says what failed, and returns the exit code. */
export async function runInvocation(
  command: Command,
  given: GivenWords,
  deps: ActDeps,
): Promise<number> {
  const opened: OpenCluster[] = [];
  const cli: Cli = {
    ...deps,
    async connect(flags) {
      const { connect } = await import("./connect.ts");
      const cluster = await connect(flags, deps);
      opened.push(cluster);
      return cluster;
    },
  };
  try {
    const found = entries.find((entry) => entry.command === command);
    if (found === undefined) throw new TypeError(`command "${command.name}" has no code`);
    return await found.start(given, cli);
  } catch (error) {
    deps.terminal.say(sentenceOf(error));
    return command.runsProgram === true ? runExitCodes.failed : exitCodeOf(error);
  } finally {
    for (const cluster of opened) cluster.close();
  }
}
