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
import type { IsHiddenSegment, Route } from "../runtime/routes.ts";

/** Dependencies of a webhook process. */
export interface WebhookDeps {
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** A process that answers reviews, with its clients for the API server, without its servers. */
export interface WebhookAssembly {
  /** Routes for requests of kube-apiserver. */
  readonly routes: readonly Route[];
  /** Whether this is the first path segment of the admission routes. */
  readonly isAdmissionSegment: IsHiddenSegment;
  /** Runs the informers and what else decides about reviews until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Creates, renews and watches the certificates in Latchkey's own Secret, and publishes their CA;
   * calls `onTls` for each set of certificates.
   */
  keepCertificates(signal: AbortSignal, onTls: (material: ServerTls) => void): Promise<void>;
  /** Why nothing can be decided, one sentence each; empty if reviews can be answered. */
  problems(): readonly string[];
  /** What will stop it without action, one sentence each. */
  warnings(): readonly string[];
  /** Closes every connection, including those with requests in flight. */
  close(): Promise<void>;
}

/** Bounds the wait for a response on a dead connection. */
const requestTimeoutMs = 10_000;
const connections = 8;

/** Opens the connections to the API server. */
export function openTransport({ credentials, clock, metrics }: WebhookDeps): Transport {
  const { host } = new URL(credentials.server);
  return createTransport({
    credentials,
    clock,
    connections,
    timeoutMs: requestTimeoutMs,
    onResponse: (seen) => metrics.request({ ...seen, host }),
  });
}

/** What its informers need. */
export function informerDeps(
  transport: Transport,
  { clock, random, log }: WebhookDeps,
): InformerDeps {
  return {
    listWatch: createListWatch(transport, clock),
    clock,
    yielder: new Yielder(clock),
    log,
    random,
    watchTimes: provingWatchTimes,
    recovery: new Recovery(),
  };
}
