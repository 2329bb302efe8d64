import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { annotations, ownObjects } from "../../src/api/names.ts";
import { recordAt, stringAt, stringMapAt } from "../../src/api/parse.ts";
import { trustFlags } from "../../src/domain/webhook/trust-config.ts";
import { get, mergePatch, remove } from "../support/cluster-connection.ts";
import { eventually } from "../support/eventually.ts";
import { policiesCount } from "../support/install.ts";
import { makeRoot, postKey } from "../support/latchkey-objects.ts";
import { askAs } from "../support/key-request.ts";
import type { WebhookProcess } from "../support/latchkey-process.ts";
import { valuesOf } from "../support/controller-vitals.ts";
import {
  hasDedicatedClusters,
  type DedicatedCluster,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { trustWebhook } from "../support/trust.ts";

const secrets = "/api/v1/namespaces/latchkey-system/secrets";
const path = `${secrets}/${ownObjects.webhookCertificates}`;
const warning = /warning: the CA in Secret latchkey-webhook-certificates changed/;

let cluster: DedicatedCluster;
let webhooks: WebhookProcess[] = [];

async function run(): Promise<WebhookProcess> {
  const webhook = await cluster.runWebhook();
  webhooks.push(webhook);
  return webhook;
}

async function again(webhook: WebhookProcess): Promise<void> {
  webhook.start();
  await webhook.waitReady();
}

async function end(webhook: WebhookProcess): Promise<void> {
  webhook.kill("SIGTERM");
  await webhook.exited();
}

async function makeKey(): Promise<string> {
  const key = randomBytes(24).toString("base64url");
  const request = postKey({ generateName: "key-" }, { user: "root", key });
  const made = async () => (await cluster.ask({}, request)).code === 201;
  await eventually(made, { what: "a key to be made", every: 500 });
  return key;
}

/** The status code for a key that was never used before, which is not in any cache. */
async function codeOfNewKey(): Promise<number> {
  return (await askAs(cluster.controlPlane, await makeKey(), get("/api/v1/namespaces"))).code;
}

const becomesGood = () =>
  eventually(async () => (await codeOfNewKey()) === 200, { what: "new keys to work", every: 500 });
const dataOf = async () => stringMapAt(await cluster.arrange(get(path)), "data");
const formerCa = async () =>
  stringMapAt((await cluster.arrange(get(path))).metadata, "annotations")[annotations.formerCa];
const readyz = async ({ url }: WebhookProcess) => {
  const answer = await fetch(`${url}/readyz`);
  return `${answer.status} ${await answer.text()}`;
};
const problem = async ({ url }: WebhookProcess) =>
  valuesOf(
    await (await fetch(`${url}/metrics`)).text(),
    'latchkey_certificate_problem{problem="ca-changed"}',
  );
/** Restarts kube-apiserver with its existing files. */
const restartApiServer = () =>
  cluster.controlPlane.restartApiServer(trustFlags(join(cluster.controlPlane.directory, "trust")));

beforeAll(async () => {
  if (!hasDedicatedClusters) return;
  // No other webhook may run: it would create the Secret of the certificates again.
  cluster = await startDedicatedCluster({ install: "manifests" });
  await cluster.arrange(makeRoot);
  const webhook = await run();
  await webhook.waitReady();
  await trustWebhook(cluster.controlPlane, webhook);
  await cluster.askAtAdmission(webhook);
  await policiesCount(cluster.controlPlane);
  await becomesGood();
});

afterAll(() => cluster?.stop());

describe.skipIf(!hasDedicatedClusters)("the Secret of the webhook's certificates", () => {
  it("is created again unchanged if it is deleted, and keys work after restarts of the webhook and kube-apiserver", async () => {
    const before = await dataOf();
    await cluster.arrange(remove(path));
    const isBack = async () => (await cluster.ask({}, get(path))).code === 200;
    await eventually(isBack, { what: "the Secret to come back" });
    expect((await dataOf())["ca.crt"] === before["ca.crt"]).toBe(true);
    for (const webhook of webhooks) {
      await end(webhook);
      await again(webhook);
    }
    await restartApiServer();
    await becomesGood();
    expect(await Promise.all(webhooks.map(readyz))).toEqual(webhooks.map(() => "200 ok\n"));
    const after = await dataOf();
    expect(Object.keys(before).filter((file) => before[file] !== after[file])).toEqual([]);
  });

  it("is created again unchanged each time, while two replicas run and another one starts", async () => {
    const before = await dataOf();
    const second = await run();
    await second.waitReady();
    for (let turn = 0; turn < 4; turn++) {
      const third = turn === 0 ? await run() : webhooks[2];
      if (third === undefined) throw new Error("no third replica");
      if (turn > 0) third.start();
      await cluster.arrange(remove(path));
      await third.waitReady();
      const after = await dataOf();
      expect(Object.keys(before).filter((file) => before[file] !== after[file])).toEqual([]);
      await end(third);
    }
    webhooks = webhooks.slice(0, 2);
    expect(await Promise.all(webhooks.map(readyz))).toEqual(["200 ok\n", "200 ok\n"]);
    await end(second);
    webhooks = webhooks.slice(0, 1);
  });

  it("is reported if it is invalid, and the webhook continues to serve", async () => {
    const [webhook = await run()] = webhooks;
    const before = await dataOf();
    await cluster.arrange(mergePatch(path, { data: { "tls.key": "Y2FuYXJ5" } }));
    await eventually(
      async () =>
        /^200 ok\nwarning: Secret latchkey-webhook-certificates is invalid/.test(
          await readyz(webhook),
        ),
      { what: "readiness to say so" },
    );
    expect(await codeOfNewKey()).toBe(200);
    await cluster.arrange(remove(path));
    await eventually(async () => (await readyz(webhook)) === "200 ok\n", {
      what: "the Secret to come back",
    });
    expect((await dataOf())["tls.key"] === before["tls.key"]).toBe(true);
  });
});

describe.skipIf(!hasDedicatedClusters)("a CA that kube-apiserver does not trust yet", () => {
  it("is reported by each replica until kube-apiserver trusts it, also after restarts", async () => {
    const [webhook = await run()] = webhooks;
    await end(webhook);
    await cluster.arrange(remove(path));
    await again(webhook);
    expect(await readyz(webhook)).toMatch(/^200 ok\n/);
    await eventually(async () => warning.test(await readyz(webhook)), {
      what: "the changed CA to be reported",
    });
    expect(await problem(webhook)).toEqual([1]);
    await eventually(async () => (await formerCa()) !== undefined, {
      what: "the former CA to be on record",
    });
    const published = async () => {
      const configuration = await cluster.arrange(
        get("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/latchkey"),
      );
      const { webhooks: [first] = [] } = JSON.parse(JSON.stringify(configuration));
      return stringAt(recordAt(first, "clientConfig"), "caBundle") === (await dataOf())["ca.crt"];
    };
    await eventually(published, { what: "the new CA to be published" });
    // The admission path is new as well, and a URL in a configuration is not updated by the
    // webhook.
    await cluster.askAtAdmission(webhook);
    expect(await eventually(codeOfNewKey, { what: "an answer to a key" })).toBe(401);
    await end(webhook);
    await again(webhook);
    await eventually(async () => warning.test(await readyz(webhook)), {
      what: "the changed CA to be reported by a replica that saw nothing of it",
    });
    const lines = readFileSync(webhook.log, "utf8")
      .split("\n")
      .filter((line) => line.includes('"problem":"ca-changed"'));
    expect(lines.map((line) => stringAt(JSON.parse(line), "level"))).toEqual(["warn", "warn"]);

    await trustWebhook(cluster.controlPlane, webhook);
    await becomesGood();
    await eventually(async () => (await readyz(webhook)) === "200 ok\n", {
      what: "the report to end",
    });
    expect(await problem(webhook)).toEqual([0]);
    await eventually(async () => (await formerCa()) === undefined, { what: "the record to go" });
  });
});
