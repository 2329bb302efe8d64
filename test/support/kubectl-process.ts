import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { inject } from "vitest";
import { eventually } from "./eventually.ts";
import { gatewayKubeconfig } from "./gateway-client.ts";
import type { KubectlAccess } from "./kubectl.ts";

/** Options of {@link startKubectl}. */
export interface KubectlProcessOptions {
  readonly env?: Readonly<Record<string, string>>;
}

/** A kubectl process. */
export interface KubectlProcess {
  readonly stdin: NodeJS.WritableStream;
  /** The output so far. */
  readonly stdout: () => Buffer;
  readonly stderr: () => string;
  /** The exit code and the time of the end, by `performance.now()`. */
  readonly ended: Promise<{ readonly code: number; readonly at: number }>;
  kill(): void;
}

/** Starts kubectl with a key as its credential against the gateway. */
export function startKubectl(
  key: string,
  args: readonly string[],
  options: KubectlProcessOptions = {},
): KubectlProcess {
  const { kubectl, directory } = inject("controlPlane");
  return startKubectlAt({ kubectl, directory, kubeconfig: gatewayKubeconfig(key) }, args, options);
}

/** A kubectl program, its kubeconfig, and the directory of its cache. */
export interface KubectlTerms extends Pick<KubectlAccess, "kubectl" | "directory"> {
  readonly kubeconfig: string;
}

/** Starts kubectl with a kubeconfig. */
export function startKubectlAt(
  { kubectl, directory, kubeconfig }: KubectlTerms,
  args: readonly string[],
  { env = {} }: KubectlProcessOptions = {},
): KubectlProcess {
  const { PATH, HOME } = process.env;
  const child = spawn(kubectl, args, {
    env: {
      PATH,
      HOME,
      KUBECONFIG: kubeconfig,
      KUBERC: "off",
      KUBECACHEDIR: join(directory, "kubectl-cache"),
      ...env,
    },
  });
  const stdout: Buffer[] = [];
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  // kubectl may exit before its input ends.
  child.stdin.on("error", () => {});
  const ended = once(child, "close").then(([code]) => ({
    code: typeof code === "number" ? code : -1,
    at: performance.now(),
  }));
  return {
    stdin: child.stdin,
    stdout: () => Buffer.concat(stdout),
    stderr: () => stderr,
    ended,
    kill: () => void child.kill("SIGKILL"),
  };
}

/** The local port of a kubectl port-forward, once it listens. */
export async function forwardedPort(forward: KubectlProcess): Promise<number> {
  const listening = await eventually(
    () => /^Forwarding from 127\.0\.0\.1:(\d+) /m.exec(forward.stdout().toString()) ?? undefined,
    { what: "kubectl port-forward to listen", every: 50 },
  );
  return Number(listening[1]);
}

/** The protocols of kubectl for commands and port forwarding. */
export const streamProtocols: readonly {
  readonly protocol: string;
  readonly env: Readonly<Record<string, string>>;
}[] = [
  { protocol: "WebSocket", env: {} },
  {
    protocol: "SPDY",
    env: {
      KUBECTL_REMOTE_COMMAND_WEBSOCKETS: "false",
      KUBECTL_PORT_FORWARD_WEBSOCKETS: "false",
    },
  },
];
