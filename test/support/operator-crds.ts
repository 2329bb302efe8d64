import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { buildModule, type GoModule } from "./go-module.ts";

/** The program that prints them. */
export const operatorCrdsModule: GoModule = {
  directory: join(import.meta.dirname, "operator-crds"),
  name: "CRDs of the Prometheus Operator",
  takes: "10 seconds",
  packages: ".",
};

/** The kinds of the Prometheus Operator that the charts create, as they are in paths. */
export const operatorKinds = ["servicemonitors", "podmonitors", "prometheusrules"] as const;

/** The YAML of the CRDs of these kinds. */
export async function operatorCrds(report: (line: string) => void): Promise<string> {
  const program = join(await buildModule(operatorCrdsModule, { report }), "operator-crds");
  const printed = execFileSync(program, { encoding: "utf8", maxBuffer: 1e8 });
  const names = operatorKinds.map((plural) => `  name: ${plural}.monitoring.coreos.com\n`);
  const crds = printed.split(/^---\n/m).filter((text) => names.some((name) => text.includes(name)));
  return crds.join("---\n");
}
