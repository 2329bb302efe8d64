import type { ObjectRef } from "../api/object.ts";
import { apiVersionOf, type Resource } from "../api/resources.ts";
import { bodyOf } from "./responses.ts";
import type { Client } from "./client.ts";
import { collectionPath, objectPath, withQuery } from "./paths.ts";
import type { ApiRequest, Transport } from "./transport.ts";

const metadataOnly = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/** Estimated bytes of an object in a response to a read or a patch. */
export type SizeOf = (resource: Resource, ref: ObjectRef) => number;

/**
 * Creates a client that writes as `fieldManager` with strict field validation (Kubernetes API
 * concepts, "Field validation").
 */
export function createClient(
  transport: Pick<Transport, "request">,
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
