import type { ProcessContext } from "../runtime/run-process.ts";
import { requestMetrics } from "../runtime/work-metrics.ts";
import type { Credentials } from "./credentials/credentials.ts";
import type { ProxyOf } from "./credentials/proxies.ts";
import { mostOwnResponseBytes } from "./client/exchange.ts";
import { provingWatchTimes } from "./informer/watch-times.ts";
import type { InformerDeps } from "./informer/informer-options.ts";
import { createListWatch } from "./informer/list-watch.ts";
import { interruptionCounter } from "./informer/watch-metrics.ts";
import { Recovery } from "./informer/recovery.ts";
import { createTransport, type Transport } from "./client/transport.ts";
import { Yielder } from "../runtime/yielder.ts";

/** What a process needs to talk to its API server. */
export interface ProcessConnectionDeps extends ProcessContext {
  readonly credentials: Credentials;
}

/** The same for a process that also connects to servers of other clusters. */
export interface OutwardConnectionDeps extends ProcessConnectionDeps {
  /** The proxies of its variables. */
  readonly proxyOf: ProxyOf;
}

/** Bounds the wait for a response on a dead connection. */
const requestTimeoutMs = 10_000;
const connections = 8;

/** Opens the connections for requests of the process itself. */
export function ownTransport({ credentials, clock, metrics }: ProcessConnectionDeps): Transport {
  const { host } = new URL(credentials.server);
  return createTransport({
    credentials,
    clock,
    connections,
    timeoutMs: requestTimeoutMs,
    mostBytes: mostOwnResponseBytes,
    metrics: requestMetrics(host, metrics),
  });
}

/** What its informers need; their watches prove that their stores are current. */
export function provingInformerDeps(
  transport: Transport,
  { clock, random, log, metrics }: ProcessConnectionDeps,
): InformerDeps {
  return {
    clock,
    log,
    random,
    listWatch: createListWatch(transport, clock),
    yielder: new Yielder(clock),
    watchTimes: provingWatchTimes,
    recovery: new Recovery(),
    onInterrupted: interruptionCounter(metrics),
  };
}
