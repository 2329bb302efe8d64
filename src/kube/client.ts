import type { Manifest, ObjectRef } from "../api/object.ts";
import type { Resource } from "../api/resources.ts";

/** What a delete was decided on (Kubernetes API reference, Preconditions). */
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
 * The API server's verbs on single objects. Answers are `unknown`: they are parsed at the door, in
 * `api`. Every call throws a KubeError and nothing else.
 */
export interface Client {
  get(resource: Resource, ref: ObjectRef): Promise<unknown>;
  /** GET of the metadata alone (`as=PartialObjectMetadata`). */
  getMetadata(resource: Resource, ref: ObjectRef): Promise<unknown>;
  /** POST; with `dryRun` nothing is stored (Kubernetes API concepts, "Dry-run"). */
  create(
    resource: Resource,
    object: Manifest,
    options?: { readonly dryRun: boolean },
  ): Promise<unknown>;
  /**
   * POST of an object that is a question: nothing is stored (Kubernetes API reference,
   * SubjectAccessReview).
   */
  review(resource: Resource, spec: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** PUT; `object.metadata.resourceVersion` is the precondition. */
  replace(resource: Resource, object: Manifest): Promise<unknown>;
  patch(resource: Resource, ref: ObjectRef, patch: Patch): Promise<unknown>;
  delete(resource: Resource, ref: ObjectRef, preconditions: DeletePreconditions): Promise<void>;
}
