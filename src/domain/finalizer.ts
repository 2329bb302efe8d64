import { cleanupFinalizer } from "../api/names.ts";
import type { Metadata } from "../api/object.ts";
import type { Resource } from "../api/resources.ts";
import type { Write } from "./plan.ts";

/** Whether Latchkey's finalizer holds the object. */
export function isHeld(metadata: Metadata): boolean {
  return metadata.finalizers.includes(cleanupFinalizer);
}

/** Adds Latchkey's finalizer. */
export function holdWrite(resource: Resource, metadata: Metadata): Write {
  return finalizerWrite(resource, metadata, [...metadata.finalizers, cleanupFinalizer]);
}

/** Lets the object go. */
export function releaseWrite(resource: Resource, metadata: Metadata): Write {
  return finalizerWrite(
    resource,
    metadata,
    metadata.finalizers.filter((finalizer) => finalizer !== cleanupFinalizer),
  );
}

function finalizerWrite(resource: Resource, metadata: Metadata, finalizers: readonly string[]): Write {
  return {
    do: "patch",
    resource,
    ref: metadata,
    body: { metadata: { resourceVersion: metadata.resourceVersion, finalizers } },
  };
}
