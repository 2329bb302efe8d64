import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { repository } from "../support/install.ts";
import type { KubectlAccess } from "../support/kubectl.ts";

const readyWithinMs = 480_000;

/** A running `make dev CONNECTED=1`, in a directory of its own. */
export interface DevProcess {
  /** The directory instead of `.dev`. */
  readonly directory: string;
  /** What it printed until it was ready. */
  readonly printed: string;
  /** A variable of the file to source. */
  readonly variable: (name: string) => string;
  /** Its kubectl, as the administrator of the central cluster. */
  readonly access: KubectlAccess;
  /** Sends a signal, and waits for the exit code. */
  readonly stop: (signal: NodeJS.Signals) => Promise<number | null>;
  /** Stops it, and removes the directory. */
  readonly remove: () => Promise<void>;
}

/** Starts `make dev CONNECTED=1` and waits until it is ready; throws with its output if it ends. */
export async function startDev(): Promise<DevProcess> {
  const directory = mkdtempSync(join(tmpdir(), "latchkey-dev-"));
  const dev = spawn(process.execPath, [join("test", "dev", "main.ts")], {
    cwd: repository,
    env: { ...process.env, CONNECTED: "1", LATCHKEY_DEV_DIRECTORY: directory },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  dev.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  const exited = new Promise<number | null>((resolve) => dev.once("exit", resolve));
  const stop = (signal: NodeJS.Signals): Promise<number | null> => {
    dev.kill(signal);
    return exited;
  };
  const remove = async (): Promise<void> => {
    await stop("SIGTERM");
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  };
  const hasEnded = (): boolean => dev.exitCode !== null;
  const isReady = (): boolean => hasEnded() || printed.includes("Latchkey is ready\n");
  const patience = { what: "make dev to be ready", within: readyWithinMs, every: 250 };
  const isUp = await eventually(isReady, patience).catch(() => false);
  if (!isUp || hasEnded()) {
    await remove();
    throw new Error(`make dev did not become ready:\n${printed}`);
  }
  const env = readFileSync(join(directory, "env"), "utf8");
  const variable = (name: string): string =>
    new RegExp(`^export ${name}='(.*)'$`, "m").exec(env)?.[1] ?? "";
  const kubectl = join(directory, "bin", "kubectl");
  const access = { kubectl, kubeconfigs: { admin: variable("KUBECONFIG") }, directory };
  return { directory, printed, variable, access, stop, remove };
}
