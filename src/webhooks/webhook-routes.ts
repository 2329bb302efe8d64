import type { AccessKeyCache } from "../authn/access-key-cache.ts";
import { identificationResults, UnknownKeyRetries } from "../authn/identify-key.ts";
import type { KeyMismatches } from "../authn/key-mismatch.ts";
import type { LastActivity } from "../authn/last-activity.ts";
import { withRequesterAnnotations } from "../domain/requester/requester-annotations.ts";
import { dataValueProblem } from "../domain/shared-secret/data-values.ts";
import { webhookPaths } from "../domain/webhook/webhook-paths.ts";
import type { Client } from "../kube/client/client.ts";
import type { Discovery } from "../kube/client/discovery.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Route } from "../runtime/routes.ts";
import { accessReviewHandler, accessReviewResults } from "./access-review.ts";
import {
  type AdmissionDeps,
  admissionHandler,
  admissionResults,
  admitted,
  type AdmissionStep,
  refusedField,
} from "./admission.ts";
import type { Certificates } from "../certificates/certificates.ts";
import { extractConnectorData, type ConnectorKey } from "./connector-data.ts";
import {
  defaultKey,
  enforceAttenuation,
  enforceQuota,
  type KeyQuota,
  newKeyOnTakeOver,
  newObject,
  rejectDuplicateKey,
} from "./key-admission.ts";
import { checkBlockOwnerDeletion } from "./owner-admission.ts";
import { requireApiServer, reviewCounter, reviewRoute, timed } from "./review-route.ts";
import { awaitNewKey, enforceScope, newScopeWarnings } from "./scope-admission.ts";
import { tokenReviewHandler } from "./token-review.ts";

/** Dependencies of {@link webhookRoutes}. */
interface WebhookRoutesDeps {
  readonly accessKeys: AccessKeyCache;
  readonly client: Client;
  readonly discovery: Discovery;
  readonly connectorKey: ConnectorKey;
  readonly lastActivity: LastActivity;
  readonly mismatches: KeyMismatches;
  readonly certificates: Pick<Certificates, "shown">;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** Options of {@link webhookRoutes}. */
export interface WebhookRoutesOptions extends KeyQuota {
  /** Latchkey's own namespace, which is also that of connector data. */
  readonly namespace: string;
  /** Whether admission answers only kube-apiserver, by its client certificate, as reviews do. */
  readonly requireAdmissionClientCertificate: boolean;
}

/** Routes for requests of kube-apiserver. */
export function webhookRoutes(
  options: WebhookRoutesOptions,
  deps: WebhookRoutesDeps,
): readonly Route[] {
  return [...reviewRoutes(deps), ...admissionRoutes(options, deps)];
}

function reviewRoutes(deps: WebhookRoutesDeps): readonly Route[] {
  const { accessKeys, clock, discovery, lastActivity, mismatches, metrics } = deps;
  const reviewing = { accessKeys, clock, onUse: lastActivity.note.bind(lastActivity) };
  const handlers = {
    [webhookPaths.tokenReview]: tokenReviewHandler({
      ...reviewing,
      unknownKeyRetries: new UnknownKeyRetries(),
      onMismatch: mismatches.note.bind(mismatches),
      onResult: reviewCounter("token", identificationResults, metrics),
    }),
    [webhookPaths.accessReview]: accessReviewHandler({
      ...reviewing,
      discovery,
      onResult: reviewCounter("access", accessReviewResults, metrics),
    }),
  };
  return Object.entries(handlers).map(([path, handler]) => reviewRoute({ path, handler }, deps));
}

/**
 * Routes of admission. API servers present a client certificate to admission webhooks only if they
 * have an AdmissionConfiguration; without one, a NetworkPolicy and a secret path protect the
 * routes.
 */
function admissionRoutes(options: WebhookRoutesOptions, deps: WebhookRoutesDeps): readonly Route[] {
  const { accessKeys, client, clock, connectorKey, discovery, metrics } = deps;
  const { namespace, requireAdmissionClientCertificate } = options;
  const deciding = { accessKeys, client, clock, quota: options };
  const awaited = awaitNewKey({ ...deciding, unknownKeyRetries: new UnknownKeyRetries() });
  const onResult = reviewCounter("admission", admissionResults, metrics);
  const scopeWarningsOf = newScopeWarnings({ accessKeys, discovery });
  const admission = (path: string, parts: Omit<AdmissionDeps, "onResult">): Route => ({
    method: "POST",
    path,
    handler: timed(path, admissionHandler({ ...parts, onResult }), deps),
    isHidden: true,
    ...(requireAdmissionClientCertificate ? { refuses: requireApiServer } : {}),
  });
  return [
    admission(webhookPaths.keyAdmission, {
      steps: [
        awaited,
        enforceQuota(deciding),
        newKeyOnTakeOver,
        rejectDuplicateKey(deciding),
        enforceAttenuation(deciding),
        defaultKey,
        newObject(deciding),
      ],
      warningsOf: scopeWarningsOf,
    }),
    admission(webhookPaths.sharedSecretData, { steps: [base64Data] }),
    admission(webhookPaths.requesterStamp, {
      steps: [
        newObject(deciding),
        (request) => admitted({ object: withRequesterAnnotations(request, namespace) }),
      ],
    }),
    admission(webhookPaths.connectorData, {
      steps: [extractConnectorData({ client, key: connectorKey, accessKeys, clock, namespace })],
    }),
    admission(webhookPaths.ownerAdmission, {
      steps: [checkBlockOwnerDeletion({ ...deciding, client, discovery })],
    }),
    admission(webhookPaths.scopeAdmission, { steps: [awaited, enforceScope(deciding)] }),
  ];
}

/**
 * Refuses values of a SharedSecret's data that are not base64; the schema rejects them, too, but
 * its message names no fix.
 */
export const base64Data: AdmissionStep = (request) => {
  const problem = dataValueProblem(request.object, request.oldObject);
  return problem === undefined ? admitted(request) : refusedField(problem);
};
