import { cliFieldManager } from "../../api/names.ts";
import type { Manifest, ObjectRef } from "../../api/object.ts";
import { listAt, recordAt, stringAt } from "../../api/parse.ts";
import { apiVersionOf, type Resource } from "../../api/resources.ts";
import type { KubeconfigChoice } from "../../kube/credentials/kubeconfig.ts";
import {
  acceptOf,
  listPath,
  type ListOptions,
  readPage,
} from "../../kube/informer/list-options.ts";
import { collectionPath, objectPath, withQuery } from "../../kube/client/paths.ts";
import { bodyForUser } from "../../kube/client/response-body.ts";
import type { ApiRequest, RoundTripper } from "../../kube/client/transport.ts";
import { Failure } from "../failure.ts";

/** The parameters of a write. */
interface WriteOptions {
  readonly dryRun?: boolean;
}

/**
 * Requests as the user of the kubeconfig; every method rejects only with a KubeError, whose
 * explanation is the message of the API server.
 */
export interface Cluster {
  readonly choice: KubeconfigChoice;
  /** Whether the connection is that of the variables of `keys create -o env`, of no kubeconfig. */
  readonly isOfVariables: boolean;
  readonly transport: RoundTripper;
  readonly send: (call: ApiRequest) => Promise<unknown>;
  readonly get: (resource: Resource, ref: ObjectRef) => Promise<unknown>;
  /** The metadata of an object alone, which is enough for an object with secrets. */
  readonly getMetadata: (resource: Resource, ref: ObjectRef) => Promise<unknown>;
  /** All items, read in pages; of all namespaces without `namespace`. */
  readonly list: (resource: Resource, namespace?: string) => Promise<readonly unknown[]>;
  /** The items that the options select, as metadata alone if they say so, read in pages. */
  readonly select: (options: ListOptions) => Promise<readonly unknown[]>;
  readonly create: (
    resource: Resource,
    manifest: Manifest,
    options?: WriteOptions,
  ) => Promise<unknown>;
  /** A JSON merge patch (RFC 7386). */
  readonly patch: (resource: Resource, ref: ObjectRef, patch: ClusterPatch) => Promise<unknown>;
  readonly delete: (resource: Resource, ref: ObjectRef, options?: WriteOptions) => Promise<unknown>;
  /** POST of a review; returns its status. */
  readonly review: (
    resource: Resource,
    spec: Readonly<Record<string, unknown>>,
  ) => Promise<Readonly<Record<string, unknown>>>;
}

/** A merge patch, and whether it is only tried. */
interface ClusterPatch extends WriteOptions {
  readonly body: Readonly<Record<string, unknown>>;
}

/** The uid and resourceVersion of an object, as preconditions of a patch. */
export function preconditions(object: unknown): Readonly<Record<string, unknown>> {
  const { uid, resourceVersion } = recordAt(object, "metadata");
  return { uid, resourceVersion };
}

const pageItems = 500;
const writing = { fieldManager: cliFieldManager, fieldValidation: "Strict" };

/** Wraps a connection. */
export function clusterOver(
  transport: RoundTripper,
  choice: KubeconfigChoice,
  { isOfVariables = false } = {},
): Cluster {
  const send = async (call: ApiRequest): Promise<unknown> =>
    bodyForUser(call, await transport.request(call));
  return {
    choice,
    isOfVariables,
    transport,
    send,
    get: async (resource, ref) => send({ method: "GET", path: objectPath(resource, ref) }),
    getMetadata: async (resource, ref) =>
      send({
        method: "GET",
        path: objectPath(resource, ref),
        accept: acceptOf({ resource, metadataOnly: true }, ""),
      }),
    list: (resource, namespace) =>
      listPages(send, { resource, ...(namespace === undefined ? {} : { namespace }) }),
    select: (options) => listPages(send, options),
    create: async (resource, manifest, { dryRun = false } = {}) =>
      send({
        method: "POST",
        path: withQuery(collectionPath(resource, manifest.metadata.namespace), {
          ...writing,
          dryRun: dryRun ? "All" : undefined,
        }),
        body: manifest,
      }),
    patch: async (resource, ref, { body, dryRun = false }) =>
      send({
        method: "PATCH",
        path: withQuery(objectPath(resource, ref), {
          ...writing,
          dryRun: dryRun ? "All" : undefined,
        }),
        body,
        contentType: "application/merge-patch+json",
      }),
    delete: async (resource, ref, { dryRun = false } = {}) =>
      send({
        method: "DELETE",
        path: withQuery(objectPath(resource, ref), { dryRun: dryRun ? "All" : undefined }),
      }),
    review: async (resource, spec) =>
      recordAt(
        await send({
          method: "POST",
          path: collectionPath(resource),
          body: {
            apiVersion: apiVersionOf(resource),
            kind: resource.kind,
            ...(Object.keys(spec).length === 0 ? {} : { spec }),
          },
        }),
        "status",
      ),
  };
}

async function listPages(send: Cluster["send"], options: ListOptions): Promise<readonly unknown[]> {
  const pages = await readPages((page) =>
    send({ method: "GET", path: listPath(options, page), accept: acceptOf(options, "List") }),
  );
  return pages.flatMap((page) => listAt(page, "items"));
}

/** The parameters of a page of a list (Kubernetes API concepts, "Retrieving large results"). */
type PageOptions = Readonly<Record<"limit" | "continue", string | undefined>>;

/** A million objects; a server could name a next page for ever. */
const mostPages = 2_000;

/** Reads all pages of a list; rejects with a Failure if they have no end. */
export async function readPages(
  read: (page: PageOptions) => Promise<unknown>,
): Promise<readonly unknown[]> {
  const pages: unknown[] = [];
  let [limit, next]: [number, string | undefined] = [pageItems, undefined];
  while (pages.length < mostPages) {
    const page = await readPage(limit, (count) => {
      limit = count;
      return read({ limit: String(count), continue: next });
    });
    pages.push(page);
    next = stringAt(recordAt(page, "metadata"), "continue") || undefined;
    if (next === undefined) return pages;
  }
  throw new Failure(`the list of the API server has more than ${mostPages} pages`);
}
