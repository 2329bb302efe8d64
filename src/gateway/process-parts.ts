import type { Credentials } from "../kube/credentials.ts";
import { provingWatchTimes } from "../kube/freshness.ts";
import type { InformerDeps } from "../kube/informer.ts";
import { createListWatch } from "../kube/list-watch.ts";
import { Recovery } from "../kube/recovery.ts";
import { createTransport, type Transport } from "../kube/transport.ts";
import { Yielder } from "../kube/yielder.ts";
import type { Clock } from "../runtime/clock.ts";
import type { ServerTls } from "../runtime/http-server.ts";
import type { Logger } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { GatewayHandler } from "./gateway-handler.ts";
import type { LiveRequests } from "./live-requests.ts";

/** What a process that forwards requests is made of. */
export interface FrontProcessDeps {
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** A process that forwards requests, without its servers. */
export interface FrontAssembly {
  readonly handler: GatewayHandler;
  readonly live: LiveRequests;
  /** Why no request can be served, in one sentence each; empty if requests can. */
  problems(): readonly string[];
  /** What will stop it without action, in one sentence each. */
  warnings(): readonly string[];
  /** Sets the CA of the certificates that clients see (PEM). */
  useCa(ca: string): void;
  /** Follows what decides about requests until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Creates, renews and watches the certificates in Latchkey's own Secret. */
  keepCertificates(signal: AbortSignal, onTls: (material: ServerTls) => void): Promise<void>;
  close(): Promise<void>;
}

/** Bodies that are read as a whole, all together. */
export const mostBodyBytes = 64 * 1024 * 1024;
/** Connections for requests of clients with a short answer. */
export const mostAnswers = 128;

const requestTimeoutMs = 10_000;
/** Connections for requests of the process itself. */
const ownConnections = 8;

/** The connections for requests of the process itself. */
export function ownTransport({ credentials, clock, metrics }: FrontProcessDeps): Transport {
  const { host } = new URL(credentials.server);
  return createTransport({
    credentials,
    clock,
    connections: ownConnections,
    timeoutMs: requestTimeoutMs,
    onResponse: (seen) => metrics.request({ ...seen, host }),
  });
}

/** What its informers need. */
export function informerDeps(
  transport: Transport,
  { clock, random, log }: FrontProcessDeps,
): InformerDeps {
  return {
    ...{ clock, log, random },
    listWatch: createListWatch(transport, clock),
    yielder: new Yielder(clock),
    watchTimes: provingWatchTimes,
    recovery: new Recovery(),
  };
}

/** Runs every part until the signal aborts. */
export async function runAll(
  parts: readonly { run(signal: AbortSignal): Promise<void> }[],
  { live, signal }: { readonly live: LiveRequests; readonly signal: AbortSignal },
): Promise<void> {
  live.watchFreshness(signal);
  await Promise.all(parts.map((part) => part.run(signal)));
}
