import { join } from "node:path";
import { buildModule, type GoModule } from "./go-module.ts";
import { type LineProgram, startLineProgram } from "./line-program.ts";

/** The client-go program. */
export const execClientModule: GoModule = {
  directory: join(import.meta.dirname, "exec-client"),
  name: "exec client",
  takes: "1 minute",
  packages: ".",
};

/**
 * Starts a client-go program that sends a request with a kubeconfig for each question, and builds it
 * if necessary.
 */
export async function startExecClient(
  kubeconfig: string,
  { env, report }: { readonly env: NodeJS.ProcessEnv; readonly report: (line: string) => void },
): Promise<LineProgram> {
  const programs = await buildModule(execClientModule, { report });
  return startLineProgram([join(programs, "exec-client"), kubeconfig], env);
}
