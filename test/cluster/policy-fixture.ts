import { describe, inject } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import {
  allow,
  api,
  as,
  ask,
  bind,
  patchTypes,
  unique,
  type Answer,
  type Caller,
} from "../support/policy-request.ts";

/** Tests of the admission policies, on a control plane that has them. */
export const withPolicies = inject("hasPolicies") ? describe : describe.skip;

/** An administrator with a name. */
export const root = { user: "root", groups: ["system:masters"] };

/** An owner that does not exist. */
export const gone = {
  apiVersion: "v1",
  kind: "ConfigMap",
  name: "gone",
  uid: "00000000-0000-0000-0000-000000000000",
};

/** The two kinds that users request. */
export const requestedKinds = [
  { plural: "directclusterendpointtokens", kind: "DirectClusterEndpointToken", spec: { ttl: 600 } },
  { plural: "ownedaccesskeys", kind: "OwnedAccessKey", spec: { user: "alice", disabled: true } },
] as const;

/** The collection of a kind of the whole cluster. */
export const collectionOf = (plural: string): string => `/apis/${apiVersion}/${plural}`;

/** The caller, authenticated with an access key of this id. */
export function withKey(caller: Caller, ...ids: readonly string[]): Caller {
  return { ...caller, extra: { "management.service/key-id": ids } };
}

/** The bound digest of a key, made of one character. */
export const digest = (character: string): string =>
  `sha256:${character.repeat(16)}.${character.repeat(64)}`;

/** An object of one of Latchkey's kinds; its name is unique unless the metadata has one. */
export function manifest(kind: string, metadata: object = {}, spec: object = {}) {
  return { apiVersion, kind, metadata: { name: unique("policy"), ...metadata }, spec };
}

/** An OwnedAccessKey with this spec. */
export const keyOf = (spec: object, metadata?: object) =>
  manifest("OwnedAccessKey", metadata, spec);

/** Creates an object as the caller. */
export function create(by: Caller, path: string, body: object): Promise<Answer> {
  return as(by).create(path, body);
}

/** Creates an object as the caller, in a dry run. */
export function dryCreate(by: Caller, path: string, body: object): Promise<Answer> {
  return create(by, `${path}?dryRun=All`, body);
}

/** Creates an object as the administrator; returns its path. */
export async function made(path: string, body: object): Promise<string> {
  const { metadata } = await api.create(path, body);
  return `${path}/${metadata.name}`;
}

/** Merges a change into an object as the caller. */
export function merge(by: Caller, path: string, body: object): Promise<Answer> {
  return as(by).merge(path, body);
}

/** Applies an object server-side as the caller, and takes its fields over from other managers. */
export function forceApply(by: Caller, path: string, body: object): Promise<Answer> {
  const forced = `${path}?fieldManager=test&force=true`;
  return ask(by, { method: "PATCH", path: forced, type: patchTypes.apply, body });
}

/** Grants a user rules in the whole cluster; the form of a rule is that of `ruleOf`. */
export function grantUser({ user = "" }: Caller, ...rules: readonly string[]): Promise<string> {
  return allow({ kind: "User", name: user }, rules.map(ruleOf));
}

/** Grants a group rules in the whole cluster; the form of a rule is that of `ruleOf`. */
export function grantGroup(name: string, ...rules: readonly string[]): Promise<string> {
  return allow({ kind: "Group", name }, rules.map(ruleOf));
}

/** An RBAC rule from `verbs group resources [names]`, such as `get,list core pods,pods/log web`. */
export function ruleOf(text: string) {
  const [verbs = [], [group = ""] = [], resources = [], resourceNames] = text
    .split(" ")
    .map((part) => part.split(","));
  const apiGroups = [group === "core" ? "" : group];
  return { apiGroups, resources, ...(resourceNames && { resourceNames }), verbs };
}

/** Two admins of namespaces: `tenant` may share only with some projects, `platform` with all. */
export function sharingAdmins() {
  return { tenant: { user: unique("tenant") }, platform: { user: unique("platform") } };
}

/** Makes both admins of a namespace, and lets `tenant` share with these projects. */
export async function grantSharing(
  { tenant, platform }: ReturnType<typeof sharingAdmins>,
  namespace: string,
  projects: readonly string[],
): Promise<void> {
  for (const { user } of [tenant, platform])
    await bind({ kind: "User", name: user }, "latchkey-sharedsecret-admin", namespace);
  await grantUser(tenant, `share management.service projects ${projects.join()}`);
  await bind({ kind: "User", name: platform.user }, "latchkey-project-sharer");
}

/** Annotations of a SharedSecret; null removes one. */
export type Given = Readonly<Record<string, string | null>>;

/** A value that no answer may contain, in base64. */
export const password = "aHVudGVyMg==";

/** A SharedSecret with these annotations, and with data. */
export function shared(annotations: Given) {
  return manifest("SharedSecret", { name: unique("shared"), annotations }, { data: { password } });
}
