import { describe, expect, test } from "vitest";
import {
  admissionConfiguration,
  admissionKubeconfig,
  authorizationConfiguration,
  trustFlags,
  webhookKubeconfig,
} from "../../../src/domain/webhook/trust-config.ts";

const directory = "/etc/kubernetes/latchkey";

describe("the AuthorizationConfiguration", () => {
  test("evaluates only requests with a key, before RBAC, and denies them if Latchkey is unavailable", () => {
    expect(authorizationConfiguration(directory, "access-key")).toMatchObject({
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "AuthorizationConfiguration",
      authorizers: [
        {
          type: "Webhook",
          webhook: {
            failurePolicy: "Deny",
            unauthorizedTTL: "1s",
            authorizedTTL: "1s",
            matchConditions: [
              { expression: "has(request.extra) && 'management.service/key-id' in request.extra" },
            ],
            connectionInfo: {
              type: "KubeConfigFile",
              kubeConfigFile: `${directory}/access-review.kubeconfig`,
            },
          },
        },
        { type: "Node" },
        { type: "RBAC" },
      ],
    });
  });
});

test("the authorizer of a connected cluster is asked about each request with a direct token", () => {
  const file = authorizationConfiguration(directory, "direct-token");
  const [expression] = ["token-id", "token-name", "scope"]
    .map((name) => `'management.service/${name}' in request.extra`)
    .reduce<string[]>(
      ([before], next) => [before === undefined ? next : `${before} || ${next}`],
      [],
    );
  expect(file).toMatchObject({
    authorizers: [
      {
        type: "Webhook",
        webhook: {
          failurePolicy: "Deny",
          unauthorizedTTL: "1s",
          authorizedTTL: "1s",
          matchConditions: [{ expression: `has(request.extra) && (${expression})` }],
        },
      },
      { type: "Node" },
      { type: "RBAC" },
    ],
  });
});

test("the flags contain the files, and v1 of TokenReview, which is not the default", () => {
  expect(trustFlags(directory)).toEqual([
    `--authentication-token-webhook-config-file=${directory}/token-review.kubeconfig`,
    "--authentication-token-webhook-version=v1",
    "--authentication-token-webhook-cache-ttl=5s",
    `--authorization-config=${directory}/authorization.yaml`,
    `--admission-control-config-file=${directory}/admission.yaml`,
  ]);
});

test("a kubeconfig verifies the webhook's name regardless of the address, and has a client certificate", () => {
  const access = {
    url: "https://10.0.0.7",
    serverName: "latchkey-webhook.latchkey-system.svc",
    ca: "Y2E=",
    certificate: "Y2VydA==",
    privateKey: "a2V5",
  };
  expect(webhookKubeconfig(access, "/token-review")).toMatchObject({
    clusters: [
      {
        cluster: {
          server: "https://10.0.0.7/token-review",
          "tls-server-name": access.serverName,
          "certificate-authority-data": "Y2E=",
        },
      },
    ],
    users: [{ user: { "client-certificate-data": "Y2VydA==", "client-key-data": "a2V5" } }],
    "current-context": "latchkey",
  });
});

test("the AdmissionConfiguration has the kubeconfig of client certificates for both kinds of webhooks", () => {
  const configuration = {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "WebhookAdmissionConfiguration",
    kubeConfigFile: `${directory}/admission.kubeconfig`,
  };
  expect(admissionConfiguration(directory)).toEqual({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AdmissionConfiguration",
    plugins: [
      { name: "MutatingAdmissionWebhook", configuration },
      { name: "ValidatingAdmissionWebhook", configuration },
    ],
  });
});

test("the kubeconfig for admission has the client certificate for each host of the webhook", () => {
  const user = { "client-certificate-data": "Y2VydA==", "client-key-data": "a2V5" };
  const credential = { certificate: "Y2VydA==", privateKey: "a2V5" };
  expect(
    admissionKubeconfig(["latchkey-webhook.latchkey-system.svc", "a:8443"], credential),
  ).toEqual({
    apiVersion: "v1",
    kind: "Config",
    users: [
      { name: "latchkey-webhook.latchkey-system.svc", user },
      { name: "a:8443", user },
    ],
  });
});
