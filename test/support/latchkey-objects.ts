import { apiVersion } from "../../src/api/names.ts";
import { parseConditions } from "../../src/api/parse.ts";
import { type Answer, type Ask, type Caller, post } from "./cluster-connection.ts";

/** The path of the OwnedAccessKeys. */
export const keysPath = `/apis/${apiVersion}/ownedaccesskeys`;

/** The path of the objects of direct tokens. */
export const tokensPath = `/apis/${apiVersion}/directclusterendpointtokens`;

/** The name of an object, or its metadata. */
export type Named = string | object;

const metadataOf = (named: Named) => (typeof named === "string" ? { name: named } : named);

/** Creates an access key. */
export function postKey(named: Named, spec: object): Ask {
  const metadata = metadataOf(named);
  return post(keysPath, { apiVersion, kind: "OwnedAccessKey", metadata, spec });
}

/** Creates a direct token. */
export function postToken(named: Named, spec: object = {}): Ask {
  const kind = "DirectClusterEndpointToken";
  return post(tokensPath, { apiVersion, kind, metadata: metadataOf(named), spec });
}

/** Creates a namespace. */
export function postNamespace(named: Named): Ask {
  return post("/api/v1/namespaces", { metadata: metadataOf(named) });
}

/** Whether a condition of a status is True. */
export function isTrue(status: unknown, condition: string): boolean {
  return parseConditions(status).some(
    ({ type, status: value }) => type === condition && value === "True",
  );
}

/** The reason of the condition Ready of a status. */
export function readyReason(status: unknown): string | undefined {
  return parseConditions(status).find(({ type }) => type === "Ready")?.reason;
}

/** A user who authenticated with a key of this metadata. */
export function withKey(user: Caller, { uid }: Answer["metadata"]): Caller {
  return { ...user, extra: { "management.service/key-id": [String(uid)] } };
}

const rbac = "rbac.authorization.k8s.io";

/** The subject of a ClusterRoleBinding. */
export type Subject =
  | { readonly kind: "User" | "Group"; readonly name: string }
  | { readonly kind: "ServiceAccount"; readonly name: string; readonly namespace: string };

/** Creates a ClusterRole. */
export function postClusterRole(name: string, rules: readonly object[]): Ask {
  return post(`/apis/${rbac}/v1/clusterroles`, { metadata: { name }, rules });
}

/** Gives a ClusterRole to subjects. */
export function bindClusterRole(name: string, role: string, subjects: readonly Subject[]): Ask {
  return post(`/apis/${rbac}/v1/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: role },
    subjects: subjects.map((subject) =>
      subject.kind === "ServiceAccount" ? subject : { apiGroup: rbac, ...subject },
    ),
  });
}

/** Makes the group `devs` administrators. */
export const makeDevsAdmin = bindClusterRole("devs", "cluster-admin", [
  { kind: "Group", name: "devs" },
]);

/** Makes the user `root` an administrator. */
export const makeRoot = bindClusterRole("root", "cluster-admin", [{ kind: "User", name: "root" }]);

/**
 * Allows a group to create keys that act as any user, as a deployment tool may.
 */
export function mayActAsAnyUser(group: string): readonly Ask[] {
  const name = `${group}-act-as-anybody`;
  const rules = [{ apiGroups: [""], resources: ["users", "groups"], verbs: ["impersonate"] }];
  return [
    postClusterRole(name, rules),
    bindClusterRole(name, name, [{ kind: "Group", name: group }]),
  ];
}
