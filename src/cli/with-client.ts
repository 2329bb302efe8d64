import { fieldManager } from "../api/names.ts";
import { type Client } from "../kube/client.ts";
import { createClient } from "../kube/http-client.ts";
import { loadCredentials } from "../kube/load-credentials.ts";
import { createTransport, type Transport } from "../kube/transport.ts";
import type { Clock } from "../runtime/clock.ts";
import { readPodApiServer } from "../runtime/config.ts";

const requestTimeoutMs = 30_000;

/** Runs the work of a command with one connection to the API server, and returns its result. */
export async function withClient<Result>(
  options: { readonly kubeconfig: string | undefined },
  { clock }: { readonly clock: Clock },
  work: (client: Client, transport: Transport) => Promise<Result>,
): Promise<Result> {
  const credentials = await loadCredentials({ ...options, pod: readPodApiServer() }, clock);
  const transport = createTransport({
    credentials,
    clock,
    connections: 1,
    timeoutMs: requestTimeoutMs,
  });
  try {
    return await work(createClient(transport, fieldManager), transport);
  } finally {
    await transport.close();
  }
}
