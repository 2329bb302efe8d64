import { api, as, admin, unique } from "../support/policy-request.ts";

const configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

/** The requests that a foreign webhook receives. */
export interface WebhookScope {
  readonly group: string;
  readonly resources: readonly string[];
  readonly operations: readonly ("CREATE" | "UPDATE" | "DELETE")[];
  /** The only namespace to which it applies; without it, it applies to all requests. */
  readonly namespace?: string;
  /** A match condition in CEL. */
  readonly expression?: string;
}

/**
 * Registers a foreign webhook without a server: kube-apiserver returns 500. Returns a function that
 * removes it.
 */
export async function putDeadWebhook({
  group,
  resources,
  operations,
  namespace,
  expression,
}: WebhookScope): Promise<() => Promise<unknown>> {
  const name = unique("dead");
  const webhook = {
    name: `${name}.test.example`,
    clientConfig: { url: "https://127.0.0.1:1/" },
    rules: [{ apiGroups: [group], apiVersions: ["*"], operations, resources }],
    ...(namespace !== undefined && {
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
    }),
    ...(expression !== undefined && { matchConditions: [{ name: "mine", expression }] }),
    failurePolicy: "Fail",
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  };
  await api.create(configurations, { metadata: { name }, webhooks: [webhook] });
  return () => api.delete(`${configurations}/${name}`);
}

/** Whether the API server rejects a request with 500 because a webhook is unavailable. */
export async function isRefusedByDead(path: string, body: object): Promise<boolean> {
  const { code, message } = await as(admin).create(`${path}?dryRun=All`, body);
  return code === 500 && message.includes("failed calling webhook");
}
