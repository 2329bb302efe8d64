import { join } from "node:path";
import { buildModule, findGo, type GoModule } from "./go-module.ts";
import { type LineProgram, startLineProgram } from "./line-program.ts";

const execClient: GoModule = {
  directory: join(import.meta.dirname, "exec-client"),
  name: "exec client",
  takes: "1 minute",
  packages: ".",
};

/**
 * Starts a client-go program that sends a request with a kubeconfig for each question, and builds it
 * if necessary; undefined if Go is not installed.
 */
export async function startExecClient(
  kubeconfig: string,
  { env, report }: { readonly env: NodeJS.ProcessEnv; readonly report: (line: string) => void },
): Promise<LineProgram | undefined> {
  const go = findGo(execClient, process.env);
  if (go === undefined) return undefined;
  const programs = await buildModule(execClient, go, { report });
  return startLineProgram([join(programs, "exec-client"), kubeconfig], env);
}
