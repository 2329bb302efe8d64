import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "js-yaml";
import { beforeAll, expect, it } from "vitest";
import { group } from "../../src/api/names.ts";
import { isRecord, listAt, recordAt } from "../../src/api/parse.ts";
import { repository } from "../support/install.ts";
import {
  admin,
  answered,
  arrange,
  ask,
  latchkeyAccount,
  unique,
  type Answer,
} from "../support/policy-request.ts";
import { create, dryCreate, gone, grantUser, made, withPolicies } from "./policy-fixture.ts";

type Fields = Readonly<Record<string, unknown>>;

const webhook = latchkeyAccount("latchkey-webhook");
const controller = latchkeyAccount("latchkey-controller");
const configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const validating = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const path = `${configurations}/latchkey`;
const caBundle = Buffer.from("-----BEGIN CERTIFICATE-----").toString("base64");
let shipped: Fields;

beforeAll(async () => {
  const manifest: unknown = load(
    readFileSync(join(repository, "config", "webhook", "admission.yaml"), "utf8"),
  );
  // Receives no requests: the webhook does not run in these tests, and they send only dry runs of
  // the stored configuration.
  shipped = isRecord(manifest)
    ? {
        ...manifest,
        webhooks: listAt(manifest, "webhooks")
          .filter(isRecord)
          .map((one) => ({ ...one, matchConditions: [{ name: "never", expression: "false" }] })),
      }
    : {};
  await create(admin, configurations, shipped);
  // RBAC also limits the account by name: here only the policy is tested.
  const both = "mutatingwebhookconfigurations,validatingwebhookconfigurations";
  for (const account of [webhook, controller])
    await grantUser(account, `create,update,delete admissionregistration.k8s.io ${both}`);
});

/** Writes the stored configuration as the caller with each of its webhooks changed. */
async function update(
  caller: typeof webhook,
  change: (webhook: Fields) => Fields,
  rest: (stored: Fields) => Fields = (stored) => stored,
): Promise<Answer> {
  const { code: _code, ...stored } = await arrange({ method: "GET", path });
  const body = rest({
    ...stored,
    webhooks: listAt(stored, "webhooks").filter(isRecord).map(change),
  });
  return ask(caller, { method: "PUT", path: `${path}?dryRun=All`, body });
}

const client =
  (change: Fields) =>
  (one: Fields): Fields => ({
    ...one,
    clientConfig: { ...recordAt(one, "clientConfig"), ...change },
  });
const service =
  (change: Fields) =>
  (one: Fields): Fields =>
    client({ service: { ...recordAt(recordAt(one, "clientConfig"), "service"), ...change } })(one);
const secrets = [
  {
    apiGroups: [""],
    apiVersions: ["*"],
    operations: ["CREATE", "UPDATE"],
    resources: ["secrets"],
    scope: "*",
  },
];

withPolicies("the account of the webhook", () => {
  it("can publish its CA and its path", async () => {
    const answer = await update(webhook, (one) =>
      client({ caBundle })(service({ path: "/secret/admit" })(one)),
    );
    expect(answer).toMatchObject({ code: 200 });
    expect(JSON.stringify(answer.webhooks)).toContain("/secret/admit");
  });

  const a = { matchLabels: { a: "b" } };
  const always = [{ name: "always", expression: "true" }];
  const eve = { url: "https://eve.example.com" };
  const fields =
    (change: Fields) =>
    (one: Fields): Fields => ({ ...one, ...change });
  it.each<[rule: string, change: (one: Fields) => Fields]>([
    ["cannot receive Secrets", fields({ rules: secrets })],
    ["cannot receive other objects of its kinds", fields({ matchConditions: always })],
    ["cannot remove a match condition", fields({ matchConditions: [] })],
    ["cannot add a namespaceSelector", fields({ namespaceSelector: a })],
    ["cannot add an objectSelector", fields({ objectSelector: a })],
    ["cannot fail open", fields({ failurePolicy: "Ignore" })],
    ["cannot set a URL", fields({ clientConfig: eve })],
    ["cannot set another Service", service({ name: "eve" })],
    ["cannot set another namespace", service({ namespace: "default" })],
    ["cannot set another port", service({ port: 8443 })],
    ["cannot rename a webhook", (one) => ({ ...one, name: `other.${String(one.name)}` })],
    ["cannot change a timeout", fields({ timeoutSeconds: 30 })],
  ])("%s", async (_rule, change) => {
    expect(await update(webhook, change)).toMatchObject(
      answered(
        403,
        "only clientConfig.caBundle and clientConfig.service.path of a webhook may change",
      ),
    );
  });

  const webhooksOf = (stored: Fields) => listAt(stored, "webhooks").filter(isRecord);
  const withWebhooks = (change: (webhooks: readonly Fields[]) => unknown) => (stored: Fields) => ({
    ...stored,
    webhooks: change(webhooksOf(stored)),
  });
  const withMetadata = (change: Fields) => (stored: Fields) => ({
    ...stored,
    metadata: { ...recordAt(stored, "metadata"), ...change },
  });
  const withLabel = (name: string) => (stored: Fields) =>
    withMetadata({ labels: { ...recordAt(recordAt(stored, "metadata"), "labels"), [name]: "b" } })(
      stored,
    );
  const more = { name: "more.management.service" };
  it.each<[rule: string, rest: (stored: Fields) => Fields]>([
    ["cannot add a webhook", withWebhooks((all) => [...all, { ...all[0], ...more }])],
    ["cannot remove a webhook", withWebhooks((all) => all.slice(1))],
    ["cannot add an owner that does not exist", withMetadata({ ownerReferences: [gone] })],
    ["cannot remove a label", withMetadata({ labels: { a: "b" } })],
    ["cannot add a label of Latchkey", withLabel(`${group}/a`)],
  ])("%s", async (_rule, rest) => {
    expect(await update(webhook, (one) => one, rest)).toMatchObject(
      answered(403, "webhooks must not be added or removed, and metadata must not change"),
    );
  });

  it("can write a label that a policy of the platform adds", async () => {
    expect(await update(webhook, (one) => one, withLabel("platform"))).toMatchObject({ code: 200 });
  });

  it("cannot create or delete a configuration of either kind", async () => {
    const only = "only the account latchkey-webhook may update MutatingWebhookConfigurations";
    for (const collection of [configurations, validating]) {
      const body = { metadata: { name: unique("own") }, webhooks: [] };
      expect(await dryCreate(webhook, collection, body)).toMatchObject(answered(403, only));
    }
    expect(await ask(webhook, { method: "DELETE", path: `${path}?dryRun=All` })).toMatchObject(
      answered(403, only),
    );
  });

  it("cannot update configurations of other owners", async () => {
    const body = { metadata: { name: unique("others") }, webhooks: [] };
    const others = await made(configurations, body);
    const { code: _, ...stored } = await arrange({ method: "GET", path: others });
    expect(
      await ask(webhook, { method: "PUT", path: `${others}?dryRun=All`, body: stored }),
    ).toMatchObject(answered(403, "may not update MutatingWebhookConfiguration"));
  });

  it("is the only account of Latchkey that can update one", async () => {
    expect(await update(controller, client({ caBundle }))).toMatchObject(
      answered(403, "only the account latchkey-webhook"),
    );
  });
});
