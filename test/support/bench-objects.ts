import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { copyOfText } from "../../src/domain/sync/copy.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { type BareRequest, post } from "./bare-client.ts";

/** The namespace of all SharedSecrets except the many. */
export const home = "bench-home";

const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** Two values of about 40 bytes, different for each version. */
export function dataOf(version: number | string): Readonly<Record<string, string>> {
  return {
    username: base64(`somebody-of-version-${version}`),
    password: base64(`a-password-that-is-not-short-${version}`),
  };
}

/** A namespace that receives copies in a project, or that has no project. */
export function namespaceRequest(name: string, project?: string): BareRequest {
  const inProject = {
    labels: { [labels.project]: project ?? "" },
    annotations: { [annotations.sync]: "enabled" },
  };
  return post("/api/v1/namespaces", {
    metadata: { name, ...(project !== undefined && inProject) },
  });
}

/** The path of a SharedSecret, or of all in a namespace. */
export function sharedSecretPath(namespace: string, name?: string): string {
  return `/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets${name === undefined ? "" : `/${name}`}`;
}

const plurals = {
  OwnedAccessKey: "ownedaccesskeys",
  DirectClusterEndpointToken: "directclusterendpointtokens",
} as const;

/** The metadata of a new object. */
interface NewMetadata {
  readonly namespace?: string;
  readonly name: string;
  readonly labels?: object;
  readonly annotations?: object;
}

/** Creates an object of Latchkey; a SharedSecret is in {@link home} by default. */
export function createRequest(
  kind: "SharedSecret" | keyof typeof plurals,
  { namespace = home, ...metadata }: NewMetadata,
  spec: object,
): BareRequest {
  const path = kind === "SharedSecret" ? sharedSecretPath(namespace) : ownPath(plurals[kind]);
  return post(path, { apiVersion, kind, metadata, spec });
}

/** Metadata that syncs a SharedSecret to projects; none if undefined. */
export function toProjects(projects: string | null | undefined): {
  readonly annotations?: object;
} {
  return projects === undefined ? {} : { annotations: { [annotations.syncToProjects]: projects } };
}

/** A SharedSecret that syncs to a project. */
export function sharedSecretRequest(
  {
    project,
    ...place
  }: { readonly namespace?: string; readonly name: string; readonly project?: string },
  version: number | string,
): BareRequest {
  const metadata = { ...place, ...toProjects(project) };
  return createRequest("SharedSecret", metadata, { data: dataOf(version) });
}

/** A Secret of {@link home} that lets SharedSecrets have its data. */
export function followedRequest(
  { name, dataFor }: { readonly name: string; readonly dataFor: string },
  version: number | string,
): BareRequest {
  const metadata = { name, annotations: { [annotations.dataFor]: dataFor } };
  return post(secretPath(home), { metadata, type: "Opaque", data: dataOf(version) });
}

/** A SharedSecret of {@link home} that follows a Secret, and syncs to a project. */
export function followerRequest({
  name,
  project,
  follows,
}: Readonly<Record<"name" | "project" | "follows", string>>): BareRequest {
  const { annotations: synced } = toProjects(project);
  const metadata = { name, annotations: { ...synced, [annotations.dataFrom]: follows } };
  return createRequest("SharedSecret", metadata, {});
}

/** The path of a Secret, or of all in a namespace. */
export function secretPath(namespace: string, name?: string): string {
  return `/api/v1/namespaces/${namespace}/secrets${name === undefined ? "" : `/${name}`}`;
}

/** A Secret that asks to be filled with a SharedSecret of the same name. */
export function placeholderRequest(
  namespace: string,
  source: { readonly namespace: string; readonly name: string },
): BareRequest {
  const asked = {
    [labels.sharedSecretName]: source.name,
    [labels.sharedSecretNamespace]: source.namespace,
  };
  const metadata = { name: source.name, labels: asked };
  return post(secretPath(namespace), { metadata, type: "Opaque" });
}

/** The name of the bare client's Secret in each namespace. */
export const ceilingName = "ceiling";

/** The name of its Secret without label and annotation. */
export const plainName = "plain";

/** What a Secret is: a copy that Latchkey creates, or a placeholder that it fills. */
export type TargetForm = "copies" | "placeholders";

/** What the bare client writes: the form that Latchkey writes, or the same data alone. */
export type BareForm = TargetForm | "plain";

/** A version of the bare client's Secret, with as many labels and annotations as Latchkey's. */
export interface CopyLike {
  readonly version: number;
  readonly form?: BareForm;
  readonly resourceVersion?: string;
}

/**
 * A Secret in the form that Latchkey writes, without its label: the controller does not treat it as
 * a copy.
 */
export function copyLikeBody(
  namespace: string,
  { version, form = "copies", resourceVersion }: CopyLike,
): object {
  const [apiVersion, kind, type, data] = ["v1", "Secret", "Opaque", dataOf(version)];
  const versioned = resourceVersion === undefined ? {} : { resourceVersion };
  if (form === "plain") {
    const metadata = { namespace, name: plainName, ...versioned };
    return { apiVersion, kind, metadata, type, data };
  }
  const name = ceilingName;
  const more =
    form === "placeholders"
      ? { [`${labels.sharedSecretName}-x`]: name, [`${labels.sharedSecretNamespace}-x`]: home }
      : {};
  return {
    apiVersion,
    kind,
    metadata: {
      namespace,
      name,
      ...versioned,
      labels: { [labels.component]: "00000000-0000-4000-8000-000000000000", ...more },
      annotations: {
        ceiling: copyOfText({ namespace: home, name }, { namespace, name }),
        ...(form === "placeholders" && { [`${annotations.filled}-ceiling`]: "true" }),
      },
    },
    type,
    data,
  };
}

/** A Secret that Latchkey does not manage. */
export function foreignRequest(namespace: string, name: string): BareRequest {
  const metadata = { name, labels: { app: "foreign" } };
  return post(secretPath(namespace), { metadata, data: dataOf("foreign") });
}

/** Kinds whose requesters create them. */
export type OwnPlural = (typeof plurals)[keyof typeof plurals];

/** The path of keys or tokens, or of one of them. */
export function ownPath(plural: OwnPlural, name?: string): string {
  return `/apis/${apiVersion}/${plural}${name === undefined ? "" : `/${name}`}`;
}

/** The plain key of the access key of this name. */
export function plainKeyOf(name: string): string {
  return `lk.bench.${name}.0123456789abcdef`;
}

/** A key of a user, created by that user; `ttl` in seconds. */
export function keyRequest(
  name: string,
  requester: string,
  ttl: number,
  more: object = {},
): BareRequest {
  const spec = { user: requester, key: plainKeyOf(name), ttl, ...more };
  return { ...createRequest("OwnedAccessKey", { name }, spec), by: impersonated(requester) };
}

/** A key without spec.key, of the user with its name and created by that user. */
export function tokenRuleRequest(name: string, annotations: object): BareRequest {
  const create = createRequest("OwnedAccessKey", { name, annotations }, { user: name });
  return { ...create, by: impersonated(name) };
}

/** A token of a user, created by that user. */
export function tokenRequest(name: string, requester: string): BareRequest {
  const create = createRequest("DirectClusterEndpointToken", { name }, { ttl: 3600 });
  return { ...create, by: impersonated(requester) };
}

const impersonated = (user: string) => ({ user, groups: ["system:masters"] });

/** The metadata of an object in a response or in the line of an event. */
export function metadataOf(object: unknown): {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
} {
  const metadata = recordAt(object, "metadata");
  const text = (field: string): string => stringAt(metadata, field) ?? "";
  return {
    name: text("name"),
    namespace: text("namespace"),
    uid: text("uid"),
    resourceVersion: text("resourceVersion"),
  };
}

/** Parses JSON. */
export function parsed(text: string): unknown {
  return JSON.parse(text);
}

/** Numbered names. */
export function namesOf(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
}
