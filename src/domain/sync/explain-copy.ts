import { annotations } from "../../api/names.ts";
import type { Metadata, ObjectRef } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import { annotationField, type Cause, nameOf } from "../cause.ts";
import { copiedSource, isCopiedByUser } from "./copy.ts";
import { notManagedText } from "./outcome.ts";
import { isPaused } from "./sync-options.ts";

/** What the metadata of a Secret says about sync, for a user who cannot read its SharedSecret. */
export interface CopyExplanation {
  readonly kind: "copy" | "paused" | "failed" | "not-managed";
  /** The SharedSecret that it says it is a copy of. */
  readonly source?: ObjectRef;
  readonly sentence: string;
  readonly causes: readonly Cause[];
}

/** Explains a Secret by its own annotations, in which the controller records the last error. */
export function explainCopy(secret: Metadata & { readonly namespace: string }): CopyExplanation {
  const { namespace, name, annotations: given } = secret;
  const object = { kind: resources.secrets.kind, namespace, name };
  const source = copiedSource(secret);
  if (source === undefined) {
    const { fact, fix } = notManagedText(object);
    const field = annotationField(annotations.copyOf);
    const isPasted = isCopiedByUser(secret);
    const found = isPasted ? { found: given[annotations.copyOf] ?? "" } : {};
    return {
      kind: "not-managed",
      sentence: `${fact}.`,
      causes: [{ object, field, ...found, fix }],
    };
  }
  const sourceName = nameOf({ kind: resources.sharedSecrets.kind, ...source });
  const error = given[annotations.syncError];
  if (error !== undefined) {
    const fix = `Correct ${sourceName}, or ask a user who may change it`;
    const field = annotationField(annotations.syncError);
    const sentence = `${nameOf(object)} is a copy of ${sourceName} and is not current: ${error}.`;
    return { kind: "failed", source, sentence, causes: [{ object, field, found: error, fix }] };
  }
  if (isPaused(secret)) {
    const field = annotationField(annotations.disableSync);
    const sentence = `annotation ${annotations.disableSync} of ${nameOf(object)} is "true", so it is not changed.`;
    const causes = [{ object, field, found: "true", fix: "Remove the annotation" }];
    return { kind: "paused", source, sentence, causes };
  }
  const sentence = `${nameOf(object)} is a copy of ${sourceName} and has no recorded error.`;
  return { kind: "copy", source, sentence, causes: [] };
}
