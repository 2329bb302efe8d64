import type { AccessKeyCache } from "../authn/access-key-cache.ts";
import { identificationResults, UnknownKeyRetries } from "../authn/identify-key.ts";
import type { OidcTokens } from "../authn/oidc-tokens.ts";
import type { KeyMismatches } from "../authn/key-mismatch.ts";
import type { LastActivity } from "../authn/last-activity.ts";
import { withRequesterAnnotations } from "../domain/requester/requester-annotations.ts";
import { dataValueProblem, type FieldProblem } from "../domain/shared-secret/data-values.ts";
import { laterDeletionProblem } from "../domain/webhook/deletion-timestamp.ts";
import { webhookPaths } from "../domain/webhook/webhook-paths.ts";
import type { Discovery } from "../kube/client/discovery.ts";
import type { Metrics } from "../runtime/metrics.ts";
import type { Route } from "../runtime/routes.ts";
import { accessReviewHandler, accessReviewResults } from "./access-review.ts";
import {
  admissionHandler,
  admissionResults,
  admitted,
  type AdmissionStep,
  refusedField,
} from "./admission.ts";
import type { Certificates } from "../certificates/certificates.ts";
import type { AdmissionContext, AdmissionOptions } from "./admission-context.ts";
import { extractConnectorData } from "./connector-data.ts";
import {
  checkTokenRule,
  defaultKey,
  enforceAttenuation,
  enforceQuota,
  newKeyOnTakeOver,
  newObject,
  rejectDuplicateKey,
  tokenRuleWarnings,
} from "./key-admission.ts";
import { checkBlockOwnerDeletion } from "./owner-admission.ts";
import { requireApiServer, reviewCounter, reviewRoute, timed } from "./review-route.ts";
import { awaitNewKey, enforceScope, guardKeys, newScopeWarnings } from "./scope-admission.ts";
import { tokenReviewHandler } from "./token-review.ts";

/** Options of {@link webhookRoutes}. */
export interface WebhookRoutesOptions extends AdmissionOptions {
  /** Whether admission answers only kube-apiserver, by its client certificate, as reviews do. */
  readonly requireAdmissionClientCertificate: boolean;
}

/** What the routes of a webhook answer from. */
interface WebhookContext extends AdmissionContext {
  readonly options: WebhookRoutesOptions;
  readonly accessKeys: AccessKeyCache;
  readonly tokens: OidcTokens;
  readonly discovery: Discovery;
  readonly lastActivity: LastActivity;
  readonly mismatches: KeyMismatches;
  readonly certificates: Certificates;
  readonly metrics: Metrics;
}

/** Routes for requests of kube-apiserver. */
export function webhookRoutes(context: WebhookContext): readonly Route[] {
  return [...reviewRoutes(context), ...admissionRoutes(context)];
}

function reviewRoutes(context: WebhookContext): readonly Route[] {
  const { accessKeys, tokens, clock, discovery, lastActivity, mismatches, metrics } = context;
  const reviewing = { accessKeys, clock, onUse: lastActivity.note.bind(lastActivity) };
  const handlers = {
    [webhookPaths.tokenReview]: tokenReviewHandler({
      ...reviewing,
      tokens,
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
  return Object.entries(handlers).map(([path, handler]) => reviewRoute({ path, handler }, context));
}

/**
 * Routes of admission. API servers present a client certificate to admission webhooks only if they
 * have an AdmissionConfiguration; without one, a NetworkPolicy and a secret path protect the
 * routes.
 */
function admissionRoutes(context: WebhookContext): readonly Route[] {
  const { namespace, requireAdmissionClientCertificate } = context.options;
  const onResult = reviewCounter("admission", admissionResults, context.metrics);
  const awaitKey = awaitNewKey(new UnknownKeyRetries());
  const route = (
    path: string,
    steps: readonly AdmissionStep[],
    warningsOf: typeof newScopeWarnings = () => [],
  ): Route => ({
    method: "POST",
    path,
    handler: timed(path, admissionHandler({ steps, warningsOf, onResult }, context), context),
    isHidden: true,
    ...(requireAdmissionClientCertificate ? { refuses: requireApiServer } : {}),
  });
  const keySteps = [
    ...[awaitKey, enforceQuota, checkTokenRule, newKeyOnTakeOver, rejectDuplicateKey],
    ...[enforceAttenuation, defaultKey, newObject],
  ];
  const stamp: AdmissionStep = (request) =>
    admitted({ object: withRequesterAnnotations(request, namespace) });
  return [
    route(webhookPaths.keyAdmission, keySteps, (...asked) => [
      ...newScopeWarnings(...asked),
      ...tokenRuleWarnings(...asked),
    ]),
    route(webhookPaths.sharedSecretData, [base64Data]),
    route(webhookPaths.requesterStamp, [newObject, stamp]),
    route(webhookPaths.connectorData, [extractConnectorData()]),
    route(webhookPaths.ownerAdmission, [checkBlockOwnerDeletion]),
    route(webhookPaths.deletionTimestamp, [laterDeletion]),
    route(webhookPaths.scopeAdmission, [awaitKey, enforceScope, guardKeys]),
  ];
}

/**
 * Refuses values of a SharedSecret's data that are not base64; the schema rejects them, too, but
 * its message names no fix.
 */
export const base64Data = refusing(dataValueProblem);

/** Refuses a later deletionTimestamp, instead of which kube-apiserver stores the former one. */
const laterDeletion = refusing(laterDeletionProblem);

/** The step that refuses a write with a problem in one field. */
function refusing(
  problemOf: (object: unknown, oldObject: unknown) => FieldProblem | undefined,
): AdmissionStep {
  return (request) => {
    const problem = problemOf(request.object, request.oldObject);
    return problem === undefined ? admitted(request) : refusedField(problem);
  };
}
