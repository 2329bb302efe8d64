import { Agent, request as send } from "node:https";
import { ownObjects } from "../../src/api/names.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { webhookPaths } from "../../src/domain/webhook/webhook-paths.ts";
import { parseServerCertificates, tlsOf } from "../../src/tokens/server-certificates.ts";
import { type Answer, arrange, type Ask } from "./policy-request.ts";
import { get } from "./cluster-connection.ts";

/** A response of a webhook: the HTTP status and the body. */
export interface ReviewAnswer {
  readonly status: number;
  readonly body: string;
}

/** A client of a webhook. */
export interface ReviewClient {
  post(path: string, body: string): Promise<ReviewAnswer>;
  /** The status of the TokenReview of a bearer token. */
  tokenReview(token: string): Promise<Readonly<Record<string, unknown>>>;
  /** The status of the SubjectAccessReview of a user who authenticated with the key of this uid. */
  accessReview(keyId: string): Promise<Readonly<Record<string, unknown>>>;
  close(): void;
}

/**
 * Calls the webhook at `url` like kube-apiserver, with the client certificate, or like an anonymous
 * client inside the cluster.
 */
export async function reviewClient(
  url: string,
  who: "kube-apiserver" | "anonymous",
  ask: (request: Ask) => Promise<Answer> = arrange,
): Promise<ReviewClient> {
  const raw = await ask(
    get(`/api/v1/namespaces/latchkey-system/secrets/${ownObjects.webhookCertificates}`),
  );
  const certificates = parseServerCertificates(raw);
  const shown =
    who === "anonymous"
      ? {}
      : {
          cert: certificates.client.certificate,
          key: SecretText.reveal(certificates.client.privateKey),
        };
  const agent = new Agent({
    keepAlive: true,
    ca: tlsOf(certificates).clientAuthority,
    servername: "latchkey-webhook.latchkey-system.svc",
    ...shown,
  });
  const post = (path: string, body: string): Promise<ReviewAnswer> =>
    new Promise((resolve, reject) => {
      const call = send(
        `${url}${path}`,
        {
          agent,
          method: "POST",
          headers: {
            "content-type": "application/json",
            "content-length": Buffer.byteLength(body),
          },
        },
        (answer) => {
          const parts: Buffer[] = [];
          answer.on("data", (part: Buffer) => parts.push(part));
          answer.on("end", () =>
            resolve({
              status: answer.statusCode ?? 0,
              body: Buffer.concat(parts).toString("utf8"),
            }),
          );
          answer.on("error", reject);
        },
      );
      call.on("error", reject);
      call.end(body);
    });
  const statusOf = async (
    path: string,
    review: object,
  ): Promise<Readonly<Record<string, unknown>>> => {
    const { status, body } = await post(path, JSON.stringify(review));
    if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
    const answer: { status: Readonly<Record<string, unknown>> } = JSON.parse(body);
    return answer.status;
  };
  return {
    post,
    tokenReview: (token) =>
      statusOf(webhookPaths.tokenReview, {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenReview",
        spec: { token },
      }),
    accessReview: (keyId) =>
      statusOf(webhookPaths.accessReview, {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: {
          user: "alice",
          extra: { "management.service/key-id": [keyId] },
          resourceAttributes: {
            verb: "get",
            version: "v1",
            resource: "configmaps",
            namespace: "default",
            name: "x",
          },
        },
      }),
    close: () => agent.destroy(),
  };
}
