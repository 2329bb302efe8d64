import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type BuildDeps, buildOnce } from "./cached-build.ts";
import { MissingError, preparedDirectory } from "./prepared.ts";

const buildFlags = ["-trimpath"];

/** A Go module whose programs are built once and cached. */
export interface GoModule {
  /** The directory of go.mod. */
  readonly directory: string;
  /** What its programs are; also the name of their directory in the cache. */
  readonly name: string;
  /** How long a first build takes on 2 cores. */
  readonly takes: string;
  /** The argument of `go install`. */
  readonly packages: string;
  /** In addition to `-s -w`; called before a build only. */
  readonly linkerFlags?: (env: NodeJS.ProcessEnv) => readonly string[];
  /** Called with the directory of the programs before it is used. */
  readonly finish?: (programs: string) => void;
}

/** A usable Go toolchain: its version and the platform it builds for. */
interface Go {
  readonly version: string;
  readonly platform: string;
}

function findGo(directory: string, env: NodeJS.ProcessEnv): Go {
  try {
    const names = ["env", "GOVERSION", "GOOS", "GOARCH"];
    const answer = execFileSync("go", names, {
      cwd: directory,
      env: goEnv(env),
      encoding: "utf8",
      stdio: "pipe",
    });
    const [version = "", os = "", architecture = ""] = answer.trim().split("\n");
    return { version, platform: `${os}-${architecture}` };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT")
      throw new MissingError("Go is not installed (https://go.dev/dl)");
    throw new Error(`go is on PATH but does not work here: ${String(error)}`, { cause: error });
  }
}

/**
 * Builds a module's programs unless they are cached; returns their directory. Throws a MissingError
 * if Go is not installed.
 */
export async function buildModule(module: GoModule, deps: BuildDeps): Promise<string> {
  const { directory, name, takes, packages, finish } = module;
  const { env = process.env } = deps;
  const prepared = preparedDirectory(name, env);
  if (prepared !== undefined) return prepared;
  const go = findGo(directory, env);
  const build = {
    name,
    takes,
    inputs: [...sourcesIn(directory), go.version, go.platform, ...buildFlags],
    command: (draft: string) => {
      const linkerFlags = ["-s -w", ...(module.linkerFlags?.(env) ?? [])].join(" ");
      return {
        words: ["go", "install", "-v", ...buildFlags, "-ldflags", linkerFlags, packages],
        cwd: directory,
        env: { ...goEnv(env), CGO_ENABLED: "0", GOGC: "400", GOBIN: draft },
      };
    },
    progress: progressIn,
    ...(finish && { finish }),
  };
  return buildOnce(build, deps);
}

/** The environment of every `go` command: a workspace must not change the build. */
export function goEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, GOWORK: "off" };
}

function sourcesIn(directory: string): readonly string[] {
  const sources = readdirSync(directory).filter((file) => file.endsWith(".go"));
  return ["go.mod", "go.sum", ...sources.sort()].map((file) =>
    readFileSync(join(directory, file), "utf8"),
  );
}

function progressIn(lines: readonly string[]): string {
  const downloaded = lines.filter((line) => line.startsWith("go: downloading")).length;
  const compiled = lines.length - 1 - downloaded;
  return `${downloaded} modules downloaded, ${compiled} packages compiled`;
}
