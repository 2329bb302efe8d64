import { systemClock as clock } from "../runtime/clock.ts";
import { readEnvironment } from "../runtime/environment.ts";
import { runCommandLine } from "../cli/command-line.ts";
import { nodeVersionProblem } from "../cli/node-version.ts";
import { clientProgram, runCompletion } from "./actions.ts";
import { exitCodes } from "./failure.ts";
import { programName } from "./help.ts";
import { stopSignal, systemTerminal } from "./terminal.ts";

/** Output that is lost may be an access key, which nobody can print again. */
function failAtExit(): void {
  process.once("exit", () => (process.exitCode ||= exitCodes.failed.code));
}

// The compiled program has another runtime, which names the Node.js that it is compatible with.
const problem = nodeVersionProblem(process.versions.node);
if (problem === undefined) {
  const env = readEnvironment();
  const deps = {
    terminal: systemTerminal(process, env, failAtExit),
    env,
    clock,
    untilStopped: () => stopSignal(process, (code) => process.exit(code)),
  };
  const argv = process.argv.slice(2);
  if (argv[0] === "__complete") await runCompletion(argv.slice(1), deps);
  else process.exitCode = await runCommandLine(argv, clientProgram(deps), process);
} else {
  process.stderr.write(`${programName}: ${problem}\n`);
  process.exitCode = exitCodes.usage.code;
}
