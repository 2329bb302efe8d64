import type { EndpointToken } from "../../api/endpoint-token.ts";
import { annotations } from "../../api/names.ts";
import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { notObserved } from "../object-state.ts";
import { annotationField, reportObject } from "../report-object.ts";

/**
 * Why a token was not minted, or is no longer valid, as the controller reports it in the condition
 * Ready; unknown if that is not of the current generation.
 */
export function explainToken(token: EndpointToken): ReportItem {
  const { metadata, status, conditions } = token;
  const object = reportObject(resources.endpointTokens.kind, metadata);
  const ready = conditions.find(({ type }) => type === "Ready");
  if (ready === undefined || status["observedGeneration"] !== metadata.generation)
    return { object, ...notObserved };
  const { reason, message } = ready;
  const isDeleted = metadata.deletionTimestamp !== undefined;
  if (ready.status === "True" && !isDeleted)
    return { object, state: "ok", reason, message, causes: [] };
  const deciding = isDeleted
    ? { field: "metadata.deletionTimestamp", value: metadata.deletionTimestamp }
    : decidingField(reason, token);
  const causes = [{ object, ...deciding, reason, message: "Follow the message." }];
  return { object, state: "problem", reason, message, causes };
}

function decidingField(reason: string, { metadata, spec }: EndpointToken) {
  if (reason === "Expired") return { field: "spec.ttl", value: spec.ttl?.toString() };
  const annotation = decidingAnnotations.get(reason);
  if (annotation !== undefined)
    return { field: annotationField(annotation), value: metadata.annotations[annotation] };
  const isScope = reason === "InvalidScope" || reason === "TokenTooLarge";
  return { field: isScope ? "spec.scope" : "status.conditions" };
}

/** The annotations that decide, by reason. */
const decidingAnnotations: ReadonlyMap<string, string> = new Map([
  ["InvalidAudience", annotations.audienceCluster],
  ["UnknownRequester", annotations.requester],
  ["UnsupportedRequester", annotations.requester],
  ["TooManyTokens", annotations.requester],
  ["WaitingForGrant", annotations.requester],
  ["ParentKeyInvalid", annotations.requesterKeyId],
]);
