import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { admissionPath, webhookPaths } from "../../src/domain/webhook/webhook-paths.ts";
import { eventually } from "../support/eventually.ts";
import { makeKey, worksAs } from "../support/key-request.ts";
import { startWebhook } from "../support/latchkey-process.ts";
import { api, unique } from "../support/policy-request.ts";
import { type ReviewClient, reviewClient } from "../support/review-client.ts";
import { admissionSegmentOf } from "../support/trust.ts";

const secrets = "/api/v1/namespaces/latchkey-system/secrets";

/** The request that kube-apiserver would send for a new key, in the name of any user. */
function admissionReview(
  object: object,
  user: object = { username: "system:admin", groups: ["system:masters"] },
): string {
  return JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: { uid: "r1", operation: "CREATE", userInfo: user, object },
  });
}

const canary = (): string => `canary-${randomBytes(12).toString("hex")}`;
const connectorReview = (data: string, username = "alice"): string =>
  admissionReview(
    { metadata: { name: unique("own") }, spec: { identity: { connectorData: data } } },
    { username },
  );

/** Paths of the Secrets of connector data that contain a text with this prefix. */
async function holding(beginning: string): Promise<readonly string[]> {
  const items = listAt(
    await api.get(`${secrets}?labelSelector=management.service%2Fcomponent%3Dconnector-data`),
    "items",
  );
  const dataOf = (item: unknown) =>
    Buffer.from(stringAt(recordAt(item, "data"), "connectorData") ?? "", "base64").toString("utf8");
  return items
    .filter((item) => dataOf(item).startsWith(beginning))
    .map((item) => `${secrets}/${stringAt(recordAt(item, "metadata"), "name") ?? ""}`);
}

describe.skipIf(inject("webhook") === undefined)(
  "a client without a certificate that can connect to the webhook's port",
  () => {
    const url = inject("webhook")?.webhookUrl ?? "";
    let client: ReviewClient;
    let segment: string;
    beforeAll(async () => {
      client = await reviewClient(url, "anonymous");
      segment = await admissionSegmentOf(inject("controlPlane"));
    });
    afterAll(() => client.close());

    it.each(Object.entries(webhookPaths))(
      "gets 401 or 404 from the fixed path of %s",
      async (name, path) => {
        const data = canary();
        const answer = await client.post(path, connectorReview(data));
        expect(answer.status).toBe(name === "tokenReview" || name === "accessReview" ? 401 : 404);
        expect(await holding(data)).toEqual([]);
      },
    );

    it.each([randomBytes(20).toString("hex"), "", ".", "admit"])(
      "gets 404 below the guessed segment %o",
      async (guess) => {
        expect(
          await client.post(`/${guess}${webhookPaths.connectorData}`, connectorReview(canary())),
        ).toMatchObject({ status: 404 });
      },
    );

    it("below the right path creates only a few Secrets, and causes no read of a Secret", async () => {
      const controlPlane = inject("controlPlane");
      // A dedicated replica: its rate limit would affect other tests.
      const webhook = await startWebhook({ controlPlane, restart: "never" });
      await webhook.waitReady();
      const knowing = await reviewClient(webhook.webhookUrl, "anonymous");
      const data = canary();
      const path = admissionPath(segment, "connector-data.management.service");
      const isLoaded = async () =>
        JSON.parse((await knowing.post(path, connectorReview(data))).body).response.allowed ===
        true;
      await eventually(isLoaded, { what: "the key of marks to be loaded" });
      const codes: number[] = [];
      for (let count = 0; count < 60; count++) {
        const { response } = JSON.parse(
          (await knowing.post(path, connectorReview(`${data}-${count}`, `user-${count}`))).body,
        );
        codes.push(response.allowed === true ? 200 : response.status.code);
      }
      expect(codes).toEqual([
        ...Array.from({ length: 31 }, () => 200),
        ...Array.from({ length: 29 }, () => 429),
      ]);
      const written = await holding(data);
      expect(written).toHaveLength(32);
      const lines = readFileSync(controlPlane.auditLogPath ?? "", "utf8")
        .split("\n")
        .filter((line) => line.includes("serviceaccount:latchkey-system:latchkey-webhook"));
      const reads = lines
        .filter((line) => line.includes('"resource":"secrets"') && /"verb":"(get|list)"/.test(line))
        .map((line) => stringAt(recordAt(JSON.parse(line), "objectRef"), "name"));
      expect(
        reads.filter(
          (name) => name !== "latchkey-webhook-certificates" && name !== "latchkey-connector-key",
        ),
      ).toEqual([]);
      knowing.close();
      await webhook.stop();
      await Promise.all(written.map((secret) => api.delete(secret)));
    });

    it("gets 404 for reviews of kube-apiserver below the right path", async () => {
      for (const path of [webhookPaths.tokenReview, webhookPaths.accessReview])
        expect((await client.post(`/${segment}${path}`, "{}")).status).toBe(404);
    });

    it("with an incomplete body does not use the capacity of other clients, also below the right path", async () => {
      const { port, hostname } = new URL(url);
      const key = await makeKey({ spec: { user: "alice" } });
      await worksAs(key);
      const sockets: TLSSocket[] = [];
      const half = (path: string) =>
        `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${"x".repeat(50_000)}`;
      const paths = [
        webhookPaths.tokenReview,
        "/nowhere",
        admissionPath(segment, "connector-data.management.service"),
      ];
      const open = async (index: number) =>
        new Promise<void>((resolve) => {
          const socket = connect(
            { host: hostname, port: Number(port), rejectUnauthorized: false },
            () => socket.write(half(paths[index % paths.length] ?? ""), () => resolve()),
          );
          socket.on("error", () => resolve()).on("close", () => resolve());
          sockets.push(socket);
        });
      const memory = async () =>
        Number(
          /^process_resident_memory_bytes (\d+)/m.exec(
            await (await fetch(`${inject("webhook")?.url ?? ""}/metrics`)).text(),
          )?.[1],
        );
      const before = await memory();
      for (let round = 0; round < 20; round++)
        await Promise.all(Array.from({ length: 50 }, (_, index) => open(index)));
      const kubeApiserver = await reviewClient(url, "kube-apiserver");
      for (let count = 0; count < 50; count++)
        expect(await kubeApiserver.tokenReview(key.key)).toMatchObject({ authenticated: true });
      const after = await memory();
      process.stderr.write(
        `webhook: 1,000 anonymous clients with half bodies took ${Math.round((after - before) / 1e6)} MB\n`,
      );
      // Without the limit they used 150 MB, and 440 MB with larger incomplete bodies.
      expect(after - before).toBeLessThan(100_000_000);
      kubeApiserver.close();
      for (const socket of sockets) socket.destroy();
    });
  },
);
