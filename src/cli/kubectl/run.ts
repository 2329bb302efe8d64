import { spawn } from "node:child_process";
import { constants } from "node:os";
import { keyOf } from "../../api/object.ts";
import { errorCode } from "../../runtime/error-code.ts";
import type { Action, Cli } from "./cli.ts";
import type { commands } from "./command-table.ts";
import { runExitCodes } from "./failure.ts";
import { sayOmitted } from "./get.ts";
import { readValues, valueOf } from "./read-secret.ts";
import { isDangerousVariable, variablesOf } from "./values.ts";

/** `kubectl latchkey run`. */
export const runProgram: Action<typeof commands.run.flags> = async (
  { flags, args, program },
  cli,
) => {
  const { terminal } = cli;
  const cluster = await cli.connect(flags);
  const { namespace } = cluster.choice;
  const added = new Map<string, string>();
  for (const name of args) {
    const values = await readValues(cluster, name);
    const wanted =
      flags.only.length === 0
        ? values
        : new Map(
            flags.only
              .filter((key) => args.length === 1 || values.has(key))
              .map((key) => [key, valueOf(values, keyOf({ namespace, name }), key)] as const),
          );
    const { variables, omitted } = variablesOf(wanted, flags.prefix ?? "");
    sayOmitted(omitted, terminal);
    const isRefused = (variable: string): boolean =>
      flags.only.length === 0 && isDangerousVariable(variable);
    const refused = variables.map(([variable]) => variable).filter(isRefused);
    if (refused.length > 0)
      terminal.say(
        `left out ${refused.join(", ")}: these variables can make a program run other code; name them with --only if you want them`,
      );
    for (const [variable, value] of variables) {
      if (!isRefused(variable)) added.set(variable, value);
    }
  }
  return exitCodeOfChild(program, Object.fromEntries(added), cli);
};

const forwarded = ["SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;

/** Runs a program with more variables; it has the streams and gets the signals of this process. */
function exitCodeOfChild(
  [file = "", ...args]: readonly string[],
  added: Readonly<Record<string, string>>,
  { env, terminal }: Pick<Cli, "env" | "terminal">,
): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const child = spawn(file, args, { env: { ...env, ...added }, stdio: "inherit" });
  for (const signal of forwarded) process.on(signal, () => void child.kill(signal));
  // A terminal sends Ctrl-C to both processes.
  process.on("SIGINT", () => void (terminal.isInput || child.kill("SIGINT")));
  child.once("error", (error) => {
    const code = errorCode(error) ?? "unknown error";
    terminal.say(`program "${file}" cannot be started: ${code}`);
    resolve(code === "ENOENT" ? runExitCodes.notFound : runExitCodes.notExecutable);
  });
  child.once("exit", (code, signal) =>
    resolve(signal === null ? (code ?? 0) : 128 + (constants.signals[signal] ?? 0)),
  );
  return promise;
}
