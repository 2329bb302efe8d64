import { group, version } from "./names.ts";

/** An API resource (Kubernetes API concepts, "Resource URIs"). */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

type GroupVersion = Pick<Resource, "group" | "version">;

const own = { group, version };
const core = { group: "", version: "v1" };
const apps = { group: "apps", version: "v1" };
const rbac = { group: "rbac.authorization.k8s.io", version: "v1" };
const coordination = { group: "coordination.k8s.io", version: "v1" };
const eventing = { group: "events.k8s.io", version: "v1" };
const authentication = { group: "authentication.k8s.io", version: "v1" };
const authorization = { group: "authorization.k8s.io", version: "v1" };
const admission = { group: "admissionregistration.k8s.io", version: "v1" };

function namespaced<const Kind extends string>(
  groupVersion: GroupVersion,
  plural: string,
  kind: Kind,
) {
  return { ...groupVersion, plural, kind, namespaced: true };
}

function clusterWide<const Kind extends string>(
  groupVersion: GroupVersion,
  plural: string,
  kind: Kind,
) {
  return { ...groupVersion, plural, kind, namespaced: false };
}

/** Every resource that Latchkey reads or writes. */
export const resources = {
  sharedSecrets: namespaced(own, "sharedsecrets", "SharedSecret"),
  ownedAccessKeys: clusterWide(own, "ownedaccesskeys", "OwnedAccessKey"),
  endpointTokens: clusterWide(own, "directclusterendpointtokens", "DirectClusterEndpointToken"),
  namespaces: clusterWide(core, "namespaces", "Namespace"),
  resourceQuotas: namespaced(core, "resourcequotas", "ResourceQuota"),
  configMaps: namespaced(core, "configmaps", "ConfigMap"),
  secrets: namespaced(core, "secrets", "Secret"),
  services: namespaced(core, "services", "Service"),
  deployments: namespaced(apps, "deployments", "Deployment"),
  roles: namespaced(rbac, "roles", "Role"),
  roleBindings: namespaced(rbac, "rolebindings", "RoleBinding"),
  clusterRoles: clusterWide(rbac, "clusterroles", "ClusterRole"),
  clusterRoleBindings: clusterWide(rbac, "clusterrolebindings", "ClusterRoleBinding"),
  leases: namespaced(coordination, "leases", "Lease"),
  events: namespaced(eventing, "events", "Event"),
  tokenReviews: clusterWide(authentication, "tokenreviews", "TokenReview"),
  accessReviews: clusterWide(authorization, "subjectaccessreviews", "SubjectAccessReview"),
  selfAccessReviews: clusterWide(
    authorization,
    "selfsubjectaccessreviews",
    "SelfSubjectAccessReview",
  ),
  selfRulesReviews: clusterWide(authorization, "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
  selfReviews: clusterWide(authentication, "selfsubjectreviews", "SelfSubjectReview"),
  mutatingWebhookConfigurations: clusterWide(
    admission,
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
  ),
  mutatingPolicies: clusterWide(admission, "mutatingadmissionpolicies", "MutatingAdmissionPolicy"),
  mutatingPolicyBindings: clusterWide(
    admission,
    "mutatingadmissionpolicybindings",
    "MutatingAdmissionPolicyBinding",
  ),
  validatingPolicies: clusterWide(
    admission,
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
  ),
  validatingPolicyBindings: clusterWide(
    admission,
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
  ),
} satisfies Record<string, Resource>;

/** `apiVersion` of a resource: the version alone in the core group. */
export function apiVersionOf(resource: Resource): string {
  return resource.group === "" ? resource.version : `${resource.group}/${resource.version}`;
}
