import { annotations, labels } from "../../src/api/names.ts";
import { post } from "../support/bare-client.ts";
import { namesOf, secretPath } from "../support/bench-objects.ts";
import { patchTypes, type Ask, type Caller } from "../support/cluster-connection.ts";
import { requesters } from "../support/actions.ts";

/** The namespaces of the SharedSecrets that change. */
export const homes = ["soak-home-0", "soak-home-1"] as const;

/** Namespaces that join and leave projects. */
export const targets = namesOf("soak-target", 6);

/** Secrets that ask for SharedSecrets: users change them, and never delete them. */
export const placeholders = namesOf("soak-asking", 12).map((name, index) => ({
  namespace: targets[index % targets.length] ?? "",
  name,
}));

/** The label of users on each of {@link placeholders}, whatever they ask for. */
export const placeholderLabel = "example.com/soak";

/** Creates a Secret that does not ask yet. */
export function createPlaceholder({ namespace, name }: (typeof placeholders)[number]): Ask {
  const metadata = { name, labels: { [placeholderLabel]: "own" } };
  return post(secretPath(namespace), { metadata, data: { former: ownValues.former } });
}

/** The source and target namespaces of timed changes; no other changes happen there. */
export const timed = { home: "soak-timed", target: "soak-timed-target", project: "timed" } as const;

/** Users who create keys and tokens, and who are granted access. */
export const users: readonly string[] = ["alice", "bob", "carol", "dave", "erin", "frank"].map(
  (name) => `soak-${name}`,
);

/** The prefix of every secret value of a soak, including keys. */
export const canary = "canary-";

/** A secret value of this length, encoded as in `data`. */
export function secretValue(version: number | string, length = 40): string {
  return Buffer.from(`${canary}${version}-`.padEnd(length, "x")).toString("base64");
}

/** What users write into placeholders. */
export const ownValues = { former: secretValue("former"), added: secretValue("added") } as const;

/** Whether a text contains a secret value of a soak or a token, plain or as base64. */
export function showsSecret(text: string): boolean {
  return [canary, Buffer.from(canary).toString("base64").slice(0, 8), "eyJ"].some((word) =>
    text.includes(word),
  );
}

/** Creates a namespace that receives copies when it is in a project. */
export function createNamespace(name: string, project?: string): Ask {
  const metadata = {
    name,
    annotations: { [annotations.sync]: "enabled" },
    ...(project === undefined ? {} : { labels: { [labels.project]: project } }),
  };
  return post("/api/v1/namespaces", { metadata });
}

/** A user who may create keys and tokens. */
export function requester(user: string): Caller {
  return { user, groups: [requesters] };
}

/** A JSON merge patch (RFC 7386). */
export function merge(path: string, body: object): Ask {
  return { method: "PATCH", path, type: patchTypes.merge, body };
}

/** RoleBindings or Roles of a namespace that Latchkey has made. */
export function derivedPath(plural: "roles" | "rolebindings", namespace: string): string {
  return `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/${plural}?labelSelector=${encodeURIComponent(labels.sourceUid)}`;
}

/** Whether a `sync-to-projects` annotation without globs other than `*` includes a project. */
export function goesTo(projects: string | undefined, project: string | undefined): boolean {
  const named = (projects ?? "").split(",").map((entry) => entry.trim());
  return project !== undefined && (named.includes("*") || named.includes(project));
}
