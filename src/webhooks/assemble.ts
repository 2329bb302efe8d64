import { createAccessKeyCache, type AccessKeyCache } from "../authn/access-key-cache.ts";
import { group, webhookFieldManager } from "../api/names.ts";
import type { KeyConfig } from "../domain/access-key/key-state.ts";
import type { Credentials } from "../kube/credentials.ts";
import { createDiscovery } from "../kube/discovery.ts";
import { EventRecorder } from "../kube/event-recorder.ts";
import { provingWatchTimes } from "../kube/freshness.ts";
import { createClient } from "../kube/http-client.ts";
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
import { CertificateServing, type CertificateServingOptions } from "./certificate-serving.ts";
import { createConnectorKey } from "./connector-key.ts";
import type { KeyQuota } from "./key-admission.ts";
import { KeyMismatches } from "../authn/key-mismatch.ts";
import { LastActivity } from "../authn/last-activity.ts";
import { webhookRoutes } from "./webhook-routes.ts";

/** Options of a webhook process. */
export interface WebhookOptions extends KeyConfig, KeyQuota, CertificateServingOptions {}

/** Dependencies of a webhook process. */
export interface WebhookDeps {
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The webhook with its clients for the API server, without its servers. */
export interface WebhookAssembly {
  readonly accessKeys: AccessKeyCache;
  /** Routes for requests of kube-apiserver. */
  readonly routes: readonly Route[];
  /** Whether this is the first path segment of the admission routes. */
  readonly isAdmissionSegment: IsHiddenSegment;
  /** Runs the informers and writes last uses until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Creates, renews and watches the certificates in Latchkey's own Secret, and publishes their CA;
   * calls `onTls` for each set of certificates.
   */
  keepCertificates(signal: AbortSignal, onTls: (material: ServerTls) => void): Promise<void>;
  /** The problems of these certificates, one sentence each. */
  warnings(): readonly string[];
  /** Closes every connection, including those with requests in flight. */
  close(): Promise<void>;
}

/** Bounds the wait for a response on a dead connection. */
const requestTimeoutMs = 10_000;
const connections = 8;

/** Builds a webhook process without its servers; nothing runs yet. */
export function assembleWebhook(options: WebhookOptions, deps: WebhookDeps): WebhookAssembly {
  const { clock, random, log, metrics } = deps;
  const { namespace, serviceName } = options;
  const transport = openTransport(deps);
  const client = createClient(transport, webhookFieldManager);
  const following = informerDeps(transport, deps);
  const accessKeys = createAccessKeyCache(following, options);
  metrics.watches(() => accessKeys.watches());
  metrics.cacheFresh("accesskeys", () => accessKeys.isFresh());
  const discovery = createDiscovery({ transport, clock, log });
  const connectorKey = createConnectorKey({ client, namespace, clock, log });
  const lastActivity = new LastActivity({
    accessKeys,
    client,
    clock,
    random,
    log,
    metrics,
    yielder: following.yielder,
  });
  const events = new EventRecorder({
    client,
    clock,
    log,
    reporter: `${group}/latchkey`,
    identity: serviceName,
  });
  const mismatches = new KeyMismatches({ events, clock });
  const certificates = new CertificateServing({ ...following, client, metrics }, options);
  return {
    accessKeys,
    routes: webhookRoutes(options, {
      accessKeys,
      client,
      discovery,
      connectorKey,
      lastActivity,
      mismatches,
      certificates,
      clock,
      metrics,
    }),
    isAdmissionSegment: (segment) => certificates.isAdmissionSegment(segment),
    run: async (signal) =>
      void (await Promise.all(
        [accessKeys, lastActivity, discovery, connectorKey].map((part) => part.run(signal)),
      )),
    keepCertificates: (signal, onTls) => certificates.run(signal, onTls),
    warnings: () => certificates.warnings(),
    close: () => transport.close(),
  };
}

function openTransport({ credentials, clock, metrics }: WebhookDeps): Transport {
  const { host } = new URL(credentials.server);
  return createTransport({
    credentials,
    clock,
    connections,
    timeoutMs: requestTimeoutMs,
    onResponse: (seen) => metrics.request({ ...seen, host }),
  });
}

function informerDeps(transport: Transport, { clock, random, log }: WebhookDeps): InformerDeps {
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
