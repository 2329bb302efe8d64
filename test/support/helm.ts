import { spawn } from "node:child_process";
import { findOrBuildTools, type ReleaseTools } from "./tools.ts";

/** The result of a run of helm. */
export interface HelmResult {
  /** Exit code. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs helm with its input, without the settings of the user; resolves also if helm fails. */
export type Helm = (args: readonly string[], input?: string) => Promise<HelmResult>;

/** The helm of the release tools, or another one, which talks to the cluster of a kubeconfig. */
export async function findHelm({
  kubeconfig = "/dev/null",
  program = "",
}: { readonly kubeconfig?: string; readonly program?: string } = {}): Promise<Helm> {
  const tools = (): Promise<ReleaseTools> =>
    findOrBuildTools((line) => process.stderr.write(`${line}\n`));
  const helm = program || (await tools()).helm;
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, KUBECONFIG: kubeconfig };
  return (args, input = "") =>
    new Promise((resolve, reject) => {
      const child = spawn(helm, args, { env, stdio: "pipe" });
      const texts = { stdout: "", stderr: "" };
      child.stdout.setEncoding("utf8").on("data", (text: string) => (texts.stdout += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => (texts.stderr += text));
      child.once("error", reject);
      child.once("close", (code) => resolve({ code: code ?? 1, ...texts }));
      child.stdin.on("error", () => {});
      child.stdin.end(input);
    });
}
