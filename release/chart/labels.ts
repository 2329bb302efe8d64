import type { Hole, Path } from "./template.ts";
import type { Schema } from "./value.ts";

/** The labels of an object, those of a value before the ones that all objects have. */
export const labelsText = '{{- include "latchkey.labels" (list . VALUE) | nindent @ }}';

/** Where an object has its labels. */
export const labelsPath: Path = ["metadata", "labels", "+"];

/** The labels that all objects have. */
export const commonLabels: Hole = {
  path: labelsPath,
  text: labelsText.replace("VALUE", "dict"),
};

/** Labels without those by which Deployments, Services and NetworkPolicies select pods. */
export const moreLabels: Schema = {
  type: "object",
  additionalProperties: { type: "string" },
  properties: { "app.kubernetes.io/name": { not: {} }, "app.kubernetes.io/component": { not: {} } },
};
