import type { KeyedRequest } from "./ways-in.ts";

/** A request with which a credential would become another one, and what denies it where. */
export interface DerivedRequest extends KeyedRequest {
  readonly what: string;
  /** The policy denies it without a scope, too; the scope engine does not see the type of a Secret. */
  readonly deniedBy: "policy" | "scope";
}

const secret = (type: string, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Secret",
  type,
  metadata: { name: "derived", ...metadata },
});
const accountToken = secret("kubernetes.io/service-account-token", {
  annotations: { "kubernetes.io/service-account.name": "default" },
});
const generated = { name: undefined, generateName: "derived-" };
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const admission = "/apis/admissionregistration.k8s.io/v1";
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };

/** The table of derived credentials, in a namespace that the scope covers; dry runs change nothing. */
export function derivedRequests(namespace: string): readonly DerivedRequest[] {
  const inside = `/api/v1/namespaces/${namespace}`;
  const post = { method: "POST", deniedBy: "scope" } as const;
  const dry = "dryRun=All";
  return [
    {
      ...post,
      what: "a Secret that gets the token of a service account",
      deniedBy: "policy",
      path: `${inside}/secrets?${dry}`,
      body: accountToken,
    },
    {
      method: "PATCH",
      what: "the same by apply",
      type: "application/apply-patch+yaml",
      path: `${inside}/secrets/derived?${dry}&fieldManager=test`,
      deniedBy: "policy",
      body: accountToken,
    },
    {
      ...post,
      what: "a bootstrap token",
      deniedBy: "policy",
      path: `${inside}/secrets?${dry}`,
      body: secret("bootstrap.kubernetes.io/token"),
    },
    {
      ...post,
      what: "a Secret with a generated name that gets such a token",
      deniedBy: "policy",
      path: `${inside}/secrets?${dry}`,
      body: { ...accountToken, metadata: { ...accountToken.metadata, ...generated } },
    },
    {
      ...post,
      what: "the token of a service account",
      path: `${inside}/serviceaccounts/default/token?${dry}`,
      body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} },
    },
    {
      ...post,
      what: "a client certificate",
      path: `/apis/certificates.k8s.io/v1/certificatesigningrequests?${dry}`,
      body: { metadata: { name: "derived" }, spec: {} },
    },
    {
      ...post,
      what: "a certificate of a pod",
      path: `/apis/certificates.k8s.io/v1/namespaces/${namespace}/podcertificaterequests?${dry}`,
      body: { metadata: { name: "derived" }, spec: {} },
    },
    {
      method: "PATCH",
      what: "the approval of a client certificate",
      deniedBy: "scope",
      path: `/apis/certificates.k8s.io/v1/certificatesigningrequests/derived/approval?${dry}`,
      type: "application/merge-patch+json",
      body: { status: {} },
    },
    {
      what: "the identity of another user",
      deniedBy: "scope",
      path: inside,
      headers: { "Impersonate-User": "root", "Impersonate-Group": "system:masters" },
    },
    {
      ...post,
      what: "rights of another role",
      path: `${rbac}/clusterrolebindings?${dry}`,
      body: { metadata: { name: "derived" }, roleRef, subjects: [] },
    },
    {
      method: "DELETE",
      what: "the end of the policy",
      deniedBy: "scope",
      path: `${admission}/validatingadmissionpolicybindings/latchkey-derived-credentials?${dry}`,
    },
    {
      method: "DELETE",
      what: "the end of all policies",
      deniedBy: "scope",
      path: `${admission}/validatingadmissionpolicies?${dry}`,
    },
    {
      ...post,
      what: "a webhook that receives the objects of others",
      path: `${admission}/mutatingwebhookconfigurations?${dry}`,
      body: { metadata: { name: "derived" }, webhooks: [] },
    },
    {
      method: "PATCH",
      what: "a webhook that converts SharedSecrets",
      deniedBy: "scope",
      path: `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/sharedsecrets.management.service?${dry}`,
      type: "application/merge-patch+json",
      body: { spec: {} },
    },
    {
      ...post,
      what: "an API server for its requests",
      path: `/apis/apiregistration.k8s.io/v1/apiservices?${dry}`,
      body: { metadata: { name: "v1.derived.example.com" }, spec: {} },
    },
    {
      method: "PATCH",
      what: "labels that move a namespace",
      deniedBy: "scope",
      path: `${inside}?${dry}`,
      type: "application/merge-patch+json",
      body: { metadata: { labels: { "management.service/space": "other" } } },
    },
    { what: "what a kubelet serves", deniedBy: "scope", path: "/api/v1/nodes/none/proxy/pods" },
    ...["", "/watch"].flatMap((watch) => [
      {
        what: `keys of the control plane, /api/v1${watch}`,
        deniedBy: "scope" as const,
        path: `/api/v1${watch}/namespaces/kube-system/secrets`,
      },
      {
        what: `the Secrets of all namespaces, /api/v1${watch}`,
        deniedBy: "scope" as const,
        path: `/api/v1${watch}/secrets`,
      },
    ]),
  ];
}
