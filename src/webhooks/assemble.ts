import { group, webhookFieldManager } from "../api/names.ts";
import { followIdentities } from "../authn/follow-identities.ts";
import { KeyMismatches } from "../authn/key-mismatch.ts";
import { LastActivity } from "../authn/last-activity.ts";
import { Certificates } from "../certificates/certificates.ts";
import type { KeyConfig } from "../domain/access-key/key-state.ts";
import { createClient } from "../kube/client/client.ts";
import { createDiscovery } from "../kube/client/discovery.ts";
import { EventRecorder } from "../kube/event-recorder.ts";
import { exposeWatches } from "../kube/informer/watch-metrics.ts";
import {
  ownTransport,
  type OutwardConnectionDeps,
  provingInformerDeps,
} from "../kube/process-connection.ts";
import type { IsHiddenSegment, Route } from "../runtime/routes.ts";
import type { ProcessPart } from "../runtime/run-process.ts";
import { createConnectorKey } from "./connector-data.ts";
import { apiServerName } from "./review-route.ts";
import { webhookRoutes, type WebhookRoutesOptions } from "./webhook-routes.ts";

/** A process that answers reviews, with its clients for the API server, without its servers. */
export interface WebhookAssembly {
  /** Routes for requests of kube-apiserver. */
  readonly routes: readonly Route[];
  /** Whether this is the first path segment of the admission routes. */
  readonly isAdmissionSegment: IsHiddenSegment;
  /** The informers and what else decides about reviews, and their connections. */
  readonly parts: readonly ProcessPart[];
  /** Those that Latchkey makes. */
  readonly certificates: Certificates;
}

/** Options of a webhook process. */
interface WebhookOptions extends KeyConfig, WebhookRoutesOptions {
  readonly serviceName: string;
  /** DNS names in addition to those of the Service. */
  readonly certificateNames: readonly string[];
  /**
   * The first path segment of the admission routes, if an administrator manages the webhook
   * configurations; otherwise the webhook generates and publishes one.
   */
  readonly admissionPath: string | undefined;
}

/** Builds a webhook process without its servers; nothing runs yet. */
export function assembleWebhook(
  options: WebhookOptions,
  deps: OutwardConnectionDeps,
): WebhookAssembly {
  const { clock, random, log, metrics } = deps;
  const { namespace, serviceName } = options;
  const transport = ownTransport(deps);
  const client = createClient(transport, webhookFieldManager);
  const following = provingInformerDeps(transport, deps);
  const { proxyOf } = deps;
  const identities = followIdentities(options, { ...following, metrics, proxyOf });
  const { accessKeys, tokens } = identities;
  exposeWatches(() => accessKeys.watches(), metrics);
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
  const externalNames = options.certificateNames;
  const certificates = new Certificates(
    "webhook",
    { ...options, externalNames, clientName: apiServerName, hasConfigurations: true },
    { ...following, client, metrics },
  );
  return {
    routes: webhookRoutes({
      options,
      accessKeys,
      tokens,
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
    parts: [
      transport,
      ...identities.parts,
      ...[lastActivity, discovery, connectorKey],
      { warnings: () => certificates.warnings() },
    ],
    certificates,
  };
}
