import type { Ask } from "./cluster-connection.ts";

const rbac = "rbac.authorization.k8s.io";

/**
 * The permissions with which a group may create keys that act as any user, as a deployment tool
 * may.
 */
export function mayActAsAnyUser(group: string): readonly Ask[] {
  const name = `${group}-act-as-anybody`;
  const rules = [{ apiGroups: [""], resources: ["users", "groups"], verbs: ["impersonate"] }];
  const binding = {
    metadata: { name },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
    subjects: [{ apiGroup: rbac, kind: "Group", name: group }],
  };
  return [
    { method: "POST", path: `/apis/${rbac}/v1/clusterroles`, body: { metadata: { name }, rules } },
    { method: "POST", path: `/apis/${rbac}/v1/clusterrolebindings`, body: binding },
  ];
}
