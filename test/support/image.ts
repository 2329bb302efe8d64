import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "./install.ts";

const path = join(repository, "Dockerfile");

/** The `config` of an OCI image that is started: section "Properties" of image-spec's config.md. */
export interface RunConfig {
  readonly User: string;
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
}

/** How a container starts, from the last stage of the Dockerfile; throws if it does not say it. */
export function runConfig(dockerfile = readFileSync(path, "utf8")): RunConfig {
  const stage = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));
  const all = (instruction: string): readonly string[] =>
    [...stage.matchAll(new RegExp(`^${instruction} (.+)$`, "gm"))].map(([, rest = ""]) => rest);
  const one = (instruction: string): string => {
    const [only, another] = all(instruction);
    if (only === undefined || another !== undefined)
      throw new Error(`the last stage of the Dockerfile must have one line ${instruction}`);
    return only;
  };
  const ports = one("EXPOSE").split(" ");
  return {
    User: one("USER"),
    ExposedPorts: Object.fromEntries(ports.map((port) => [`${port}/tcp`, {}])),
    Env: all("ENV"),
    Entrypoint: words("ENTRYPOINT", one("ENTRYPOINT")),
    Cmd: words("CMD", one("CMD")),
  };
}

function words(instruction: string, json: string): readonly string[] {
  const parsed = parse(json);
  if (Array.isArray(parsed) && parsed.every((word) => typeof word === "string")) return parsed;
  throw new Error(`${instruction} of the Dockerfile must be a JSON list of words, not ${json}`);
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
/** The flags of Node in the Pod of a process: those of the Dockerfile, and its young generation. */
export function imageNodeFlags(name: string): readonly string[] {
  const flags = runConfig().Entrypoint.filter((word) => word.startsWith("--"));
  if (flags.length === 0)
    throw new Error("the Dockerfile's ENTRYPOINT gives Node no flags any more");
  const deployment = readFileSync(join(repository, "config", name, "deployment.yaml"), "utf8");
  const [young] = /--max-semi-space-size=\d+/.exec(deployment) ?? [];
  if (young === undefined) throw new Error(`the Deployment of ${name} has no young generation`);
  return [...flags, young];
}
