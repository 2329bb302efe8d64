import { join } from "node:path";

/** Which files and ports etcd uses. */
export interface EtcdPlace {
  data: string;
  port: number;
  peerPort: number;
}

/**
 * Which files and ports kube-apiserver uses; `audit` is the path of its audit log, if there shall
 * be one.
 */
export interface ApiServerPlace {
  directory: string;
  etcdPort: number;
  port: number;
  audit: string | undefined;
}

/** The flags of an etcd whose data need not survive a power cut. */
export function etcdFlags({ data, port, peerPort }: EtcdPlace): string[] {
  return [
    `--data-dir=${data}`,
    `--listen-client-urls=http://127.0.0.1:${port}`,
    `--advertise-client-urls=http://127.0.0.1:${port}`,
    `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
    "--unsafe-no-fsync",
    // Every change of an object of 1 MB is another megabyte until the history is compacted.
    `--quota-backend-bytes=${8 * 1024 ** 3}`,
    "--heartbeat-interval=10",
    "--election-timeout=100",
  ];
}

/**
 * The flags of a kube-apiserver that makes its own certificates and knows its users from a file;
 * later ones override earlier ones.
 */
export function apiServerFlags(
  { directory, etcdPort, port, audit }: ApiServerPlace,
  extra: readonly string[] = [],
): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${etcdPort}`,
    "--bind-address=127.0.0.1",
    "--advertise-address=127.0.0.1",
    `--secure-port=${port}`,
    `--cert-dir=${join(directory, "certificates")}`,
    "--service-cluster-ip-range=10.0.0.0/24",
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${join(directory, "service-account.pub")}`,
    `--service-account-signing-key-file=${join(directory, "service-account.key")}`,
    `--token-auth-file=${join(directory, "users.csv")}`,
    // Either modes or a file; both are refused.
    ...(extra.some((flag) => flag.startsWith("--authorization-config"))
      ? []
      : ["--authorization-mode=RBAC"]),
    "--endpoint-reconciler-type=none",
    ...(audit === undefined ? [] : auditFlags(directory, audit)),
    ...extra,
  ];
}

/**
 * The flags of a kube-controller-manager with the controllers that Latchkey's behaviour rests on.
 */
export function controllerManagerFlags(directory: string, kubeconfig: string): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    "--leader-elect=false",
    "--secure-port=0",
    "--use-service-account-credentials",
    `--service-account-private-key-file=${join(directory, "service-account.key")}`,
    `--root-ca-file=${join(directory, "certificates", "apiserver.crt")}`,
    `--controllers=${controllers.join(",")}`,
  ];
}

/**
 * Off by default and in most clusters: without it, whoever may update an object may give it
 * ownerReferences, and the garbage collector deletes it when they name nothing.
 */
export const enforcesOwnerReferences =
  "--enable-admission-plugins=OwnerReferencesPermissionEnforcement";

const controllers = [
  "namespace-controller",
  "garbage-collector-controller",
  "serviceaccount-controller",
  "serviceaccount-token-controller",
  "root-ca-certificate-publisher-controller",
  "clusterrole-aggregation-controller",
  "validatingadmissionpolicy-status-controller",
  "resourcequota-controller",
];

/** Bodies hold secrets, so they are never recorded: level Metadata and nothing above. */
export const auditPolicy = JSON.stringify({
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
});

/** A log that never rotates: a test reads it whole. */
function auditFlags(directory: string, audit: string): string[] {
  return [
    `--audit-policy-file=${join(directory, "audit-policy.json")}`,
    `--audit-log-path=${audit}`,
    "--audit-log-maxsize=100000",
  ];
}
