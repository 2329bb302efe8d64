import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { StartedControlPlane } from "./control-plane.ts";
import { repository } from "./install.ts";
import type { WebhookProcess } from "./latchkey-process.ts";

const run = promisify(execFile);

/** What an administrator does: has the files written by `latchkey trust-config`, and starts kube-apiserver with its flags. */
export async function trustWebhook(controlPlane: StartedControlPlane, { webhookUrl }: Pick<WebhookProcess, "webhookUrl">, program = join(repository, "src", "main.ts")): Promise<void> {
  const files = join(controlPlane.directory, "trust");
  const options = [`--kubeconfig=${controlPlane.adminKubeconfig}`, `--webhook-url=${webhookUrl}`, `--directory=${files}`, `--output=${files}`];
  const { stdout } = await run(process.execPath, [program, "trust-config", "--authorization", ...options], { cwd: repository });
  await controlPlane.restartApiServer(stdout.split("\n").flatMap((line) => (line.startsWith("# --") ? [line.slice(2)] : [])));
}
