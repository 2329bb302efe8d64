import { runCommandLine } from "../../src/cli/command-line.ts";
import { type CommandActions, serverProgram } from "../../src/cli/server-program.ts";

/** The output of a command line, and the command that it started with its configuration. */
export interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The command whose action ran. */
  readonly action?: keyof CommandActions;
  readonly config?: object;
}

/** Runs a command line with actions that do nothing, or throw `failure`. */
export async function outcomeOf(
  argv: readonly string[],
  {
    env = {},
    failure,
  }: { readonly env?: Readonly<Record<string, string>>; readonly failure?: Error } = {},
): Promise<Outcome> {
  let stdout = "";
  let stderr = "";
  let started: Pick<Outcome, "action" | "config"> = {};
  const action = (name: NonNullable<Outcome["action"]>) => async (config: object) => {
    started = { action: name, config };
    if (failure !== undefined) throw failure;
  };
  const actions: CommandActions = {
    controller: action("controller"),
    webhook: action("webhook"),
    gateway: action("gateway"),
    directEndpoint: action("directEndpoint"),
    clusterAgent: action("clusterAgent"),
  };
  const exitCode = await runCommandLine(argv, serverProgram(actions, env), {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
  });
  return { exitCode, stdout, stderr, ...started };
}
