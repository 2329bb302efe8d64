import { annotations, apiVersion, labels } from "../../src/api/names.ts";
import { ownPath, secretPath, sharedSecretPath } from "../support/bench-objects.ts";
import { patchTypes, type Ask, type Caller } from "../support/cluster-connection.ts";
import { requesters } from "../support/actions.ts";

/** Where the SharedSecrets are that change. */
export const homes = ["soak-home-0", "soak-home-1"] as const;

/** Namespaces that join projects and leave them. */
export const targets: readonly string[] = Array.from(
  { length: 6 },
  (_, index) => `soak-target-${index}`,
);

/** The home and the target of what is timed; nothing else happens there. */
export const timed = { home: "soak-timed", target: "soak-timed-target", project: "timed" } as const;

/** Users who make keys and tokens, and to whom access is granted. */
export const users: readonly string[] = ["alice", "bob", "carol", "dave", "erin", "frank"].map(
  (name) => `soak-${name}`,
);

/** Every secret value of a soak begins so, keys included. */
export const canary = "canary-";

/** How a merge patch or a body says what a SharedSecret may go to; null: nowhere. */
export function toProjects(projects: string | null): object {
  return { annotations: { [annotations.syncToProjects]: projects } };
}

/** A secret value of so many characters, as it stands in `data`. */
export function secretValue(version: number | string, length = 40): string {
  return Buffer.from(`${canary}${version}-`.padEnd(length, "x")).toString("base64");
}

/** Whether a text shows a secret value of a soak or a token, plain or as base64. */
export function showsSecret(text: string): boolean {
  return [canary, Buffer.from(canary).toString("base64").slice(0, 8), "eyJ"].some((word) =>
    text.includes(word),
  );
}

/** A namespace that takes copies when it is in a project. */
export function createNamespace(name: string, project?: string): Ask {
  const metadata = {
    name,
    annotations: { [annotations.sync]: "enabled" },
    ...(project === undefined ? {} : { labels: { [labels.project]: project } }),
  };
  return { method: "POST", path: "/api/v1/namespaces", body: { metadata } };
}

/** A SharedSecret under a name. */
export function createSharedSecret(
  place: { readonly namespace: string; readonly name: string },
  spec: object,
  metadata: object = {},
): Ask {
  const body = {
    apiVersion,
    kind: "SharedSecret",
    metadata: { name: place.name, ...metadata },
    spec,
  };
  return { method: "POST", path: sharedSecretPath(place.namespace), body };
}

/** A key of a user; to be asked by {@link requester}. */
export function createKey(name: string, user: string, spec: object): Ask {
  return {
    method: "POST",
    path: ownPath("ownedaccesskeys"),
    body: { apiVersion, kind: "OwnedAccessKey", metadata: { name }, spec: { user, ...spec } },
  };
}

/** A token of whoever asks. */
export function createToken(name: string, ttl: number): Ask {
  return {
    method: "POST",
    path: ownPath("directclusterendpointtokens"),
    body: { apiVersion, kind: "DirectClusterEndpointToken", metadata: { name }, spec: { ttl } },
  };
}

/** A user who may create keys and tokens. */
export function requester(user: string): Caller {
  return { user, groups: [requesters] };
}

/** A JSON merge patch (RFC 7386). */
export function merge(path: string, body: object): Ask {
  return { method: "PATCH", path, type: patchTypes.merge, body };
}

/** The copy of a SharedSecret in a namespace. */
export function copyPath(namespace: string, name: string): string {
  return secretPath(namespace, name);
}

/** RoleBindings or Roles of a namespace that Latchkey has made. */
export function derivedPath(plural: "roles" | "rolebindings", namespace: string): string {
  return `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/${plural}?labelSelector=${encodeURIComponent(labels.sourceUid)}`;
}

/** Whether a project is named by a `sync-to-projects` annotation without globs but `*`. */
export function goesTo(projects: string | undefined, project: string | undefined): boolean {
  const named = (projects ?? "").split(",").map((entry) => entry.trim());
  return project !== undefined && (named.includes("*") || named.includes(project));
}
