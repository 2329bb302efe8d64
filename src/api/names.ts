/** The API group of the three kinds (specification, "What the service does"). */
export const group = "management.service";
const ownPrefix = `${group}/`;

/** Whether the key of a label or annotation is in Latchkey's group. */
export function isOwnKey(key: string): boolean {
  return key.startsWith(ownPrefix);
}

/** The only served and stored version. */
export const version = "v1";

/** `apiVersion` of the three kinds. */
export const apiVersion = `${group}/${version}`;

/** The finalizer that lets Latchkey remove grants and copies before an object is deleted. */
export const cleanupFinalizer = `${group}/cleanup`;

/** The field manager of everything the controller writes. */
export const fieldManager = "latchkey-controller";

/** The field manager of everything the webhook writes. */
export const webhookFieldManager = "latchkey-webhook";

/** The field manager of everything the gateway writes. */
export const gatewayFieldManager = "latchkey-gateway";

/** The field manager of everything that the agent of a connected cluster writes, on both sides. */
export const agentFieldManager = "latchkey-cluster-agent";

/** Field manager of the direct endpoint. */
export const directFieldManager = "latchkey-direct-endpoint";

/** Field manager of the authorizer of a connected cluster. */
export const authorizerFieldManager = "latchkey-direct-authorizer";

/** The field manager of everything that kubectl latchkey writes. */
export const cliFieldManager = "kubectl-latchkey";

/** Names of the Lease, of the Secrets and of the ConfigMaps in Latchkey's own namespace. */
export const ownObjects = {
  lease: "latchkey-controller",
  signingKeys: "latchkey-signing-keys",
  webhookCertificates: "latchkey-webhook-certificates",
  gatewayCertificates: "latchkey-gateway-certificates",
  issuerCertificates: "latchkey-issuer-certificates",
  directCertificates: "latchkey-direct-endpoint-certificates",
  directKeys: "latchkey-direct-endpoint-keys",
  authorizerCertificates: "latchkey-direct-authorizer-certificates",
  authorizerKeys: "latchkey-direct-authorizer-keys",
  connectorKey: "latchkey-connector-key",
  clusterList: "latchkey-clusters",
  /** The ConfigMap with the issuers whose tokens may be used as keys. */
  issuers: "latchkey-issuers",
  /** Of the agent, in Latchkey's namespace of the connected cluster and in its outbox. */
  agentLease: "latchkey-cluster-agent",
  /** Of the agent: the kubeconfig of the central cluster, in a connected cluster. */
  central: "latchkey-central",
} as const;

/** The prefix of the namespaces with the outbox of a connected cluster. */
export const outboxNamespacePrefix = "latchkey-cluster-";

/** The prefix of the username of a cluster's agent in the central cluster. */
export const agentUserPrefix = "latchkey-cluster-agent:";

/** The type of every Secret of an outbox, whatever type the copies have. */
export const outboxSecretType = `${group}/outbox`;

/**
 * The key of the central cluster in the list of connected clusters; no cluster has such a name,
 * because a label value begins with a letter or digit.
 */
export const managementEntry = "_management";

/** The path at which the gateway serves the central cluster. */
export const managementPath = "/kubernetes/management";

/**
 * The name of one of the ConfigMaps with the revoked direct tokens, in Latchkey's own namespace.
 */
export function revokedTokensName(number: number): string {
  return `latchkey-revoked-${number}`;
}

/**
 * Names of the policies that record the requester of a key or token and check the identity of a
 * key. On servers before 1.36, a MutatingWebhookConfiguration has the name of the first. The
 * requester of an object is trusted only if the object is younger than the policies.
 */
export const requesterPolicies = {
  annotations: "latchkey-requester-annotations",
  lock: "latchkey-requester-lock",
  guard: "latchkey-mint-guard",
} as const;

/** The label of every object that Latchkey ships, and of the namespace of every outbox. */
export const ownLabel = { "app.kubernetes.io/name": "latchkey" } as const;

/** The label selector for {@link ownLabel}. */
export const ownSelector = "app.kubernetes.io/name=latchkey";

/** The names of the policies, and of their bindings, without which everybody may share. */
export const sharePolicies = {
  projects: "latchkey-project-share",
  clusters: "latchkey-cluster-share",
  outboxes: "latchkey-outbox",
  outboxNamespaces: "latchkey-outbox-namespace",
  sources: "latchkey-data-from",
} as const;

/**
 * The name of the policy, and of its binding, that denies requests with a credential of Latchkey
 * the Secrets that are or become other credentials. An authorizer does not see the type of a
 * Secret.
 */
export const derivedCredentialsPolicy = "latchkey-derived-credentials";

/**
 * The name of the policy, and of its binding, that decides who may set the labels of a namespace
 * that scopes and copies go by.
 */
export const projectAssignmentPolicy = "latchkey-project-assignment";

/**
 * The name of the policy, and of its binding, that limits Latchkey's accounts to their own Secrets.
 */
export const ownSecretsPolicy = "latchkey-own-secrets";

/** Usernames of Latchkey's own service accounts in its namespace, as the policies name them. */
export function ownAccounts(namespace: string): readonly string[] {
  return ["controller", "webhook", "gateway"].map(
    (name) => `system:serviceaccount:${namespace}:latchkey-${name}`,
  );
}

/**
 * Names of Latchkey's MutatingWebhookConfigurations; the second exists only on servers before 1.36.
 */
export const webhookConfigurations: readonly string[] = ["latchkey", requesterPolicies.annotations];

/** Extras of a user that authenticated with an access key (Kubernetes API reference, UserInfo). */
export const extras = {
  /** The uid of the OwnedAccessKey. */
  keyId: `${group}/key-id`,
  /**
   * A hash of the key's scope: kube-apiserver caches decisions by user and extras, so a decision
   * for one scope is not reused for another.
   */
  scopeHash: `${group}/scope-hash`,
  /**
   * The uid of the OwnedAccessKey or of the DirectClusterEndpointToken, whatever Latchkey has
   * authenticated; for a token of another issuer, a hash of its id. No authorizer decides by it, so
   * that no request is judged twice.
   */
  credentialId: `${group}/credential-id`,
  /** When the token that was presented ends, in RFC 3339; absent for a key. */
  credentialEnds: `${group}/credential-ends`,
} as const;

/** Extras of a user that authenticated with a direct token in a connected cluster. */
export const tokenExtras = {
  /** The uid of the OwnedAccessKey that the token was requested with, if any. */
  keyId: extras.keyId,
  /** The claim `scope`, if the token has a scope. */
  scope: `${group}/scope`,
  /** The claim `jti`: the uid of the DirectClusterEndpointToken. */
  tokenId: `${group}/token-id`,
  /** The name of the DirectClusterEndpointToken. */
  tokenName: `${group}/token-name`,
} as const;

/** Every label key Latchkey reads or writes. */
export const labels = {
  project: `${group}/project`,
  space: `${group}/space`,
  virtualCluster: `${group}/virtual-cluster`,
  cluster: `${group}/cluster`,
  scopeRole: `${group}/scope-role`,
  sourceUid: `${group}/source-uid`,
  /** Of a Secret in an outbox, and of the copies that an agent makes of it: the source's uid. */
  outboxUid: `${group}/outbox-uid`,
  sharedSecretName: `${group}/sharedsecret-name`,
  sharedSecretNamespace: `${group}/sharedsecret-namespace`,
  component: `${group}/component`,
  requesterHash: `${group}/requester-hash`,
} as const;

/** Values of the component label on the Secrets and ConfigMaps in Latchkey's own namespace. */
export const components = {
  signingKeys: "signing-keys",
  webhookCertificates: "webhook-certificates",
  gatewayCertificates: "gateway-certificates",
  issuerCertificates: "issuer-certificates",
  directCertificates: "direct-endpoint-certificates",
  authorizerCertificates: "direct-authorizer-certificates",
  connectorKey: "connector-key",
  connectorData: "connector-data",
  revokedTokens: "revoked-tokens",
  clusterAgent: "cluster-agent",
  clusterReport: "cluster-report",
} as const;

/** The Secret in which replicas share their certificates, and its component label. */
export interface CertificatesSecretName {
  readonly name: string;
  readonly component: string;
}

/** The Secrets of certificates, by the process that serves with them. */
export const certificateSecrets = {
  webhook: { name: ownObjects.webhookCertificates, component: components.webhookCertificates },
  gateway: { name: ownObjects.gatewayCertificates, component: components.gatewayCertificates },
  issuer: { name: ownObjects.issuerCertificates, component: components.issuerCertificates },
  direct: { name: ownObjects.directCertificates, component: components.directCertificates },
  authorizer: {
    name: ownObjects.authorizerCertificates,
    component: components.authorizerCertificates,
  },
} as const;

/** The annotation in which client-side apply stores the whole object, including secrets. */
export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** The annotation of the Lease of the controller that has the version of its holder. */
export const versionAnnotation = "app.kubernetes.io/version";

/**
 * Prefixes of the annotation keys that configure the sync of a SharedSecret, or mark its copies.
 */
export const annotationPrefixes = { sync: `${group}/sync-`, copy: `${group}/copy-` } as const;

/** Every annotation key Latchkey reads or writes. */
export const annotations = {
  allowCopyKeys: `${group}/allow-copy-keys`,
  audienceCluster: `${group}/audience-cluster`,
  claims: `${group}/claims`,
  clusterSyncError: `${group}/cluster-sync-error`,
  clusterUid: `${group}/cluster-uid`,
  connectorData: `${group}/connector-data`,
  copiedAnnotations: `${group}/copied-annotations`,
  copiedLabels: `${group}/copied-labels`,
  copyAnnotations: `${group}/copy-annotations`,
  copyLabels: `${group}/copy-labels`,
  copyOf: `${group}/copy-of`,
  createdAt: `${group}/created-at`,
  credentialEnds: `${group}/credential-ends`,
  dataFor: `${group}/data-for`,
  dataFrom: `${group}/data-from`,
  dataFromKeys: `${group}/data-from-keys`,
  disableSync: `${group}/disable-sync`,
  expiredAt: `${group}/expired-at`,
  filled: `${group}/filled`,
  formerCa: `${group}/former-ca`,
  formerRequester: `${group}/former-requester`,
  issuer: `${group}/issuer`,
  outboxFormat: `${group}/outbox-format`,
  projects: `${group}/projects`,
  refreshNow: `${group}/refresh-now`,
  requester: `${group}/requester`,
  requesterGroups: `${group}/requester-groups`,
  requesterKeyId: `${group}/requester-key-id`,
  requesterUid: `${group}/requester-uid`,
  revisedAt: `${group}/revised-at`,
  revision: `${group}/revision`,
  rotateSigningKey: `${group}/rotate-signing-key`,
  rules: `${group}/rules`,
  source: `${group}/source`,
  sync: `${group}/sync`,
  syncError: `${group}/sync-error`,
  syncFormat: `${group}/sync-format`,
  syncFormatFrom: `${group}/sync-format-from`,
  syncFormatKey: `${group}/sync-format-key`,
  syncFrom: `${group}/sync-from`,
  syncKeys: `${group}/sync-keys`,
  syncSecretName: `${group}/sync-secret-name`,
  syncSecretType: `${group}/sync-secret-type`,
  syncToClusters: `${group}/sync-to-clusters`,
  syncToProjects: `${group}/sync-to-projects`,
  virtualClusterNamespace: `${group}/virtual-cluster-namespace`,
  unheardSeconds: `${group}/unheard-seconds`,
  withdrawn: `${group}/withdrawn`,
} as const;
