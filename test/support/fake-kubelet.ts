import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { buildModule, type GoModule } from "./go-module.ts";
import { logTail, startTiedChild } from "./tied-child.ts";

/**
 * The streaming server of a kubelet, without containers: commands run as processes on this machine,
 * attach echoes its input, logs are generated, and ports are those of this machine. It never answers
 * requests for a pod with the name `silent`.
 */
export interface FakeKubelet {
  readonly port: number;
  /** Flags of kube-apiserver: the address type, the CA and the client certificate. */
  readonly apiServerFlags: readonly string[];
  stop(): Promise<void>;
}

/** The program of the fake kubelet. */
export const kubeletModule: GoModule = {
  directory: join(import.meta.dirname, "kubelet"),
  name: "fake kubelet",
  takes: "1 minute",
  packages: ".",
};

/** Starts a fake kubelet, and builds it if necessary. */
export async function startFakeKubelet(report: (line: string) => void): Promise<FakeKubelet> {
  const programs = await buildModule(kubeletModule, { report });
  const directory = mkdtempSync(join(tmpdir(), "latchkey-kubelet-"));
  const log = join(directory, "kubelet.log");
  const child = startTiedChild([join(programs, "kubelet"), `--directory=${directory}`], {
    log,
    removeWithParent: directory,
  });
  const portFile = join(directory, "port");
  const died = child.exited.then((): Promise<never> => {
    throw new Error(`the fake kubelet ended; its log says: ${logTail(log)}`);
  });
  died.catch(() => {});
  const listening = eventually(() => existsSync(portFile), {
    what: "the fake kubelet to listen",
    every: 20,
  });
  await Promise.race([listening, died]);
  return {
    port: Number(readFileSync(portFile, "utf8")),
    apiServerFlags: [
      "--kubelet-preferred-address-types=InternalIP",
      `--kubelet-certificate-authority=${join(directory, "ca.crt")}`,
      `--kubelet-client-certificate=${join(directory, "client.crt")}`,
      `--kubelet-client-key=${join(directory, "client.key")}`,
    ],
    async stop() {
      await child.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
