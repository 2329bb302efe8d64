import type { Clock } from "../../runtime/clock.ts";
import type { Environment } from "../../runtime/options.ts";
import { entries } from "./actions.ts";
import type { GivenWords } from "./app.ts";
import type { Cli } from "./cli.ts";
import type { Command } from "./command.ts";
import type { OpenCluster } from "./connection/connect.ts";
import { exitCodeOf, runExitCodes, sentenceOf } from "./failure.ts";
import type { Terminal } from "./terminal.ts";

/** Dependencies of {@link runInvocation}. */
interface ActDeps {
  readonly terminal: Terminal;
  readonly env: Environment;
  readonly clock: Clock;
  readonly untilStopped: () => AbortSignal;
}

/** Prints what the last word of a command line can be. */
export async function runCompletion(words: readonly string[], deps: ActDeps): Promise<void> {
  const { printCompletion } = await import("./completion/complete.ts");
  await withCli(deps, (cli) => printCompletion(words, cli));
}

/** Runs a command of the table, says what failed, and returns the exit code. */
export async function runInvocation(
  command: Command,
  given: GivenWords,
  deps: ActDeps,
): Promise<number> {
  try {
    return await withCli(deps, (cli) => {
      const found = entries.find((entry) => entry.command === command);
      if (found === undefined) throw new TypeError(`command "${command.name}" has no code`);
      return found.start(given, cli);
    });
  } catch (error) {
    deps.terminal.say(sentenceOf(error));
    return command.runsProgram === true ? runExitCodes.failed : exitCodeOf(error);
  }
}

/** Runs work whose connections are closed afterwards. */
async function withCli<T>(deps: ActDeps, work: (cli: Cli) => Promise<T>): Promise<T> {
  const opened: OpenCluster[] = [];
  const cli: Cli = {
    ...deps,
    async connect(flags) {
      const { connect } = await import("./connection/connect.ts");
      const cluster = await connect(flags, deps);
      opened.push(cluster);
      return cluster;
    },
  };
  try {
    return await work(cli);
  } finally {
    for (const cluster of opened) cluster.close();
  }
}
