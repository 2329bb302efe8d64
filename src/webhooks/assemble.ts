import { createAccessKeyCache, type AccessKeyCache } from "../authn/access-key-cache.ts";
import { group, webhookFieldManager } from "../api/names.ts";
import type { KeyConfig } from "../domain/access-key/key-state.ts";
import { withRequesterAnnotations } from "../domain/requester/requester-annotations.ts";
import { certificateProblemSentences } from "../domain/webhook/certificate-problem.ts";
import { webhookPaths } from "../domain/webhook/webhook-paths.ts";
import type { Credentials } from "../kube/credentials.ts";
import { createDiscovery } from "../kube/discovery.ts";
import { EventRecorder } from "../kube/event-recorder.ts";
import { provingWatchTimes } from "../kube/freshness.ts";
import { createClient } from "../kube/http-client.ts";
import { createListWatch } from "../kube/list-watch.ts";
import { Recovery } from "../kube/recovery.ts";
import { createTransport } from "../kube/transport.ts";
import { Yielder } from "../kube/yielder.ts";
import type { Clock } from "../runtime/clock.ts";
import type { ServerTls } from "../runtime/http-server.ts";
import type { Logger } from "../runtime/log.ts";
import type { Metrics, ReviewKind } from "../runtime/metrics.ts";
import type { Handler, IsHiddenSegment, Route } from "../runtime/routes.ts";
import { isSameSegment } from "../tokens/admission-path.ts";
import { tlsOf, type WebhookCertificates } from "../tokens/webhook-certificates.ts";
import { accessReviewHandler } from "./access-review.ts";
import { admissionHandler, admitted } from "./admission.ts";
import { Certificates } from "./certificates.ts";
import { base64Data } from "./data-admission.ts";
import { apiServerName, requireApiServer } from "./client-credentials.ts";
import {
  enforceAttenuation,
  digestWarnings,
  defaultKey,
  type KeyQuota,
  newKeyOnTakeOver,
  rejectDuplicateKey,
  enforceQuota,
} from "./key-admission.ts";
import { extractConnectorData } from "./connector-data.ts";
import { createConnectorKey } from "./connector-key.ts";
import { KeyMismatches } from "./key-mismatch.ts";
import { LastActivity } from "../authn/last-activity.ts";
import { checkBlockOwnerDeletion } from "./owner-admission.ts";
import { createCaBundleInjector } from "./ca-bundle-injector.ts";
import { enforceScope } from "./scope-admission.ts";
import { newScopeWarnings } from "./scope-warnings.ts";
import { tokenReviewHandler } from "./token-review.ts";

/** How a webhook process behaves. */
export interface WebhookOptions extends KeyConfig, KeyQuota {
  readonly namespace: string;
  readonly serviceName: string;
  /** DNS names beside those of the Service. */
  readonly certificateNames: readonly string[];
  /**
   * The first segment of the paths of admission, where an administrator keeps the webhook
   * configurations; else the webhook makes and publishes one.
   */
  readonly admissionPath: string | undefined;
}

/** What a webhook process is made of. */
export interface WebhookDeps {
  readonly credentials: Credentials;
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The webhook with its ways to the API server, without its servers. */
export interface WebhookAssembly {
  readonly accessKeys: AccessKeyCache;
  /** What kube-apiserver is answered. */
  readonly routes: readonly Route[];
  /** Whether a first path segment is the one below which admission is answered. */
  readonly isAdmissionSegment: IsHiddenSegment;
  /** Follows the API server and writes last uses until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /**
   * Makes, renews and follows the certificates in Latchkey's own Secret, and publishes their
   * authority; `onTls` is told of each.
   */
  keepCertificates(signal: AbortSignal, onTls: (material: ServerTls) => void): Promise<void>;
  /** What is wrong with these certificates, in one sentence each. */
  warnings(): readonly string[];
  /** Ends every connection, whatever is in flight. */
  close(): Promise<void>;
}

/** A connection that has died keeps nobody longer than this. */
const requestTimeoutMs = 10_000;
const connections = 8;

/** Builds a webhook process without its servers; nothing runs yet. */
export function assembleWebhook(
  options: WebhookOptions,
  { credentials, clock, random, log, metrics }: WebhookDeps,
): WebhookAssembly {
  const { host } = new URL(credentials.server);
  const transport = createTransport({
    credentials,
    clock,
    connections,
    timeoutMs: requestTimeoutMs,
    onResponse: (seen) => metrics.request({ ...seen, host }),
  });
  const client = createClient(transport, webhookFieldManager);
  const yielder = new Yielder(clock);
  const following = {
    listWatch: createListWatch(transport, clock),
    clock,
    yielder,
    log,
    random,
    watchTimes: provingWatchTimes,
    recovery: new Recovery(),
  };
  const accessKeys = createAccessKeyCache(following, options);
  metrics.watches(() => accessKeys.watches());
  metrics.cacheFresh("accesskeys", () => accessKeys.isFresh());
  const discovery = createDiscovery({ transport, clock, log });
  const connectorKey = createConnectorKey({ client, namespace: options.namespace, clock, log });
  const lastActivity = new LastActivity({
    accessKeys,
    client,
    clock,
    random,
    log,
    metrics,
    yielder,
  });
  const { namespace, serviceName, certificateNames, admissionPath } = options;
  let admissionSegment = admissionPath;
  let certificates: Certificates | undefined;
  const events = new EventRecorder({
    client,
    clock,
    log,
    reporter: `${group}/latchkey`,
    identity: serviceName,
  });
  const mismatches = new KeyMismatches({ events, clock });
  const dnsNames = [
    `${serviceName}.${namespace}.svc`,
    `${serviceName}.${namespace}.svc.cluster.local`,
    `${serviceName}.${namespace}`,
    serviceName,
    ...certificateNames,
  ];

  const route = (path: string, kind: ReviewKind, handler: Handler): Route => ({
    method: "POST",
    path,
    handler: timed(kind, handler),
    ...(kind === "admission" ? { isHidden: true } : { refuses: requireApiServer }),
  });
  function timed(kind: ReviewKind, handler: Handler): Handler {
    return async (request, peer) => {
      if (peer.clientName === apiServerName) certificates?.shown(peer.certificate);
      const began = clock.monotonic();
      try {
        return await handler(request, peer);
      } finally {
        metrics.reviewTook(kind, (clock.monotonic() - began) / 1000);
      }
    };
  }
  const reviewing = (kind: ReviewKind) => ({
    accessKeys,
    clock,
    onUse: lastActivity.note.bind(lastActivity),
    onResult: (result: string): void => metrics.reviewed(kind, result),
  });
  const deciding = { accessKeys, client, clock, quota: options };
  const scopeWarningsOf = newScopeWarnings({ accessKeys, discovery });
  const admitting = { onResult: (result: string): void => metrics.reviewed("admission", result) };
  return {
    accessKeys,
    routes: [
      route(
        webhookPaths.tokenReview,
        "token",
        tokenReviewHandler({ ...reviewing("token"), onMismatch: mismatches.note.bind(mismatches) }),
      ),
      route(
        webhookPaths.accessReview,
        "access",
        accessReviewHandler({ ...reviewing("access"), discovery }),
      ),
      // API servers that take no flags show no certificate; a NetworkPolicy and a path that nobody
      // else knows stand before this.
      route(
        webhookPaths.keyAdmission,
        "admission",
        admissionHandler({
          ...admitting,
          steps: [
            enforceQuota(deciding),
            newKeyOnTakeOver,
            rejectDuplicateKey(deciding),
            enforceAttenuation(deciding),
            defaultKey,
          ],
          warningsOf: (request) => [...digestWarnings(request), ...scopeWarningsOf(request)],
        }),
      ),
      route(
        webhookPaths.sharedSecretData,
        "admission",
        admissionHandler({ ...admitting, steps: [base64Data] }),
      ),
      route(
        webhookPaths.requesterStamp,
        "admission",
        admissionHandler({
          ...admitting,
          steps: [(request) => admitted({ object: withRequesterAnnotations(request) })],
        }),
      ),
      route(
        webhookPaths.connectorData,
        "admission",
        admissionHandler({
          ...admitting,
          steps: [
            extractConnectorData({ client, key: connectorKey, accessKeys, clock, namespace }),
          ],
        }),
      ),
      route(
        webhookPaths.ownerAdmission,
        "admission",
        admissionHandler({
          ...admitting,
          steps: [checkBlockOwnerDeletion({ ...deciding, client, discovery })],
        }),
      ),
      route(
        webhookPaths.scopeAdmission,
        "admission",
        admissionHandler({ ...admitting, steps: [enforceScope(deciding)] }),
      ),
    ],
    isAdmissionSegment: (segment) =>
      admissionSegment !== undefined && isSameSegment(segment, admissionSegment),
    run: async (signal) =>
      void (await Promise.all(
        [accessKeys, lastActivity, discovery, connectorKey].map((part) => part.run(signal)),
      )),
    async keepCertificates(signal, onTls) {
      const published = createCaBundleInjector({ ...following, client, metrics });
      const onChange = (made: WebhookCertificates): void => {
        if (admissionPath === undefined) admissionSegment = made.admissionSegment;
        onTls(tlsOf(made));
      };
      const onRecorded = ({ ca, admissionSegment: segment }: WebhookCertificates): void => {
        if (admissionPath === undefined && segment !== undefined)
          published.publish({ ca: ca.certificate, segment });
      };
      certificates = new Certificates(
        {
          ...following,
          client,
          metrics,
          publishedBundles: () => published.bundles(),
          onChange,
          onRecorded,
        },
        { namespace, dnsNames, clientName: apiServerName },
      );
      await Promise.all([certificates.run(signal), published.run(signal)]);
    },
    warnings: () =>
      certificates?.problems().map((problem) => certificateProblemSentences[problem]) ?? [],
    close: () => transport.close(),
  };
}
