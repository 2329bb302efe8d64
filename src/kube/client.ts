import type { Manifest, ObjectRef } from "../api/object.ts";
import type { Resource } from "../api/resources.ts";

/** The preconditions of a delete (Kubernetes API reference, Preconditions). */
export interface DeletePreconditions {
  readonly uid: string;
  readonly resourceVersion?: string;
}

/** A JSON merge patch (RFC 7386); `metadata.resourceVersion` inside it is the precondition. */
export interface Patch {
  readonly subresource?: "status";
  readonly body: {
    readonly metadata: { readonly resourceVersion: string; readonly [field: string]: unknown };
    readonly [field: string]: unknown;
  };
}

/**
 * Requests to the API server for single objects. Responses are `unknown`: `src/api` parses them.
 * Every method rejects only with a KubeError.
 */
export interface Client {
  get(resource: Resource, ref: ObjectRef): Promise<unknown>;
  /** GET of only the metadata (`as=PartialObjectMetadata`). */
  getMetadata(resource: Resource, ref: ObjectRef): Promise<unknown>;
  /** POST; with `dryRun` nothing is persisted (Kubernetes API concepts, "Dry-run"). */
  create(
    resource: Resource,
    object: Manifest,
    options?: { readonly dryRun: boolean },
  ): Promise<unknown>;
  /** POST of a review, which is not persisted (Kubernetes API reference, SubjectAccessReview). */
  review(resource: Resource, spec: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** PUT; `object.metadata.resourceVersion` is the precondition. */
  replace(resource: Resource, object: Manifest): Promise<unknown>;
  patch(resource: Resource, ref: ObjectRef, patch: Patch): Promise<unknown>;
  /** Returns a metav1.Status, or the object if its finalizers still have to be removed. */
  delete(resource: Resource, ref: ObjectRef, preconditions: DeletePreconditions): Promise<unknown>;
}
