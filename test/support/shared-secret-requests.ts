import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import type { ObjectRef } from "../../src/api/object.ts";
import { numberAt, parseConditions, recordAt } from "../../src/api/parse.ts";
import { becomes } from "./becomes.ts";
import { api, unique, type Caller } from "./policy-request.ts";

/** A SharedSecret that a test has created. */
export interface Place {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly path: string;
}

/** The SharedSecret that a test needs; its name is unique by default. */
export interface Wanted {
  readonly namespace: string;
  readonly name?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
}

/** The base64 encoding of a text, as in `data`. */
export function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** The path of SharedSecrets in a namespace, or of one of them. */
export function sharedSecretPath(namespace: string, name?: string): string {
  return `/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets${name === undefined ? "" : `/${name}`}`;
}

/** Creates a SharedSecret as the administrator. */
export async function makeSharedSecret({
  namespace,
  name = unique("shared"),
  annotations: given = {},
  spec = {},
}: Wanted): Promise<Place> {
  const body = { apiVersion, kind: "SharedSecret", metadata: { name, annotations: given }, spec };
  const { metadata } = await api.create(sharedSecretPath(namespace), body);
  return { namespace, name, uid: String(metadata.uid), path: sharedSecretPath(namespace, name) };
}

/** The status of a SharedSecret in the form that tests use. */
export interface View {
  /** Whether the status is of the current generation. */
  readonly settled: boolean;
  /** By type. */
  readonly conditions: Readonly<
    Record<string, { readonly status: string; readonly reason: string; readonly message: string }>
  >;
  readonly access: unknown;
  readonly sync: unknown;
  readonly keys: unknown;
}

/** Reads the status of a SharedSecret. */
export async function view({ path }: Pick<Place, "path">): Promise<View> {
  const { metadata, status } = await api.get(path);
  const record = recordAt({ status }, "status");
  return {
    settled: numberAt(record, "observedGeneration") === metadata.generation,
    conditions: Object.fromEntries(
      parseConditions(record).map((condition) => [condition.type, condition]),
    ),
    access: record.access,
    sync: record.sync,
    keys: record.keys,
  };
}

/** Waits until the status is of the current generation and Ready=True. */
export function becomesReady(place: Place): Promise<void> {
  return becomes(`${place.name} to be ready`, () => view(place), {
    settled: true,
    conditions: { Ready: { status: "True" } },
  });
}

/** A permission on a SharedSecret. */
export interface Access extends ObjectRef {
  readonly verb: string;
  readonly subresource?: string;
}

/** Whether the API server allows the caller to do it (SubjectAccessReview). */
export async function may({ user, groups = [] }: Caller, action: Access): Promise<boolean> {
  const resourceAttributes = { group: "management.service", resource: "sharedsecrets", ...action };
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const isAnonymous = groups.includes("system:unauthenticated");
  const spec = {
    user,
    groups: isAnonymous ? groups : ["system:authenticated", ...groups],
    resourceAttributes,
  };
  const { status } = await api.create(path, { spec });
  return recordAt({ status }, "status").allowed === true;
}

/**
 * Creates a namespace of a project that receives copies, of every source unless `from` restricts
 * it.
 */
export async function makeTarget(
  project: string,
  from?: string,
  others: Readonly<Record<string, string>> = {},
): Promise<string> {
  const name = unique("target");
  const given = {
    [annotations.sync]: "enabled",
    ...(from !== undefined && { [annotations.syncFrom]: from }),
    ...others,
  };
  const metadata = { name, labels: { [labels.project]: project }, annotations: given };
  await api.create("/api/v1/namespaces", { metadata });
  return name;
}

/** The path of a core Secret. */
export function secretPath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${namespace}/secrets/${name}`;
}

/** The path of a Role or a RoleBinding. */
export function rbacPath(
  plural: "roles" | "rolebindings",
  namespace: string,
  name?: string,
): string {
  return `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/${plural}${name === undefined ? "" : `/${name}`}`;
}
