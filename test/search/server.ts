import { createHash } from "node:crypto";
import type { ObjectRef } from "../../src/api/object.ts";
import type { Resource } from "../../src/api/resources.ts";
import type { DeletePreconditions, Patch } from "../../src/kube/client/client.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import { isKubeError, type KubeError } from "../../src/kube/client/kube-error.ts";
import { collectionPath, objectPath } from "../../src/kube/client/paths.ts";
import { bodyOf } from "../../src/kube/client/response-body.ts";
import { isEqual, isRaw, merged, nameOf, type Raw } from "../specification/raw.ts";
import { hasFilter, masked, type Stored } from "../specification/stored.ts";

/** An API server with its etcd, as an immutable value. */
export interface Server extends Stored {
  /** The last resourceVersion. */
  readonly version: number;
  /** How often an object of this id was created: the uid follows from it. */
  readonly births: ReadonlyMap<string, number>;
}

/**
 * Versions are so far apart that a restored etcd gives other ones, in between: the same version of an
 * object with other content would be no fault of Latchkey.
 */
const versionStep = 10;

/**
 * The server whose etcd is restored from a backup: it keeps uids, and its versions go back. What
 * connected clusters have is not in this etcd.
 */
export function restored({ now, births, objects: all }: Server, backup: Server): Server {
  const elsewhere = [...all].filter(([id]) => id.startsWith("agents/"));
  const objects = new Map([...backup.objects, ...elsewhere]);
  return { ...backup, objects, version: backup.version + 1, now, births };
}

/** A committed change of an object. */
export interface Change {
  readonly plural: string;
  readonly key: string;
  readonly version: number;
  readonly before: Raw | undefined;
  readonly after: Raw | undefined;
}

/** A request for a single object. */
export type Call =
  | { readonly verb: "get" | "get-metadata"; readonly resource: Resource; readonly ref: ObjectRef }
  | {
      readonly verb: "create";
      readonly resource: Resource;
      readonly object: { readonly metadata: ObjectRef };
      readonly isDryRun?: boolean;
    }
  | {
      readonly verb: "replace";
      readonly resource: Resource;
      readonly object: { readonly metadata: ObjectRef };
    }
  | {
      readonly verb: "patch";
      readonly resource: Resource;
      readonly ref: ObjectRef;
      readonly patch: Patch;
    }
  | {
      readonly verb: "delete";
      readonly resource: Resource;
      readonly ref: ObjectRef;
      readonly preconditions: DeletePreconditions;
    };

/** The response to a request, or its error. */
export type Outcome = { readonly answer: unknown } | { readonly error: KubeError };

/** What a request has changed, and its outcome. */
export interface Handled {
  readonly server: Server;
  /** Absent if the request has changed nothing. */
  readonly change?: Change;
  readonly outcome: Outcome;
}

/** What a user writes: merged into an existing object, whose fields null removes. */
export interface UserObject {
  readonly metadata: ObjectRef & { readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** An object of a user, by the plural of its kind. */
export type Given = readonly [plural: string, object: UserObject];

/** A server with these objects. */
export function serverOf(now: number, objects: readonly Given[]): Server {
  const empty: Server = { objects: new Map(), version: 100, births: new Map(), now };
  return objects.reduce(
    (server, [plural, object]) => userWrite(server, plural, object).server,
    empty,
  );
}

/** Sends a request. */
export function handle(server: Server, call: Call): Handled {
  const { resource } = call;
  const ref = "ref" in call ? call.ref : call.object.metadata;
  const id = `${resource.plural}/${nameOf(ref)}`;
  const existing = server.objects.get(id);
  if (call.verb === "create") return create(server, call, { id, existing });
  if (existing === undefined)
    return refused(server, call, {
      ...notFound,
      details: { name: ref.name, kind: resource.plural },
    });
  switch (call.verb) {
    case "get":
      return { server, outcome: { answer: existing } };
    case "get-metadata":
      return { server, outcome: { answer: metadataOf(existing) } };
    case "replace": {
      const sent = jsonOf(call.object);
      if (!isCurrent(existing, sent.metadata)) return refused(server, call, conflict);
      const next = { ...sent, status: existing.status };
      return written(server, call, { id, existing, next });
    }
    case "patch": {
      const { body, subresource } = call.patch;
      if (!isCurrent(existing, body.metadata)) return refused(server, call, conflict);
      const full = merged(existing, JSON.parse(encodeBody(body)));
      if (!isRaw(full)) throw new TypeError("a patch removes the metadata");
      const next =
        subresource === "status"
          ? { ...existing, status: full.status }
          : { ...full, ...(existing.status === undefined ? {} : { status: existing.status }) };
      return written(server, call, { id, existing, next });
    }
    case "delete":
      if (!isCurrent(existing, call.preconditions)) return refused(server, call, conflict);
      return remove(server, { id, existing });
  }
}

/** The answer to a request that did not reach the server, or whose response was lost. */
export function lost(call: Call): Outcome {
  return errorOf(call, { code: 0, reason: "Network" });
}

/** The answer of a server that refuses a request for a time. */
export function tooManyRequests(call: Call): Outcome {
  return errorOf(call, { code: 429, reason: "TooManyRequests", details: { retryAfterSeconds: 1 } });
}

/** Writes an object without a precondition, as users do: creates it, changes it, or deletes it. */
export function userWrite(
  server: Server,
  plural: string,
  { metadata, ...fields }: UserObject,
): Handled {
  const id = `${plural}/${nameOf(metadata)}`;
  const existing = server.objects.get(id);
  const next = merged(existing, { ...fields, metadata });
  if (!isRaw(next)) throw new TypeError(`${id} has no metadata`);
  return existing === undefined ? born(server, id, next) : stored(server, { id, existing, next });
}

/** Deletes an object as a user does. */
export function userDelete(server: Server, plural: string, ref: ObjectRef): Handled {
  const id = `${plural}/${nameOf(ref)}`;
  const existing = server.objects.get(id);
  if (existing === undefined) return { server, outcome: { answer: undefined } };
  if (plural !== "namespaces") return remove(server, { id, existing });
  return terminating(server, { id, existing });
}

/**
 * Deletes an object of a terminating namespace, or the namespace if it is empty; undefined if there
 * is none.
 */
export function namespaceStep(server: Server, id: string): Handled | undefined {
  const existing = server.objects.get(id);
  if (existing === undefined) return undefined;
  const { namespace, name, deletionTimestamp } = existing.metadata;
  if (id.startsWith("namespaces/")) {
    const isEmpty = ![...server.objects.values()].some(
      ({ metadata }) => metadata.namespace === name,
    );
    return deletionTimestamp !== undefined && isEmpty ? gone(server, { id, existing }) : undefined;
  }
  const home = server.objects.get(`namespaces/${namespace ?? ""}`);
  if (home?.metadata.deletionTimestamp === undefined || deletionTimestamp !== undefined)
    return undefined;
  return remove(server, { id, existing });
}

/** Counts what a quota limits, as its controller does; undefined if its status is right. */
export function quotaStep(server: Server, id: string): Handled | undefined {
  const existing = server.objects.get(id);
  if (existing === undefined || !id.startsWith("resourcequotas/")) return undefined;
  const hard = existing.spec?.hard ?? {};
  const used = Object.fromEntries(
    Object.keys(hard).map((plural) => [
      plural,
      String(countIn(server, plural, existing.metadata.namespace)),
    ]),
  );
  const next = { ...existing, status: { hard, used } };
  return isEqual(existing, next) ? undefined : stored(server, { id, existing, next });
}

function countIn({ objects }: Server, plural: string, namespace: string | undefined): number {
  return [...objects].filter(
    ([id, { metadata }]) => id.startsWith(`${plural}/`) && metadata.namespace === namespace,
  ).length;
}

/** Only the metadata of an object, as `as=PartialObjectMetadata` returns it. */
export function metadataOf(object: Raw): Raw {
  const known = partial.get(object) ?? { kind: "PartialObjectMetadata", metadata: object.metadata };
  partial.set(object, known);
  return known;
}

const partial = new WeakMap<Raw, Raw>();

interface Refusal {
  readonly code: number;
  readonly reason: string;
  readonly message?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

const notFound = { code: 404, reason: "NotFound", message: "not found" } as const;
const conflict = {
  code: 409,
  reason: "Conflict",
  message: "the object has been modified",
} as const;

function invalid(field: string): Refusal {
  return { code: 422, reason: "Invalid", message: `${field}: Invalid value` };
}

function create(
  server: Server,
  call: Extract<Call, { verb: "create" }>,
  { id, existing }: { readonly id: string; readonly existing: Raw | undefined },
): Handled {
  const { resource, isDryRun = false } = call;
  const { plural } = resource;
  const { namespace, name } = call.object.metadata;
  const object = jsonOf(call.object);
  if (namespace !== undefined) {
    const home = server.objects.get(`namespaces/${namespace}`);
    if (home === undefined)
      return refused(server, call, {
        ...notFound,
        details: { name: namespace, kind: "namespaces" },
      });
    if (home.metadata.deletionTimestamp !== undefined) {
      const causes = [{ reason: "NamespaceTerminating", field: "metadata.namespace" }];
      const message = `${plural} "${name}" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`;
      return refused(server, call, {
        code: 403,
        reason: "Forbidden",
        message,
        details: { name, causes },
      });
    }
  }
  const problem = problemWith(plural, object) ?? quotaProblem(server, plural, object);
  if (problem !== undefined) return refused(server, call, problem);
  if (existing !== undefined)
    return refused(server, call, {
      code: 409,
      reason: "AlreadyExists",
      message: `${plural} "${name}" already exists`,
    });
  const { status: _, ...asked } = object;
  const sent = mutated(server, plural, asked);
  return isDryRun ? { server, outcome: { answer: sent } } : born(server, id, sent);
}

/** Creates an object with a uid and a resourceVersion. */
function born(server: Server, id: string, { metadata, ...object }: Raw): Handled {
  const [plural = ""] = id.split("/", 1);
  const count = (server.births.get(id) ?? 0) + 1;
  const isOwnKind = ownKinds.has(plural);
  const after: Raw = {
    ...(isOwnKind ? { status: { observedGeneration: -1 } } : {}),
    ...object,
    metadata: {
      ...metadata,
      uid: metadata.uid ?? uidOf(id, count),
      creationTimestamp: metadata.creationTimestamp ?? secondsOf(server.now),
      ...(isOwnKind ? { generation: metadata.generation ?? 1 } : {}),
      resourceVersion: String(server.version + versionStep),
    },
  };
  const births = new Map(server.births).set(id, count);
  return committed({ ...server, births }, id, { before: undefined, after });
}

function written(
  server: Server,
  call: Call,
  { id, existing, next }: { readonly id: string; readonly existing: Raw; readonly next: Raw },
): Handled {
  const { plural } = call.resource;
  const problem = problemWith(plural, next) ?? changeProblem(existing, next);
  return problem === undefined
    ? stored(server, { id, existing, next: mutated(server, plural, next) })
    : refused(server, call, problem);
}

/** A Secret as the policies of a platform store it: with marks, or with masked values. */
function mutated(server: Server, plural: string, sent: Raw): Raw {
  if (plural !== "secrets") return sent;
  const object = hasFilter(server) ? { ...sent, data: masked(sent.data) } : sent;
  if (!server.objects.has("mutatingadmissionpolicies/platform")) return object;
  const { metadata } = object;
  const labels = { ...metadata.labels, "example.com/cost": "shared" };
  const annotations = { ...metadata.annotations, "example.com/scanned": "yes" };
  return { ...object, metadata: { ...metadata, labels, annotations } };
}

/** Stores a changed object; removes it if it was deleted and its last finalizer is gone. */
function stored(
  server: Server,
  { id, existing, next }: { readonly id: string; readonly existing: Raw; readonly next: Raw },
): Handled {
  const { uid, creationTimestamp, deletionTimestamp, resourceVersion, generation } =
    existing.metadata;
  const kept = {
    uid,
    creationTimestamp,
    resourceVersion,
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(generation === undefined ? {} : { generation }),
  };
  const sent: Raw = { ...next, metadata: { ...next.metadata, ...kept } };
  if (isEqual(sent, existing)) return { server, outcome: { answer: existing } };
  if (deletionTimestamp !== undefined && (sent.metadata.finalizers ?? []).length === 0)
    return { ...gone(server, { id, existing }), outcome: { answer: sent } };
  const isNewSpec = generation !== undefined && !isEqual(sent.spec, existing.spec);
  const metadata = {
    ...sent.metadata,
    ...(isNewSpec ? { generation: generation + 1 } : {}),
    resourceVersion: String(server.version + versionStep),
  };
  return committed(server, id, { before: existing, after: { ...sent, metadata } });
}

function remove(
  server: Server,
  { id, existing }: { readonly id: string; readonly existing: Raw },
): Handled {
  const { finalizers = [], deletionTimestamp } = existing.metadata;
  if (finalizers.length === 0) return gone(server, { id, existing });
  return deletionTimestamp === undefined
    ? terminating(server, { id, existing })
    : { server, outcome: { answer: existing } };
}

function terminating(
  server: Server,
  { id, existing }: { readonly id: string; readonly existing: Raw },
): Handled {
  const { generation, deletionTimestamp = secondsOf(server.now) } = existing.metadata;
  const metadata = {
    ...existing.metadata,
    deletionTimestamp,
    ...(generation === undefined ? {} : { generation: generation + 1 }),
    resourceVersion: String(server.version + versionStep),
  };
  return committed(server, id, { before: existing, after: { ...existing, metadata } });
}

function gone(
  server: Server,
  { id, existing }: { readonly id: string; readonly existing: Raw },
): Handled {
  const removed = committed(server, id, { before: existing, after: undefined });
  return { ...removed, outcome: { answer: { kind: "Status", status: "Success" } } };
}

function committed(
  server: Server,
  id: string,
  { before, after }: Pick<Change, "before" | "after">,
): Handled {
  const version = server.version + versionStep;
  const objects = new Map(server.objects);
  if (after === undefined) objects.delete(id);
  else objects.set(id, after);
  const slash = id.indexOf("/");
  const change = { plural: id.slice(0, slash), key: id.slice(slash + 1), version, before, after };
  return { server: { ...server, objects, version }, change, outcome: { answer: after } };
}

/** Kinds with a generation and a status subresource. */
const ownKinds: ReadonlySet<string> = new Set([
  ...["sharedsecrets", "ownedaccesskeys", "directclusterendpointtokens"],
]);

/** ValidateSecret, as far as worlds need it. */
function problemWith(plural: string, object: Raw): Refusal | undefined {
  if (plural !== "secrets" || object.type !== "kubernetes.io/tls") return undefined;
  const missing = ["tls.crt", "tls.key"].find((key) => object.data?.[key] === undefined);
  return missing === undefined ? undefined : invalid(`data[${missing}]`);
}

function changeProblem(existing: Raw, next: Raw): Refusal | undefined {
  if (existing.type !== next.type) return invalid("type");
  if (!isEqual(existing.roleRef, next.roleRef)) return invalid("roleRef");
  if (existing.immutable !== true) return undefined;
  const isKept = next.immutable === true && isEqual(existing.data, next.data);
  return isKept ? undefined : invalid("data: field is immutable when `immutable` is set");
}

function quotaProblem(server: Server, plural: string, { metadata }: Raw): Refusal | undefined {
  const { namespace, name } = metadata;
  const quotas = [...server.objects.values()].filter(
    ({ metadata: one, spec }) => one.namespace === namespace && spec?.hard?.[plural] !== undefined,
  );
  const [hard] = quotas.flatMap(({ spec }) => spec?.hard?.[plural] ?? []);
  const used = countIn(server, plural, namespace);
  if (hard === undefined || used < Number(hard)) return undefined;
  const message = `${plural} "${name}" is forbidden: exceeded quota: all, requested: ${plural}=1, used: ${plural}=${used}, limited: ${plural}=${hard}`;
  return { code: 403, reason: "Forbidden", message };
}

function isCurrent(
  { metadata }: Raw,
  { uid, resourceVersion }: { readonly uid?: string; readonly resourceVersion?: string },
): boolean {
  return (
    (uid === undefined || uid === metadata.uid) &&
    (resourceVersion === undefined || resourceVersion === metadata.resourceVersion)
  );
}

function refused(server: Server, call: Call, refusal: Refusal): Handled {
  return { server, outcome: errorOf(call, refusal) };
}

/** The error that the client of src makes of a response. */
function errorOf(call: Call, { code, reason, message = reason, details = {} }: Refusal): Outcome {
  const { resource } = call;
  const method = methods[call.verb];
  const path =
    call.verb === "create"
      ? collectionPath(resource, call.object.metadata.namespace)
      : objectPath(resource, "ref" in call ? call.ref : call.object.metadata);
  const text = code === 0 ? "" : JSON.stringify({ kind: "Status", code, reason, message, details });
  try {
    const answer = bodyOf({ method, path }, { status: code === 0 ? 200 : code, text });
    throw new TypeError(`${JSON.stringify(answer)} is not an error`);
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return { error };
  }
}

const methods = {
  get: "GET",
  "get-metadata": "GET",
  create: "POST",
  replace: "PUT",
  patch: "PATCH",
  delete: "DELETE",
} as const;

const bodies = new WeakMap<object, Raw>();

/** The JSON that a request carries. */
function jsonOf(object: object): Raw {
  const known = bodies.get(object);
  if (known !== undefined) return known;
  const json: unknown = JSON.parse(encodeBody(object));
  if (!isRaw(json)) throw new TypeError("an object has no metadata");
  bodies.set(object, json);
  return json;
}

/** A uid that follows from the id of an object and from how often it was created. */
export function uidOf(id: string, count: number): string {
  const known = uids.get(`${id} ${count}`);
  if (known !== undefined) return known;
  const hex = createHash("sha256").update(`${id} ${count}`).digest("hex");
  const uid = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5");
  uids.set(`${id} ${count}`, uid);
  return uid;
}

const uids = new Map<string, string>();

/** RFC 3339 in whole seconds, as metav1.Time. */
export function secondsOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
