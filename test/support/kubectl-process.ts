import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { inject } from "vitest";
import { eventually } from "./eventually.ts";
import { gatewayKubeconfig } from "./gateway-client.ts";

/** Options of {@link startKubectl}. */
export interface KubectlProcessOptions {
  readonly env?: Readonly<Record<string, string>>;
}

/** A kubectl process that uses the gateway. */
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
  { env = {} }: KubectlProcessOptions = {},
): KubectlProcess {
  const { kubectl, directory } = inject("controlPlane");
  const { PATH, HOME } = process.env;
  const child = spawn(kubectl, args, {
    env: {
      ...{ PATH, HOME, KUBECONFIG: gatewayKubeconfig(key), KUBERC: "off" },
      ...{ KUBECACHEDIR: join(directory, "kubectl-cache"), ...env },
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
    { what: "kubectl port-forward to listen", every: 50, within: 30_000 },
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
