import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { join } from "node:path";
import { load } from "js-yaml";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { eventually } from "../support/eventually.ts";
import { repository } from "../support/install.ts";
import type { ControlPlane } from "../support/control-plane-handle.ts";
import { api, unique } from "../support/policy-request.ts";

/**
 * A webhook that replaces a shipped one: it has the same rules and match conditions, allows all
 * requests, and records them.
 */
export interface AdmissionRecorder {
  /** The names of the objects in its requests. */
  readonly names: ReadonlySet<string>;
  stop(): Promise<void>;
}

const configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

/**
 * Makes kube-apiserver call a recorder with the requests for the webhook `name` of
 * `config/webhook/admission.yaml`, in one namespace.
 */
export async function recordAdmission(
  controlPlane: ControlPlane,
  name: string,
  namespace: string,
): Promise<AdmissionRecorder> {
  const names = new Set<string>();
  const [cert, key] = ["apiserver.crt", "apiserver.key"].map((file) =>
    readFileSync(join(controlPlane.directory, "certificates", file)),
  );
  const server = createServer({ cert, key }, (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const request = recordAt(JSON.parse(Buffer.concat(chunks).toString("utf8")), "request");
      names.add(stringAt(recordAt(request["object"], "metadata"), "name") ?? "");
      outgoing.setHeader("content-type", "application/json").end(
        JSON.stringify({
          apiVersion: "admission.k8s.io/v1",
          kind: "AdmissionReview",
          response: { uid: request["uid"], allowed: true },
        }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const shipped = listAt(
    load(readFileSync(join(repository, "config", "webhook", "admission.yaml"), "utf8")),
    "webhooks",
  ).find((webhook) => stringAt(webhook, "name") === name);
  const clientConfig = {
    url: `https://127.0.0.1:${port}/`,
    caBundle: Buffer.from(cert ?? "").toString("base64"),
  };
  const webhook = {
    ...recordAt({ shipped }, "shipped"),
    clientConfig,
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
  };
  // kube-apiserver calls webhooks in the order of names: the recorder before Latchkey, which may
  // reject.
  const configuration = unique("a-recorder");
  await api.create(configurations, { metadata: { name: configuration }, webhooks: [webhook] });
  return {
    names,
    async stop() {
      await api.delete(`${configurations}/${configuration}`);
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/**
 * Waits until kube-apiserver calls the recorder; `provoke` sends an object of this name that
 * matches.
 */
export async function becomesAsked(
  { names }: AdmissionRecorder,
  name: string,
  provoke: () => Promise<unknown>,
): Promise<void> {
  const look = async () => {
    await provoke();
    return names.has(name);
  };
  await eventually(look, { what: `the recorder to be asked about ${name}` });
}
