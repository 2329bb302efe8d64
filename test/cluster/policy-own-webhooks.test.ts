import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "js-yaml";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { isRecord, listAt, recordAt } from "../../src/api/parse.ts";
import { repository } from "../support/install.ts";
import {
  allow,
  answered,
  arrange,
  ask,
  latchkeyAccount,
  unique,
  type Answer,
} from "../support/policy-request.ts";

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
  await ask({}, { method: "POST", path: configurations, body: shipped });
  // RBAC also limits the account by name: here only the policy is tested.
  const rules = [
    {
      apiGroups: ["admissionregistration.k8s.io"],
      resources: ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
      verbs: ["create", "update", "delete"],
    },
  ];
  for (const { user = "" } of [webhook, controller])
    await allow({ kind: "User", name: user }, rules);
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

describe.skipIf(!inject("hasPolicies"))("the account of the webhook", () => {
  it("can publish its CA and its path", async () => {
    const answer = await update(webhook, (one) =>
      client({ caBundle })(service({ path: "/secret/admit" })(one)),
    );
    expect(answer).toMatchObject({ code: 200 });
    expect(JSON.stringify(answer.webhooks)).toContain("/secret/admit");
  });

  const refused: { rule: string; change: (one: Fields) => Fields }[] = [
    { rule: "cannot receive Secrets", change: (one) => ({ ...one, rules: secrets }) },
    {
      rule: "cannot receive other objects of its kinds",
      change: (one) => ({ ...one, matchConditions: [{ name: "always", expression: "true" }] }),
    },
    { rule: "cannot remove a match condition", change: (one) => ({ ...one, matchConditions: [] }) },
    {
      rule: "cannot add a namespaceSelector",
      change: (one) => ({ ...one, namespaceSelector: { matchLabels: { a: "b" } } }),
    },
    {
      rule: "cannot add an objectSelector",
      change: (one) => ({ ...one, objectSelector: { matchLabels: { a: "b" } } }),
    },
    { rule: "cannot fail open", change: (one) => ({ ...one, failurePolicy: "Ignore" }) },
    {
      rule: "cannot set a URL",
      change: (one) => ({ ...one, clientConfig: { url: "https://eve.example.com" } }),
    },
    { rule: "cannot set another Service", change: service({ name: "eve" }) },
    { rule: "cannot set another namespace", change: service({ namespace: "default" }) },
    { rule: "cannot set another port", change: service({ port: 8443 }) },
    {
      rule: "cannot rename a webhook",
      change: (one) => ({ ...one, name: `other.${String(one.name)}` }),
    },
    { rule: "cannot change a timeout", change: (one) => ({ ...one, timeoutSeconds: 30 }) },
  ];
  it.each(refused)("$rule", async ({ change }) => {
    expect(await update(webhook, change)).toMatchObject(
      answered(
        403,
        "only clientConfig.caBundle and clientConfig.service.path of a webhook may change",
      ),
    );
  });

  const wholes: { rule: string; rest: (stored: Fields) => Fields }[] = [
    {
      rule: "cannot add a webhook",
      rest: (stored) => ({
        ...stored,
        webhooks: [
          ...listAt(stored, "webhooks"),
          {
            ...recordAt({ first: listAt(stored, "webhooks")[0] }, "first"),
            name: "more.management.service",
          },
        ],
      }),
    },
    {
      rule: "cannot remove a webhook",
      rest: (stored) => ({ ...stored, webhooks: listAt(stored, "webhooks").slice(1) }),
    },
    {
      rule: "cannot add an owner that does not exist",
      rest: (stored) => ({
        ...stored,
        metadata: {
          ...recordAt(stored, "metadata"),
          ownerReferences: [{ apiVersion: "v1", kind: "Namespace", name: "gone", uid: "0" }],
        },
      }),
    },
    {
      rule: "cannot change a label",
      rest: (stored) => ({
        ...stored,
        metadata: { ...recordAt(stored, "metadata"), labels: { a: "b" } },
      }),
    },
  ];
  it.each(wholes)("$rule", async ({ rest }) => {
    expect(await update(webhook, (one) => one, rest)).toMatchObject(
      answered(403, "webhooks must not be added or removed, and metadata must not change"),
    );
  });

  it("cannot create or delete a configuration of either kind", async () => {
    const only = "only the account latchkey-webhook may update MutatingWebhookConfigurations";
    for (const collection of [configurations, validating]) {
      expect(
        await ask(webhook, {
          method: "POST",
          path: `${collection}?dryRun=All`,
          body: { metadata: { name: unique("own") }, webhooks: [] },
        }),
      ).toMatchObject(answered(403, only));
    }
    expect(await ask(webhook, { method: "DELETE", path: `${path}?dryRun=All` })).toMatchObject(
      answered(403, only),
    );
  });

  it("cannot update configurations of other owners", async () => {
    const name = unique("others");
    const { code: _, ...stored } = await arrange({
      method: "POST",
      path: configurations,
      body: { metadata: { name }, webhooks: [] },
    });
    expect(
      await ask(webhook, {
        method: "PUT",
        path: `${configurations}/${name}?dryRun=All`,
        body: stored,
      }),
    ).toMatchObject(answered(403, "may not update MutatingWebhookConfiguration"));
  });

  it("is the only account of Latchkey that can update one", async () => {
    expect(await update(controller, client({ caBundle }))).toMatchObject(
      answered(403, "only the account latchkey-webhook"),
    );
  });
});
