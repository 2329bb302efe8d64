import { annotations, cleanupFinalizer } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import type { Resource } from "../../api/resources.ts";
import { createdAt, instantOf } from "../lifetime.ts";
import type { Write } from "./plan.ts";

/** Adds Latchkey's finalizer and records the start of the lifetime. */
export function addFinalizerAndStart(resource: Resource, metadata: Metadata): Write {
  return metadataWrite(resource, metadata, {
    finalizers: [...metadata.finalizers, cleanupFinalizer],
    annotations: startAnnotation(metadata),
  });
}

/**
 * Writes these annotations (null removes one), and the start of the lifetime if it is not recorded;
 * returns no write if nothing changes.
 */
export function annotationWrites(
  resource: Resource,
  metadata: Metadata,
  changes: Readonly<Record<string, string | null>>,
): readonly Write[] {
  const due = { ...startAnnotation(metadata), ...changes };
  return Object.keys(due).length === 0
    ? []
    : [metadataWrite(resource, metadata, { annotations: due })];
}

/**
 * The annotation with the start of the lifetime, if it is missing or later than the creation: after
 * a restore, a later start would extend the lifetime.
 */
function startAnnotation(metadata: Metadata): Readonly<Record<string, string>> {
  const recorded = instantOf(metadata.annotations[annotations.createdAt]);
  return recorded !== undefined && recorded <= createdAt(metadata)
    ? {}
    : { [annotations.createdAt]: metadata.creationTimestamp };
}

/** Changes metadata at the observed resourceVersion. */
export function metadataWrite(
  resource: Resource,
  metadata: Metadata,
  changes: Readonly<Record<string, unknown>>,
): Write {
  return {
    do: "patch",
    resource,
    ref: metadata,
    body: { metadata: { resourceVersion: metadata.resourceVersion, ...changes } },
  };
}
