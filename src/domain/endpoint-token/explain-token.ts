import type { EndpointToken } from "../../api/endpoint-token.ts";
import { annotations } from "../../api/names.ts";
import { resources } from "../../api/resources.ts";
import { annotationField, type Cause, foundValue } from "../cause.ts";

/** Why a token was not minted, or is no longer valid, as the controller reports it. */
interface TokenExplanation {
  readonly isValid: boolean;
  readonly reason: string;
  readonly sentence: string;
  readonly causes: readonly Cause[];
}

/** Explains a token by its condition Ready; undefined if that is not of the current generation. */
export function explainToken({
  metadata,
  spec,
  status,
  conditions,
}: EndpointToken): TokenExplanation | undefined {
  const ready = conditions.find(({ type }) => type === "Ready");
  if (ready === undefined || status["observedGeneration"] !== metadata.generation) return undefined;
  const { reason, message: sentence } = ready;
  const object = { kind: resources.endpointTokens.kind, name: metadata.name };
  if (metadata.deletionTimestamp !== undefined) {
    const found = metadata.deletionTimestamp;
    const causes = [{ object, reason, ...again, field: "metadata.deletionTimestamp", found }];
    return { isValid: false, reason, sentence, causes };
  }
  if (ready.status === "True") return { isValid: true, reason, sentence, causes: [] };
  const field = fields.get(reason) ?? "status.conditions";
  const annotation = Object.values(annotations).find((name) => annotationField(name) === field);
  const found = annotation === undefined ? undefined : metadata.annotations[annotation];
  const ttl = field === "spec.ttl" ? spec.ttl?.toString() : undefined;
  const causes = [{ object, reason, ...again, field, ...foundValue(found ?? ttl) }];
  return { isValid: false, reason, sentence, causes };
}

const again = { fix: "Follow the message" };

/** The fields that decide, by reason. */
const fields: ReadonlyMap<string, string> = new Map([
  ["Expired", "spec.ttl"],
  ["InvalidScope", "spec.scope"],
  ["TokenTooLarge", "spec.scope"],
  ["InvalidAudience", annotationField(annotations.audienceCluster)],
  ["UnknownRequester", annotationField(annotations.requester)],
  ["UnsupportedRequester", annotationField(annotations.requester)],
  ["TooManyTokens", annotationField(annotations.requester)],
  ["WaitingForGrant", annotationField(annotations.requester)],
  ["ParentKeyInvalid", annotationField(annotations.requesterKeyId)],
]);
