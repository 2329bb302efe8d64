import { randomBytes, X509Certificate } from "node:crypto";
import { connect } from "node:tls";
import { Pool } from "undici";
import { ownObjects } from "../../src/api/names.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { encodeBody } from "../../src/kube/client/request-body.ts";
import {
  newServerCertificates,
  type ServerCertificates,
  serverCertificatesSecret,
} from "../../src/tokens/server-certificates.ts";
import { apiServerName } from "../../src/webhooks/review-route.ts";
import { boundDigest } from "./bound-digest.ts";
import { type Answer, get, post } from "./cluster-connection.ts";
import { type DedicatedCluster, startDedicatedCluster } from "./dedicated-cluster.ts";
import { eventually } from "./eventually.ts";
import { type Installation, policiesCount } from "./install.ts";
import { askAs } from "./key-request.ts";
import { isTrue, keysPath, makeRoot, postKey } from "./latchkey-objects.ts";
import type { WebhookProcess } from "./latchkey-process.ts";
import { trustWebhook, webhookHost } from "./trust.ts";

/** The namespace of the webhook's Secrets. */
export const namespace = "latchkey-system";

/** The path of the Secret with the webhook's certificates. */
export const certificatesPath = `/api/v1/namespaces/${namespace}/secrets/${ownObjects.webhookCertificates}`;

/** A request that the user `root` and administrators may send. */
export const listNamespaces = { method: "GET", path: "/api/v1/namespaces" } as const;

/** The certificate settings without options. */
export const certificateTerms = {
  dnsNames: ["latchkey-webhook.latchkey-system.svc"],
  clientName: apiServerName,
};

const dayMs = 86_400_000;

/** The plain text of a unique key. */
export function newKey(): string {
  return `canary${randomBytes(24).toString("hex")}`;
}

/** The stored form of a key of the user `root` in digest mode. */
export function digestOf(key: string): string {
  return boundDigest(key, "user:root");
}

/** A control plane that authenticates keys with a webhook, and a controller. */
export interface WebhookCluster {
  readonly cluster: DedicatedCluster;
  /** The webhook that kube-apiserver calls, with its client certificate for admission, too. */
  readonly webhook: WebhookProcess;
  /** What writes the requester annotations. */
  readonly stampedBy: Installation["stampedBy"];
  /** The certificates, due for renewal, with which the webhook started. */
  readonly aged: ServerCertificates;
  /** Creates a key of the user `root`, as the administrator. */
  makeKey(name: string, spec: object): Promise<Answer>;
  /** The status code of a request with this key. */
  codeOf(key: string): Promise<number>;
  /** Waits until requests with this key get this status code. */
  becomes(code: number, key: string): Promise<void>;
  /** Whether a condition of a key is True. */
  isTrue(name: string, condition: string): Promise<boolean>;
  /** Stops the webhook that kube-apiserver calls, until `endOutage`. */
  beginOutage(): Promise<void>;
  endOutage(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts it, with webhook certificates that are 300 days old: those with a lifetime of a year are
 * due for renewal.
 */
export async function startWebhookCluster(): Promise<WebhookCluster> {
  // No other webhook may run: it would have created the Secret of the certificates.
  const cluster = await startDedicatedCluster({ install: "manifests" });
  // kube-apiserver restarts below, and may take longer than the Lease.
  const controller = await cluster.run({ restart: "at-once" });
  const aged = await newServerCertificates({
    ...certificateTerms,
    now: Date.now() - 300 * dayMs,
  });
  await cluster.arrange(
    post(
      `/api/v1/namespaces/${namespace}/secrets`,
      JSON.parse(encodeBody(serverCertificatesSecret(aged, { namespace }))),
    ),
  );
  await cluster.arrange(makeRoot);
  const webhook = await cluster.runWebhook({
    args: [`--certificate-names=${webhookHost}`, "--require-admission-client-certificate"],
  });
  await webhook.waitReady();
  await trustWebhook(cluster.controlPlane, webhook);
  await cluster.askAtAdmission(webhook);
  await policiesCount(cluster.controlPlane);
  await controller.waitReady();
  const codeOf = async (key: string) =>
    (await askAs(cluster.controlPlane, key, listNamespaces)).code;
  return {
    cluster,
    webhook,
    stampedBy: cluster.stampedBy,
    aged,
    makeKey: (name, spec) => cluster.arrange(postKey(name, { user: "root", ...spec })),
    codeOf,
    async becomes(code, key) {
      await eventually(async () => (await codeOf(key)) === code, {
        what: `the answer to become ${code}`,
      });
    },
    async isTrue(name, condition) {
      return isTrue((await cluster.arrange(get(`${keysPath}/${name}`))).status, condition);
    },
    async beginOutage() {
      webhook.kill("SIGKILL");
      await webhook.exited();
    },
    async endOutage() {
      webhook.start();
      await webhook.waitReady();
    },
    stop: () => cluster.stop(),
  };
}

/** Connections to a webhook with the client certificate of kube-apiserver. */
export function poolAsApiServer(
  { webhookUrl }: Pick<WebhookProcess, "webhookUrl">,
  { client, ca }: ServerCertificates,
): Pool {
  return new Pool(webhookUrl, {
    allowH2: false,
    connect: {
      ca: ca.certificate,
      cert: client.certificate,
      key: SecretText.reveal(client.privateKey),
      servername: "latchkey-webhook.latchkey-system.svc",
    },
  });
}

/** A TokenReview as kube-apiserver sends it. */
export function tokenReview(token: string): string {
  return JSON.stringify({
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token },
  });
}

/** The serial number of a certificate. */
export function serialOf(certificate: string | Buffer): string {
  return new X509Certificate(certificate).serialNumber;
}

/** The certificate that a webhook currently serves. */
export function shownBy({ webhookUrl }: WebhookProcess): Promise<X509Certificate> {
  return new Promise((resolve, reject) => {
    const socket = connect(
      { host: "127.0.0.1", port: Number(new URL(webhookUrl).port), rejectUnauthorized: false },
      () => {
        const { raw } = socket.getPeerCertificate();
        socket.destroy();
        resolve(new X509Certificate(raw));
      },
    );
    socket.once("error", reject);
  });
}
