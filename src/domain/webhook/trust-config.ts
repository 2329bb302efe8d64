import { extras } from "../../api/names.ts";

/** Where kube-apiserver finds its files and the webhook. */
export interface TrustTerms {
  /** Minor version of Kubernetes 1. */
  readonly minor: number;
  /** The directory of the files on the API server's machine. */
  readonly directory: string;
}

/**
 * The oldest minor version that reads an AuthorizationConfiguration without a feature gate
 * (Kubernetes, "Authorization").
 */
export const oldestMinor = 30;

/** Names of the files that kube-apiserver reads. */
export const trustFiles = {
  authorization: "authorization.yaml",
  tokenReview: "token-review.kubeconfig",
  accessReview: "access-review.kubeconfig",
} as const;

/**
 * The AuthorizationConfiguration: Latchkey's webhook authorizes requests with an access key before
 * RBAC, and no others; they are denied while it is unavailable. It never allows. Decisions are
 * cached for one second.
 */
export function authorizationConfiguration({ minor, directory }: TrustTerms): object {
  return {
    apiVersion: `apiserver.config.k8s.io/${minor < 32 ? "v1beta1" : "v1"}`,
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
          matchConditions: [
            { expression: `has(request.extra) && '${extras.keyId}' in request.extra` },
          ],
        },
      },
      { type: "Node", name: "node" },
      { type: "RBAC", name: "rbac" },
    ],
  };
}

/**
 * Flags of kube-apiserver; `--authorization-mode` must be removed. A TokenReview is cached for 15
 * s: 5 s by flag, and 10 s always.
 */
export function trustFlags({ directory }: TrustTerms): readonly string[] {
  return [
    `--authentication-token-webhook-config-file=${directory}/${trustFiles.tokenReview}`,
    "--authentication-token-webhook-version=v1",
    "--authentication-token-webhook-cache-ttl=5s",
    `--authorization-config=${directory}/${trustFiles.authorization}`,
  ];
}

/** How kube-apiserver reaches the webhook; certificates and key are base64 of PEM. */
export interface WebhookAccess {
  /** With the path that answers. */
  readonly url: string;
  /** The name that the webhook's certificate has, whatever the host of the URL. */
  readonly serverName: string;
  readonly ca: string;
  readonly certificate: string;
  readonly privateKey: string;
}

/**
 * The kubeconfig for requests of kube-apiserver to the webhook (Kubernetes, "Webhook Token
 * Authentication").
 */
export function webhookKubeconfig({
  url,
  serverName,
  ca,
  certificate,
  privateKey,
}: WebhookAccess): object {
  const name = "latchkey";
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name,
        cluster: {
          server: url,
          "tls-server-name": serverName,
          "certificate-authority-data": ca,
        },
      },
    ],
    users: [
      {
        name: "kube-apiserver",
        user: { "client-certificate-data": certificate, "client-key-data": privateKey },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: "kube-apiserver" } }],
    "current-context": name,
  };
}
