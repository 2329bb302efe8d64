import { spawn } from "node:child_process";
import { constants } from "node:os";
import { keyOf } from "../../api/object.ts";
import { errorCode } from "../../runtime/read-text-file.ts";
import type { Action, Cli } from "../cli.ts";
import { runExitCodes } from "../failure.ts";
import { namedValues, readValues } from "./read-secret.ts";
import { checkChoice, selectedVariables } from "./selected-variables.ts";

/** `kubectl latchkey run`. */
export const runProgram: Action<"run"> = async ({ flags, args, program }, cli) => {
  checkChoice(flags);
  const cluster = await cli.connect(flags);
  const all = new Map<string, Buffer>();
  for (const name of args)
    for (const [key, bytes] of await readValues(cluster, name)) all.set(key, bytes);
  const { namespace } = cluster.choice;
  const names = args.map((name) => keyOf({ namespace, name })).join('", "');
  const values = namedValues(all, names, flags.only);
  const variables = selectedVariables(values, flags, cli.terminal);
  return exitCodeOfChild(program, Object.fromEntries(variables), cli);
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
