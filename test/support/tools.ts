import { join } from "node:path";
import { buildModule, findGo, type GoModule } from "./go-module.ts";

const module: GoModule = {
  directory: join(import.meta.dirname, "tools"),
  name: "release tools",
  takes: "3 minutes",
  packages: "tool",
};

/** Paths of the programs that build and try a release. */
export interface ReleaseTools {
  readonly helm: string;
  readonly crane: string;
}

/** Whether the programs can be had; reports what is skipped if not. */
export function hasTools(report: (line: string) => void): boolean {
  const has = findGo(module, process.env) !== undefined;
  if (!has) report("the charts are not rendered with helm: Go, which builds it, is not installed");
  return has;
}

/** Finds the programs, and builds them if necessary; throws if Go is not installed. */
export async function findOrBuildTools(report: (line: string) => void): Promise<ReleaseTools> {
  const go = findGo(module, process.env);
  if (go === undefined)
    throw new Error("helm and crane are built with Go; install Go (https://go.dev/dl)");
  const programs = await buildModule(module, go, { report });
  return { helm: join(programs, "helm"), crane: join(programs, "crane") };
}
