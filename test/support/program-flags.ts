import { join } from "node:path";
import { loopback, loopbackHost } from "./loopback.ts";

/** The files and ports of etcd. */
export interface EtcdPlace {
  data: string;
  port: number;
  peerPort: number;
}

/** The files and ports of kube-apiserver; `audit` is the path of its audit log, if it has one. */
export interface ApiServerPlace {
  directory: string;
  etcdPort: number;
  port: number;
  audit: string | undefined;
}

/** The flags of an etcd whose data need not survive a power failure. */
export function etcdFlags({ data, port, peerPort }: EtcdPlace): string[] {
  return [
    `--data-dir=${data}`,
    `--listen-client-urls=http://${loopbackHost}:${port}`,
    `--advertise-client-urls=http://${loopbackHost}:${port}`,
    `--listen-peer-urls=http://${loopbackHost}:${peerPort}`,
    "--unsafe-no-fsync",
    // Every change of an object of 1 MB adds a megabyte until the history is compacted.
    `--quota-backend-bytes=${8 * 1024 ** 3}`,
  ];
}

/**
 * The flags of a kube-apiserver that generates its certificates and reads its users from a file;
 * later flags override earlier ones.
 */
export function apiServerFlags(
  { directory, etcdPort, port, audit }: ApiServerPlace,
  extra: readonly string[] = [],
): string[] {
  return [
    `--etcd-servers=http://${loopbackHost}:${etcdPort}`,
    `--bind-address=${loopback}`,
    `--advertise-address=${loopback}`,
    `--secure-port=${port}`,
    `--cert-dir=${join(directory, "certificates")}`,
    `--service-cluster-ip-range=${loopback === "::1" ? "fd00:1::/112" : "10.0.0.0/24"}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${join(directory, "service-account.pub")}`,
    `--service-account-signing-key-file=${join(directory, "service-account.key")}`,
    `--token-auth-file=${join(directory, "users.csv")}`,
    // Modes and a file are mutually exclusive.
    ...(extra.some((flag) => flag.startsWith("--authorization-config"))
      ? []
      : ["--authorization-mode=RBAC"]),
    "--endpoint-reconciler-type=none",
    ...(audit === undefined ? [] : auditFlags(directory, audit)),
    ...extra,
  ];
}

/** The flags of a kube-controller-manager with the controllers that Latchkey depends on. */
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
 * Off by default and in most clusters: without it, permission to update an object is enough to set
 * its ownerReferences, and the garbage collector deletes it if the owners do not exist.
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

/** Bodies contain secrets, so they are never logged: level Metadata at most. */
export const auditPolicy = JSON.stringify({
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
});

/** A log without rotation: a test reads the whole file. */
function auditFlags(directory: string, audit: string): string[] {
  return [
    `--audit-policy-file=${join(directory, "audit-policy.json")}`,
    `--audit-log-path=${audit}`,
    "--audit-log-maxsize=100000",
  ];
}
