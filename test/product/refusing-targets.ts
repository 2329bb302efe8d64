import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import { join } from "node:path";
import { annotations, labels } from "../../src/api/names.ts";
import { recordAt, stringMapAt } from "../../src/api/parse.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import type { DedicatedCluster } from "../support/dedicated-cluster.ts";

const admission = "/apis/admissionregistration.k8s.io/v1";
const base64 = (text: string) => Buffer.from(text).toString("base64");

/**
 * Creates namespaces of one project: one that accepts copies, and one for each way to reject them;
 * returns a function that stops the webhook.
 */
export async function makeRefusingTargets(cluster: DedicatedCluster): Promise<() => void> {
  await namespace(cluster, "good");
  await namespace(cluster, "by-quota");
  await namespace(cluster, "by-policy", { "test.example/refused-by": "policy" });
  await namespace(cluster, "by-dead", { "test.example/refused-by": "dead" });
  await namespace(cluster, "by-talkative", { "test.example/refused-by": "talkative" });
  const quota = { metadata: { name: "none" }, spec: { hard: { "count/secrets": "0" } } };
  await cluster.arrange({
    method: "POST",
    path: "/api/v1/namespaces/by-quota/resourcequotas",
    body: quota,
  });
  const talkative = await webhooks(cluster);
  await clumsyPolicy(cluster);
  return () => void talkative.close();
}

async function namespace(
  cluster: DedicatedCluster,
  name: string,
  marks: object = {},
): Promise<void> {
  const metadata = {
    name,
    labels: { [labels.project]: "all", ...marks },
    annotations: { [annotations.sync]: "enabled" },
  };
  await cluster.arrange({ method: "POST", path: "/api/v1/namespaces", body: { metadata } });
}

/** Rejects Secrets with a message that contains their values. */
async function clumsyPolicy(cluster: DedicatedCluster): Promise<void> {
  const name = "clumsy";
  const messageExpression = "object.data.map(k, k + '=' + string(object.data[k])).join(', ')";
  const spec = {
    matchConstraints: {
      namespaceSelector: { matchLabels: { "test.example/refused-by": "policy" } },
      resourceRules: [
        {
          apiGroups: [""],
          apiVersions: ["v1"],
          operations: ["CREATE", "UPDATE"],
          resources: ["secrets"],
        },
      ],
    },
    validations: [{ expression: "false", messageExpression }],
  };
  await cluster.arrange({
    method: "POST",
    path: `${admission}/validatingadmissionpolicies`,
    body: { metadata: { name }, spec },
  });
  await cluster.arrange({
    method: "POST",
    path: `${admission}/validatingadmissionpolicybindings`,
    body: { metadata: { name }, spec: { policyName: name, validationActions: ["Deny"] } },
  });
  await refuses(cluster, "by-policy", `probe=${base64("seen")}`);
}

/**
 * Webhooks that reject Secrets: one without a server, and one that repeats the whole request in its
 * response.
 */
async function webhooks(cluster: DedicatedCluster): Promise<Server> {
  const certificates = join(cluster.controlPlane.directory, "certificates");
  const [cert, key] = ["apiserver.crt", "apiserver.key"].map((file) =>
    readFileSync(join(certificates, file)),
  );
  const talkative = createServer(
    { cert, key },
    (request, response) => void repeat(request, response),
  );
  const port = await freePort();
  await new Promise<void>((resolve) => talkative.listen(port, "127.0.0.1", () => resolve()));
  const webhook = (name: string, url: string) => ({
    name: `${name}.test.example`,
    clientConfig: { url, caBundle: base64(String(cert)) },
    namespaceSelector: { matchLabels: { "test.example/refused-by": name } },
    rules: [
      {
        apiGroups: [""],
        apiVersions: ["v1"],
        operations: ["CREATE", "UPDATE"],
        resources: ["secrets"],
      },
    ],
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    // The longest: a slow machine must not turn a refusal into a timeout.
    timeoutSeconds: 30,
  });
  const all = [
    webhook("dead", `https://127.0.0.1:${await freePort()}/`),
    webhook("talkative", `https://127.0.0.1:${port}/`),
  ];
  await cluster.arrange({
    method: "POST",
    path: `${admission}/validatingwebhookconfigurations`,
    body: { metadata: { name: "refusing" }, webhooks: all },
  });
  await refuses(cluster, "by-talkative", "probe=seen");
  return talkative;
}

async function repeat(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  const { uid, object } = recordAt(JSON.parse(text), "request");
  const values = Object.entries(stringMapAt(object, "data")).map(([name, value]) => {
    const plain = Buffer.from(value, "base64").toString();
    return `${name}=${plain} is ${value} or ${JSON.stringify(plain)}`;
  });
  const review = {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: { uid, allowed: false, status: { message: values.join("; ") } },
  };
  response.setHeader("content-type", "application/json").end(JSON.stringify(review));
}

/** Waits until a Secret is rejected with this message. */
async function refuses(cluster: DedicatedCluster, name: string, words: string): Promise<void> {
  const probe = {
    method: "POST",
    path: `/api/v1/namespaces/${name}/secrets?dryRun=All`,
    body: { metadata: { name: "probe" }, data: { probe: base64("seen") } },
  } as const;
  const look = async () => {
    const { code, message } = await cluster.ask({}, probe);
    return code >= 400 && message.includes(words);
  };
  await eventually(look, { what: `${name} to refuse with ${words}` });
}
