import { extras } from "../../api/names.ts";
import { directTokenExtras } from "../endpoint-token/token-extras.ts";

const configVersion = "apiserver.config.k8s.io/v1";

/** The credentials that the authorizer decides about: those of this cluster, or of another one. */
type AuthorizedCredential = "access-key" | "direct-token";

/** Names of the files that kube-apiserver reads. */
export const trustFiles = {
  authorization: "authorization.yaml",
  tokenReview: "token-review.kubeconfig",
  accessReview: "access-review.kubeconfig",
  admission: "admission.yaml",
  admissionWebhooks: "admission.kubeconfig",
} as const;

/** The extras of the users of a credential, one of which every request of such a user has. */
const authorizedExtras: Readonly<Record<AuthorizedCredential, readonly string[]>> = {
  "access-key": [extras.keyId],
  "direct-token": directTokenExtras,
};

/**
 * Returns the AuthorizationConfiguration: before RBAC, Latchkey's webhook authorizes requests that
 * were made with an access key, or with a direct token, and no others. It denies them or has no
 * opinion; they are denied while it is unavailable. Decisions are cached for one second. The files
 * of kube-apiserver are in `directory` of its node.
 */
export function authorizationConfiguration(
  directory: string,
  credential: AuthorizedCredential,
): object {
  const isOurs = authorizedExtras[credential].map((name) => `'${name}' in request.extra`);
  return {
    apiVersion: configVersion,
    kind: "AuthorizationConfiguration",
    authorizers: [
      {
        type: "Webhook",
        name: "latchkey",
        webhook: {
          authorizedTTL: "1s",
          unauthorizedTTL: "1s",
          timeout: "3s",
          subjectAccessReviewVersion: "v1",
          matchConditionSubjectAccessReviewVersion: "v1",
          failurePolicy: "Deny",
          connectionInfo: {
            type: "KubeConfigFile",
            kubeConfigFile: `${directory}/${trustFiles.accessReview}`,
          },
          matchConditions: [{ expression: `has(request.extra) && ${anyOf(isOurs)}` }],
        },
      },
      { type: "Node", name: "node" },
      { type: "RBAC", name: "rbac" },
    ],
  };
}

function anyOf(conditions: readonly string[]): string {
  return conditions.length === 1 ? conditions.join("") : `(${conditions.join(" || ")})`;
}

/**
 * Returns the AdmissionConfiguration: kube-apiserver presents the client certificates of a
 * kubeconfig to admission webhooks (Kubernetes, "Dynamic Admission Control", Authenticate API
 * servers).
 */
export function admissionConfiguration(directory: string): object {
  const plugins = ["MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"].map((name) => ({
    name,
    configuration: {
      apiVersion: configVersion,
      kind: "WebhookAdmissionConfiguration",
      kubeConfigFile: `${directory}/${trustFiles.admissionWebhooks}`,
    },
  }));
  return { apiVersion: configVersion, kind: "AdmissionConfiguration", plugins };
}

/** The flag of kube-apiserver for the AuthorizationConfiguration. */
export function authorizationFlag(directory: string): string {
  return `--authorization-config=${directory}/${trustFiles.authorization}`;
}

/**
 * Returns the flags of kube-apiserver; `--authorization-mode` must be removed. A TokenReview is
 * cached for 15 s: 5 s by flag, and 10 s always.
 */
export function trustFlags(directory: string): readonly string[] {
  return [
    `--authentication-token-webhook-config-file=${directory}/${trustFiles.tokenReview}`,
    "--authentication-token-webhook-version=v1",
    "--authentication-token-webhook-cache-ttl=5s",
    authorizationFlag(directory),
    `--admission-control-config-file=${directory}/${trustFiles.admission}`,
  ];
}

/** How kube-apiserver reaches the webhook; certificates and key are base64 of PEM. */
export interface WebhookAccess extends ClientCertificate {
  /** The URL of the webhook, without a path. */
  readonly url: string;
  /** The DNS name in the webhook's certificate, regardless of the host in the URL. */
  readonly serverName: string;
  readonly ca: string;
}

/** A client certificate and its key; base64 of PEM. */
interface ClientCertificate {
  readonly certificate: string;
  readonly privateKey: string;
}

/**
 * Returns the kubeconfig for reviews that kube-apiserver sends to a path of the webhook
 * (Kubernetes, "Webhook Token Authentication").
 */
export function webhookKubeconfig(
  { url, serverName, ca, ...credential }: WebhookAccess,
  path: string,
): object {
  const name = "latchkey";
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name,
        cluster: {
          server: url + path,
          "tls-server-name": serverName,
          "certificate-authority-data": ca,
        },
      },
    ],
    users: [userOf("kube-apiserver", credential)],
    contexts: [{ name, context: { cluster: name, user: "kube-apiserver" } }],
    "current-context": name,
  };
}

/**
 * Returns the kubeconfig with the client certificate for admission: a user for each host of the
 * webhook, by which kube-apiserver finds it; a host has a port unless that is 443.
 */
export function admissionKubeconfig(
  hosts: readonly string[],
  credential: ClientCertificate,
): object {
  return { apiVersion: "v1", kind: "Config", users: hosts.map((host) => userOf(host, credential)) };
}

function userOf(name: string, { certificate, privateKey }: ClientCertificate): object {
  return {
    name,
    user: { "client-certificate-data": certificate, "client-key-data": privateKey },
  };
}
