import { group } from "../../api/names.ts";

/** Whether the copies of a SharedSecret may have a label or annotation with a key. */
export type CopyKeyRule =
  | "free"
  /** Only in namespaces that allow it: another controller acts on the key. */
  | "restricted"
  /** Nowhere: the key belongs to Kubernetes or to Latchkey. */
  | "reserved";

/**
 * Domains of keys that Kubernetes and Latchkey interpret (Kubernetes, "Well-Known Labels,
 * Annotations and Taints": `kubernetes.io` and `k8s.io` are reserved).
 */
const reservedDomains: readonly string[] = [group, "kubernetes.io", "k8s.io"];

/**
 * Domains of keys that make another controller copy a Secret further, use it as a credential of its
 * own, or overwrite or delete it.
 */
export const restrictedDomains: readonly string[] = [
  // Argo CD: secret-type makes a Secret a cluster or a repository; tracking-id lets it be pruned.
  // https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/
  "argocd.argoproj.io",
  // Rancher copies project-scoped-secret into every namespace of a project.
  // https://github.com/rancher/rancher, pkg/controllers/managementuser/secret
  "cattle.io",
  // cert-manager: allow-direct-injection lets a Secret become the CA of webhooks.
  // https://cert-manager.io/docs/concepts/ca-injector/
  "cert-manager.io",
  // https://github.com/zakkg3/ClusterSecret
  "clustersecret.io",
  // External Secrets pushes Secrets to other stores by label, and owns those with its own.
  // https://external-secrets.io/latest/api/pushsecret/
  "external-secrets.io",
  // Flux applies to what its labels name (kustomize.toolkit.fluxcd.io/prune, reconcile).
  // https://fluxcd.io/flux/components/kustomize/kustomizations/
  "fluxcd.io",
  // Helm adopts objects with meta.helm.sh/release-name.
  // https://helm.sh/docs/topics/charts/ and https://github.com/helm/helm/pull/7649
  "helm.sh",
  // Hierarchical Namespaces copies to descendants: propagate.hnc.x-k8s.io/select.
  // https://github.com/kubernetes-retired/hierarchical-namespaces, docs/user-guide
  "hnc.x-k8s.io",
  // Karmada propagates to other clusters by propagationpolicy.karmada.io/name.
  // https://karmada.io/docs/userguide/scheduling/resource-propagating/
  "karmada.io",
  // https://hub.docker.com/r/akozak1lab/kube-syncer
  "kube-syncer",
  // Config Syncer (Kubed): kubed.appscode.com/sync, and to other clusters sync-contexts.
  // https://github.com/config-syncer/config-syncer
  "kubed.appscode.com",
  // Kyverno clones from Secrets with generate.kyverno.io/clone-source.
  // https://kyverno.io/docs/policy-types/cluster-policy/generate/
  "kyverno.io",
  // vCluster writes to the host cluster what has vcluster.loft.sh/force-sync.
  // https://www.vcluster.com/docs
  "loft.sh",
  // https://open-cluster-management.io/docs/
  "open-cluster-management.io",
  // Reflector: reflection-auto-enabled. https://github.com/emberstack/kubernetes-reflector
  "reflector.v1.k8s.emberstack.com",
  // Replicator: replicate-to. https://github.com/mittwald/kubernetes-replicator
  "replicator.v1.mittwald.de",
  // https://replizieren.dev/api-reference
  "replizieren.dev",
  // Sealed Secrets overwrites a Secret with the annotation managed.
  // https://github.com/bitnami-labs/sealed-secrets
  "sealedsecrets.bitnami.com",
  // https://github.com/carvel-dev/secretgen-controller
  "secretgen.carvel.dev",
  // https://github.com/unchartedsky/secret-sync-operator
  "secretsync.ibm.com",
  // https://github.com/TheYkk/synator
  "synator",
];

/** Returns the rule for the key of a label or annotation; the case of its domain does not count. */
export function copyKeyRule(key: string): CopyKeyRule {
  const domain = domainOf(key);
  if (domain === undefined) return "free";
  if (reservedDomains.some((reserved) => isWithin(domain, reserved))) return "reserved";
  return restrictedDomains.some((restricted) => isWithin(domain, restricted))
    ? "restricted"
    : "free";
}

/**
 * Whether the annotation `allow-copy-keys` of a namespace allows a restricted key: it lists the
 * key, or its domain as `<domain>/*`.
 */
export function allowsCopyKey(list: string | undefined, key: string): boolean {
  if (list === undefined || list.length > longestAllowList) return false;
  const domain = domainOf(key);
  return list
    .split(",")
    .map((entry) => entry.trim())
    .some((entry) => entry === key || (domain !== undefined && entry === `${domain}/*`));
}

/** Maximum characters of `allow-copy-keys`; a longer list allows nothing. */
const longestAllowList = 4096;

function domainOf(key: string): string | undefined {
  const slash = key.indexOf("/");
  return slash === -1 ? undefined : key.slice(0, slash).toLowerCase();
}

function isWithin(domain: string, parent: string): boolean {
  return domain === parent || domain.endsWith(`.${parent}`);
}
