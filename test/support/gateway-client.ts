import { join } from "node:path";
import { inject } from "vitest";
import { managementPath } from "./gateway-address.ts";
import { type KubectlResult, tryKubectl } from "./kubectl.ts";
import { writeKubeconfig } from "./kubeconfig.ts";
import { unique } from "./policy-request.ts";

/** How kubectl talks to the gateway. */
export interface GatewayKubectlOptions {
  /** 0 or 1. */
  readonly replica?: number;
  readonly http2?: boolean;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A kubeconfig with a key as credential, whose server is the gateway. */
export function gatewayKubeconfig(key: string, replica = 0): string {
  const { directory } = inject("controlPlane");
  const gateway = inject("gateway");
  const path = join(directory, `${unique("gateway")}.kubeconfig`);
  writeKubeconfig(
    path,
    {
      url: `${gateway?.urls[replica] ?? ""}${managementPath}`,
      certificateAuthority: gateway?.ca ?? "",
    },
    { key: { token: key } },
  );
  return path;
}

/** Runs kubectl with a key as its credential against the gateway. */
export async function kubectlThrough(
  key: string,
  args: readonly string[],
  { replica, http2 = true, input, env }: GatewayKubectlOptions = {},
): Promise<KubectlResult> {
  const { kubectl: program, directory } = inject("controlPlane");
  const access = {
    kubectl: program,
    directory,
    kubeconfigs: { key: gatewayKubeconfig(key, replica) },
  };
  const result = await tryKubectl(access, args, {
    user: "key",
    ...(input === undefined ? {} : { input }),
    env: { ...env, ...(http2 ? {} : { DISABLE_HTTP2: "1" }) },
  });
  return {
    ...result,
    stderr: result.stderr.replace(/^.*HTTP2 has been explicitly disabled\n/m, ""),
  };
}
