import type { Reason } from "../../api/conditions.ts";
import { annotations } from "../../api/names.ts";
import type { Metadata, ObjectRef } from "../../api/object.ts";
import type { ReportReason } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { annotationField, type Cause, type NamedObject, nameOf } from "../cause.ts";
import { copiedSource, isCopiedByUser } from "./copy.ts";
import { conflictReasons, notManagedText } from "./outcome.ts";
import { placeholderRequestOf } from "./placeholder.ts";
import { isPaused } from "./sync-options.ts";

/** What the metadata of a Secret says about sync, for a user who cannot read its SharedSecret. */
interface CopyExplanation {
  readonly reason: ReportReason | Reason;
  /** The SharedSecret that it says it is a copy of, or asks for. */
  readonly source?: ObjectRef;
  readonly sentence: string;
  readonly causes: readonly Cause[];
}

/** Explains a Secret by its own annotations, in which the controller records the last error. */
export function explainCopy(secret: Metadata & { readonly namespace: string }): CopyExplanation {
  const { namespace, name, annotations: given } = secret;
  const object = { kind: resources.secrets.kind, namespace, name };
  const source = copiedSource(secret);
  const request = placeholderRequestOf(secret);
  const error = given[annotations.syncError] ?? request?.problem;
  if (request !== undefined && (source === undefined || error !== undefined))
    return explainUnfilled(object, { source: request.source, error });
  if (source === undefined) {
    const { fact, fix } = notManagedText(object);
    const field = annotationField(annotations.copyOf);
    const isPasted = isCopiedByUser(secret);
    const found = isPasted ? { found: given[annotations.copyOf] ?? "" } : {};
    return {
      reason: conflictReasons.notManaged,
      sentence: `${fact}.`,
      causes: [{ object, field, ...found, reason: conflictReasons.notManaged, fix }],
    };
  }
  const sourceName = nameOf({ kind: resources.sharedSecrets.kind, ...source });
  if (error !== undefined) {
    const fix = `Correct ${sourceName}, or ask a user who may change it`;
    const field = annotationField(annotations.syncError);
    const sentence = `${nameOf(object)} is a copy of ${sourceName} and is not current: ${error}.`;
    const reason = "NotCurrent";
    return { reason, source, sentence, causes: [{ object, field, found: error, reason, fix }] };
  }
  if (isPaused(secret)) {
    const field = annotationField(annotations.disableSync);
    const sentence = `annotation ${annotations.disableSync} of ${nameOf(object)} is "true", so it is not changed.`;
    const reason = "CopyPaused";
    const causes = [{ object, field, found: "true", reason, fix: "Remove the annotation" }];
    return { reason, source, sentence, causes };
  }
  const sentence = `${nameOf(object)} is a copy of ${sourceName} and has no recorded error.`;
  return { reason: "CopyFound", source, sentence, causes: [] };
}

function explainUnfilled(
  object: NamedObject,
  { source, error }: { readonly source: ObjectRef | undefined; readonly error: string | undefined },
): CopyExplanation {
  const base = { reason: "NotFilled" as const, ...(source === undefined ? {} : { source }) };
  if (error === undefined)
    return { ...base, sentence: `${nameOf(object)} asks to be filled and is not yet.`, causes: [] };
  const field = annotationField(annotations.syncError);
  const { reason } = base;
  const causes = [{ object, field, found: error, reason, fix: "Follow the message" }];
  return { ...base, sentence: `${nameOf(object)} is not filled: ${error}.`, causes };
}
