import { group, version } from "./names.ts";

/** An API resource (Kubernetes API concepts, "Resource URIs"). */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const rbac = { group: "rbac.authorization.k8s.io", version: "v1" } as const;
const admission = { group: "admissionregistration.k8s.io", version: "v1" } as const;

/** Every resource that Latchkey reads or writes. */
export const resources = {
  sharedSecrets: {
    group,
    version,
    plural: "sharedsecrets",
    kind: "SharedSecret",
    namespaced: true,
  },
  ownedAccessKeys: {
    group,
    version,
    plural: "ownedaccesskeys",
    kind: "OwnedAccessKey",
    namespaced: false,
  },
  endpointTokens: {
    group,
    version,
    plural: "directclusterendpointtokens",
    kind: "DirectClusterEndpointToken",
    namespaced: false,
  },
  namespaces: {
    group: "",
    version: "v1",
    plural: "namespaces",
    kind: "Namespace",
    namespaced: false,
  },
  resourceQuotas: {
    group: "",
    version: "v1",
    plural: "resourcequotas",
    kind: "ResourceQuota",
    namespaced: true,
  },
  configMaps: {
    group: "",
    version: "v1",
    plural: "configmaps",
    kind: "ConfigMap",
    namespaced: true,
  },
  secrets: { group: "", version: "v1", plural: "secrets", kind: "Secret", namespaced: true },
  services: { group: "", version: "v1", plural: "services", kind: "Service", namespaced: true },
  deployments: {
    group: "apps",
    version: "v1",
    plural: "deployments",
    kind: "Deployment",
    namespaced: true,
  },
  roles: { ...rbac, plural: "roles", kind: "Role", namespaced: true },
  roleBindings: { ...rbac, plural: "rolebindings", kind: "RoleBinding", namespaced: true },
  clusterRoles: { ...rbac, plural: "clusterroles", kind: "ClusterRole", namespaced: false },
  clusterRoleBindings: {
    ...rbac,
    plural: "clusterrolebindings",
    kind: "ClusterRoleBinding",
    namespaced: false,
  },
  leases: {
    group: "coordination.k8s.io",
    version: "v1",
    plural: "leases",
    kind: "Lease",
    namespaced: true,
  },
  events: {
    group: "events.k8s.io",
    version: "v1",
    plural: "events",
    kind: "Event",
    namespaced: true,
  },
  tokenReviews: {
    group: "authentication.k8s.io",
    version: "v1",
    plural: "tokenreviews",
    kind: "TokenReview",
    namespaced: false,
  },
  accessReviews: {
    group: "authorization.k8s.io",
    version: "v1",
    plural: "subjectaccessreviews",
    kind: "SubjectAccessReview",
    namespaced: false,
  },
  selfAccessReviews: {
    group: "authorization.k8s.io",
    version: "v1",
    plural: "selfsubjectaccessreviews",
    kind: "SelfSubjectAccessReview",
    namespaced: false,
  },
  selfRulesReviews: {
    group: "authorization.k8s.io",
    version: "v1",
    plural: "selfsubjectrulesreviews",
    kind: "SelfSubjectRulesReview",
    namespaced: false,
  },
  selfReviews: {
    group: "authentication.k8s.io",
    version: "v1",
    plural: "selfsubjectreviews",
    kind: "SelfSubjectReview",
    namespaced: false,
  },
  mutatingWebhookConfigurations: {
    ...admission,
    plural: "mutatingwebhookconfigurations",
    kind: "MutatingWebhookConfiguration",
    namespaced: false,
  },
  mutatingPolicies: {
    ...admission,
    plural: "mutatingadmissionpolicies",
    kind: "MutatingAdmissionPolicy",
    namespaced: false,
  },
  mutatingPolicyBindings: {
    ...admission,
    plural: "mutatingadmissionpolicybindings",
    kind: "MutatingAdmissionPolicyBinding",
    namespaced: false,
  },
  validatingPolicies: {
    ...admission,
    plural: "validatingadmissionpolicies",
    kind: "ValidatingAdmissionPolicy",
    namespaced: false,
  },
  validatingPolicyBindings: {
    ...admission,
    plural: "validatingadmissionpolicybindings",
    kind: "ValidatingAdmissionPolicyBinding",
    namespaced: false,
  },
} as const satisfies Record<string, Resource>;

/** `apiVersion` of a resource: the version alone in the core group. */
export function apiVersionOf(resource: Resource): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}
