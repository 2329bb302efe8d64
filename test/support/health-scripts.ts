import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "js-yaml";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { buildModule, type GoModule } from "./go-module.ts";
import { repository } from "./install.ts";
import { startLineProgram } from "./line-program.ts";

/** The shipped health scripts of Argo CD, in the Lua interpreter of Argo CD. */
export interface HealthScripts {
  /** What the script of the object's kind returns: `{status, message}`, or `{error}`. */
  healthOf(object: unknown): Promise<unknown>;
  stop(): void;
}

/** The interpreter. */
export const luaModule: GoModule = {
  directory: join(import.meta.dirname, "lua-health"),
  name: "Lua of Argo CD",
  takes: "20 seconds",
  packages: ".",
};

/** Starts the interpreter, and builds it if necessary. */
export async function startHealthScripts(report: (line: string) => void): Promise<HealthScripts> {
  const program = startLineProgram([join(await buildModule(luaModule, { report }), "lua-health")]);
  const scripts = shippedScripts();
  return {
    async healthOf(object) {
      const key = `management.service_${stringAt(object, "kind")}`;
      const script = stringAt(scripts, `resource.customizations.health.${key}`);
      return (await program.ask([{ script, object }]))[0];
    },
    stop: () => program.stop(),
  };
}

/** The data of the shipped patch for the ConfigMap argocd-cm. */
export function shippedScripts(): Readonly<Record<string, unknown>> {
  const file = join(repository, "config", "argocd", "argocd-cm-health.yaml");
  return recordAt(load(readFileSync(file, "utf8")), "data");
}
