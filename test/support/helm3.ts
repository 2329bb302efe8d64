import { join } from "node:path";
import { buildModule, type GoModule } from "./go-module.ts";

/** Helm 3, which gets no more releases and which people have. */
export const helm3Module: GoModule = {
  directory: join(import.meta.dirname, "helm3"),
  name: "Helm 3",
  takes: "3 minutes",
  packages: "tool",
};

/** The path of Helm 3, which is built if necessary. */
export async function findOrBuildHelm3(report: (line: string) => void): Promise<string> {
  return join(await buildModule(helm3Module, { report }), "helm");
}
