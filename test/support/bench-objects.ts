import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { copyOfText } from "../../src/domain/sync/copy.ts";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import type { BareRequest } from "./bare-client.ts";

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
  return {
    method: "POST",
    path: "/api/v1/namespaces",
    body: { metadata: { name, ...(project === undefined ? {} : inProject) } },
  };
}

/** The path of a SharedSecret, or of all in a namespace. */
export function sharedSecretPath(namespace: string, name?: string): string {
  return `/apis/${apiVersion}/namespaces/${namespace}/sharedsecrets${name === undefined ? "" : `/${name}`}`;
}

/** A SharedSecret that syncs to a project. */
export function sharedSecretRequest(
  {
    namespace = home,
    name,
    project,
  }: { readonly namespace?: string; readonly name: string; readonly project?: string },
  version: number | string,
): BareRequest {
  const to =
    project === undefined ? {} : { annotations: { [annotations.syncToProjects]: project } };
  const body = {
    apiVersion,
    kind: "SharedSecret",
    metadata: { name, ...to },
    spec: { data: dataOf(version) },
  };
  return { method: "POST", path: sharedSecretPath(namespace), body };
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
  return {
    method: "POST",
    path: secretPath(namespace),
    body: { metadata: { name: source.name, labels: asked }, type: "Opaque" },
  };
}

/** The name of the bare client's Secret in each namespace. */
export const ceilingName = "ceiling";

/** What a Secret is: a copy that Latchkey creates, or a placeholder that it fills. */
export type TargetForm = "copies" | "placeholders";

/** A version of the bare client's Secret, with as many labels and annotations as Latchkey's. */
export interface CopyLike {
  readonly version: number;
  readonly form?: TargetForm;
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
  const name = ceilingName;
  const more =
    form === "placeholders"
      ? { [`${labels.sharedSecretName}-x`]: name, [`${labels.sharedSecretNamespace}-x`]: home }
      : {};
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      namespace,
      name,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      labels: { [labels.component]: "00000000-0000-4000-8000-000000000000", ...more },
      annotations: {
        ceiling: copyOfText({ namespace: home, name }, { namespace, name }),
        ...(form === "placeholders" && { [`${annotations.filled}-ceiling`]: "true" }),
      },
    },
    type: "Opaque",
    data: dataOf(version),
  };
}

/** A Secret that Latchkey does not manage. */
export function foreignRequest(namespace: string, name: string): BareRequest {
  return {
    method: "POST",
    path: secretPath(namespace),
    body: { metadata: { name, labels: { app: "foreign" } }, data: dataOf("foreign") },
  };
}

/** The path of keys or tokens, or of one of them. */
export function ownPath(
  plural: "ownedaccesskeys" | "directclusterendpointtokens",
  name?: string,
): string {
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
  return {
    method: "POST",
    path: ownPath("ownedaccesskeys"),
    by: impersonated(requester),
    body: { apiVersion, kind: "OwnedAccessKey", metadata: { name }, spec },
  };
}

/** A token of a user, created by that user. */
export function tokenRequest(name: string, requester: string): BareRequest {
  const body = {
    apiVersion,
    kind: "DirectClusterEndpointToken",
    metadata: { name },
    spec: { ttl: 3600 },
  };
  return {
    method: "POST",
    path: ownPath("directclusterendpointtokens"),
    by: impersonated(requester),
    body,
  };
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
