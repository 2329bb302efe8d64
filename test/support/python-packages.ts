import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type BuildDeps, buildOnce } from "./cached-build.ts";
import { MissingError } from "./prepared.ts";

/** A Python program with pinned packages, which are installed once and cached. */
export interface PythonProgram {
  /** The directory of requirements.txt and of the program. */
  readonly directory: string;
  /** The file of the program. */
  readonly file: string;
  /** What the packages are for; also the name of their directory in the cache. */
  readonly name: string;
  /** How long the installation takes on 2 cores. */
  readonly takes: string;
}

/** A command, and the environment in which Python finds the packages of its program. */
export interface PythonCommand {
  /** The directory of the packages. */
  readonly packages: string;
  readonly words: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

const oldest = [3, 11];
const probe = `
import pip, sys, sysconfig
assert sys.version_info >= (${oldest.join(", ")})
print(sys.executable, sys.version, sysconfig.get_platform(), sep="\\0")`;

/**
 * Installs the packages of a program unless they are cached. It needs no root and changes nothing
 * outside of the cache; packages must have the pinned hashes. Throws a MissingError if there is no
 * Python.
 */
export async function pythonCommand(
  program: PythonProgram,
  { report, env = process.env }: BuildDeps,
): Promise<PythonCommand> {
  const { directory, file, name, takes } = program;
  const python = await findPython(env);
  if (python === undefined)
    throw new MissingError(
      `Python ${oldest.join(".")} with pip is not installed (https://python.org)`,
    );
  const requirements = join(directory, "requirements.txt");
  const build = {
    name,
    takes,
    inputs: [readFileSync(requirements, "utf8"), python.version, python.platform],
    command: (draft: string) => ({
      words: [python.executable, ...installTo(draft), `--requirement=${requirements}`],
      cwd: directory,
      env,
    }),
    progress: (lines: readonly string[]) => lines.at(-2) ?? "",
  };
  const packages = await buildOnce(build, { report, env });
  return {
    packages,
    words: [python.executable, join(directory, file)],
    env: { ...env, PYTHONPATH: packages },
  };
}

/** Wheels only: a machine without a compiler installs the same as others. */
function installTo(target: string): readonly string[] {
  return [
    ...["-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--retries=1"],
    ...["--require-hashes", "--only-binary=:all:", `--target=${target}`],
  ];
}

/** The Python on PATH; undefined if there is none, if it is too old, or if it has no pip. */
async function findPython(env: NodeJS.ProcessEnv) {
  try {
    const { stdout } = await promisify(execFile)("python3", ["-c", probe], { env });
    const [executable = "", version = "", platform = ""] = stdout.trim().split("\0");
    return { executable, version, platform };
  } catch {
    return undefined;
  }
}
