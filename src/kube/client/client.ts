import type { Manifest, ObjectRef } from "../../api/object.ts";
import { type Resource, apiVersionOf } from "../../api/resources.ts";
import { collectionPath, objectPath, withQuery } from "./paths.ts";
import { bodyOf } from "./response-body.ts";
import type { ApiRequest, RoundTripper } from "./transport.ts";

/** The preconditions of a delete (Kubernetes API reference, Preconditions). */
export interface DeletePreconditions {
  readonly uid: string;
  readonly resourceVersion?: string;
}

/**
 * A JSON merge patch (RFC 7386); `metadata.resourceVersion` or `metadata.uid` inside it is the
 * precondition.
 */
export interface Patch {
  readonly subresource?: "status";
  readonly body: {
    readonly metadata: ({ readonly resourceVersion: string } | { readonly uid: string }) & {
      readonly [field: string]: unknown;
    };
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

const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/** Estimated bytes of an object in a response to a read or a patch. */
export type SizeOf = (resource: Resource, ref: ObjectRef) => number;

/**
 * Creates a client that writes as `fieldManager` with strict field validation (Kubernetes API
 * concepts, "Field validation").
 */
export function createClient(
  transport: RoundTripper,
  fieldManager: string,
  sizeOf: SizeOf = () => 0,
): Client {
  const writing = { fieldManager, fieldValidation: "Strict" };

  async function send(call: ApiRequest): Promise<unknown> {
    return bodyOf(call, await transport.request(call));
  }

  return {
    get: async (resource, ref) =>
      send({
        method: "GET",
        path: objectPath(resource, ref),
        responseBytes: sizeOf(resource, ref),
      }),
    getMetadata: async (resource, ref) =>
      send({ method: "GET", path: objectPath(resource, ref), accept: metadataOnly }),
    async create(resource, object, options) {
      const dryRun = options?.dryRun === true ? "All" : undefined;
      const path = withQuery(collectionPath(resource, object.metadata.namespace), {
        ...writing,
        dryRun,
      });
      return send({ method: "POST", path, body: object });
    },
    review: (resource, spec) =>
      send({
        method: "POST",
        path: collectionPath(resource),
        body: { apiVersion: apiVersionOf(resource), kind: resource.kind, spec },
      }),
    async replace(resource, object) {
      return send({
        method: "PUT",
        path: withQuery(objectPath(resource, object.metadata), writing),
        body: object,
      });
    },
    async patch(resource, ref, { subresource, body }) {
      const path = withQuery(objectPath(resource, ref, subresource), writing);
      return send({
        method: "PATCH",
        path,
        body,
        contentType: "application/merge-patch+json",
        responseBytes: sizeOf(resource, ref),
      });
    },
    async delete(resource, ref, preconditions) {
      const body = {
        apiVersion: "v1",
        kind: "DeleteOptions",
        preconditions,
        propagationPolicy: "Background",
      };
      return send({ method: "DELETE", path: objectPath(resource, ref), body });
    },
  };
}
