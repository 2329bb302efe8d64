import { fieldManager } from "../api/names.ts";
import { stringAt } from "../api/parse.ts";
import { createClient } from "../kube/http-client.ts";
import { loadCredentials } from "../kube/load-credentials.ts";
import { createTransport } from "../kube/transport.ts";
import type { Clock } from "../runtime/clock.ts";
import { readPodApiServer } from "../runtime/config.ts";
import type { TrustConfigOptions } from "../runtime/trust-config-options.ts";
import { printTrustConfig } from "./trust-config.ts";

const requestTimeoutMs = 30_000;

/** Runs `latchkey trust-config` with one connection to the API server. */
export async function runTrustConfig(
  options: TrustConfigOptions,
  { clock, print }: { readonly clock: Clock; readonly print: (text: string) => void },
): Promise<void> {
  const credentials = await loadCredentials({ ...options, pod: readPodApiServer() }, clock);
  const transport = createTransport({
    credentials,
    clock,
    connections: 1,
    timeoutMs: requestTimeoutMs,
  });
  const serverVersion = async (): Promise<string> =>
    stringAt(
      JSON.parse((await transport.request({ method: "GET", path: "/version" })).text),
      "gitVersion",
    ) ?? "";
  try {
    const client = createClient(transport, fieldManager);
    await printTrustConfig(options, { client, serverVersion, print });
  } finally {
    await transport.close();
  }
}
