import {
  derivedCredentialsPolicy,
  extras,
  ownLabel,
  ownSecretsPolicy,
  projectAssignmentPolicy,
} from "../../api/names.ts";
import type { Manifest } from "../../api/object.ts";
import type { Wire } from "../../api/wire.ts";

/** The account with which the gateway reaches a connected cluster. */
export const gatewayAccount = "latchkey-gateway";

type Rules = NonNullable<Wire<"ClusterRole">["rules"]>;

const verbs = "get list watch create update patch delete deletecollection proxy".split(" ");
const paths = "get head post put patch delete".split(" ");
const on = (verb: string): string => `impersonate-on:user-info:${verb}`;

const identity = { apiGroups: ["authentication.k8s.io"], verbs: ["impersonate:user-info"] };

/** The rules of each ClusterRole, by the end of its name. */
const roles = {
  policies: [
    {
      apiGroups: ["admissionregistration.k8s.io"],
      resources: ["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
      resourceNames: [derivedCredentialsPolicy, ownSecretsPolicy, projectAssignmentPolicy],
      verbs: ["get"],
    },
  ],
  namespaces: [{ apiGroups: [""], resources: ["namespaces"], verbs: ["get", "list", "watch"] }],
  impersonation: [
    { ...identity, resources: ["users", "groups"] },
    {
      ...identity,
      resources: Object.values(extras).map((extra) => `userextras/${extra}`),
    },
    { apiGroups: ["*"], resources: ["*"], verbs: verbs.map(on) },
    { nonResourceURLs: ["*"], verbs: paths.map(on) },
  ],
} as const satisfies Readonly<Record<string, Rules>>;

/**
 * The account of the gateway in a connected cluster with its ClusterRoles and their bindings, as in
 * config/connected-cluster, whose Namespace and policies are not in it.
 */
export function gatewayAccountManifests(namespace: string): readonly Manifest[] {
  const rbac = "rbac.authorization.k8s.io";
  const apiVersion = `${rbac}/v1`;
  const subjects = [{ kind: "ServiceAccount", name: gatewayAccount, namespace }];
  const account = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: gatewayAccount, namespace, labels: ownLabel },
    automountServiceAccountToken: false,
  };
  const bound = Object.entries(roles).flatMap(([end, rules]): readonly Manifest[] => {
    const name = `${gatewayAccount}-${end}`;
    const [metadata, kind] = [{ name, labels: ownLabel }, "ClusterRole"];
    const roleRef = { apiGroup: rbac, kind, name };
    return [
      { apiVersion, kind, metadata, rules },
      { apiVersion, kind: "ClusterRoleBinding", metadata, roleRef, subjects },
    ];
  });
  return [account, ...bound];
}
