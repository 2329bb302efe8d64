import { join } from "node:path";
import { buildModule, type GoModule } from "./go-module.ts";

/** Helm, and crane of go-containerregistry. */
export const toolsModule: GoModule = {
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

/** Finds the programs, and builds them if necessary. */
export async function findOrBuildTools(report: (line: string) => void): Promise<ReleaseTools> {
  const programs = await buildModule(toolsModule, { report });
  return { helm: join(programs, "helm"), crane: join(programs, "crane") };
}
