import { stringAt } from "../api/parse.ts";
import { bodyOf } from "./responses.ts";
import type { Transport } from "./transport.ts";

/**
 * Reads `gitVersion` of the API server, such as `v1.36.2`; empty if the response has none. Rejects
 * with a KubeError.
 */
export async function serverVersion(transport: Pick<Transport, "request">): Promise<string> {
  const call = { method: "GET", path: "/version" } as const;
  return stringAt(bodyOf(call, await transport.request(call)), "gitVersion") ?? "";
}

/** The minor version of a `gitVersion` of Kubernetes 1; undefined for any other text. */
export function minorOf(gitVersion: string): number | undefined {
  const minor = /^v1\.(\d+)/.exec(gitVersion)?.[1];
  return minor === undefined ? undefined : Number(minor);
}
