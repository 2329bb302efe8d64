import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { UsageError } from "../../../runtime/config-values.ts";
import { errorCode } from "../../../runtime/read-text-file.ts";
import type { Environment } from "../../../runtime/options.ts";
import { Failure } from "../failure.ts";

/** The line by which an installed script is known as one of this program. */
const marker =
  "# Completes kubectl latchkey; kubectl latchkey completion install writes this file.";

/** The program with which kubectl completes the words behind `kubectl latchkey`. */
export const kubectlScript = `#!/bin/sh
${marker}
exec kubectl-latchkey __complete "$@"
`;

/**
 * Writes the script for kubectl into a directory, or beside `kubectl-latchkey` in PATH; returns its
 * path. Throws a Failure for a file of another program, and a UsageError where it cannot write.
 */
export function installCompletion(directory: string | undefined, env: Environment): string {
  const path = join(directory ?? directoryOfProgram(env), "kubectl_complete-latchkey");
  const draft = `${path}.${process.pid}.draft`;
  try {
    if (!isReplaceable(path))
      throw new Failure(
        `"${path}" was not written by this command and is not changed; remove it, or set --directory`,
      );
    writeFileSync(draft, kubectlScript, { flag: "wx" });
    chmodSync(draft, 0o755);
    renameSync(draft, path);
  } catch (error) {
    if (error instanceof Failure) throw error;
    rmSync(draft, { force: true });
    throw new UsageError(
      `"${path}" cannot be written: ${errorCode(error) ?? "unknown error"}; set --directory to a directory of your PATH`,
    );
  }
  return path;
}

/** Whether nothing is at a path, or a script of this program. */
function isReplaceable(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return true;
  return found.isFile() && readFileSync(path, "utf8").split("\n")[1] === marker;
}

/** The directory from which kubectl runs this plugin. */
function directoryOfProgram(env: Environment): string {
  const directories = (env["PATH"] ?? "").split(delimiter).filter((entry) => entry !== "");
  const found = directories
    .flatMap((entry) =>
      ["kubectl-latchkey", "kubectl-latchkey.exe"].map((name) => join(entry, name)),
    )
    .find(isExecutable);
  if (found !== undefined) return dirname(found);
  throw new UsageError("kubectl-latchkey is not in your PATH; set --directory");
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
