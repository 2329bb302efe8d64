import { beforeAll, describe, expect, inject, it } from "vitest";
import {
  admin,
  answered,
  arrange,
  ask,
  latchkeyAccount,
  makeNamespace,
  patchTypes,
  unique,
} from "../support/policy-request.ts";

const controller = latchkeyAccount("latchkey-controller");
const sourceUid = { "management.service/source-uid": "7d1f" };
const component = { "management.service/component": "signing-keys" };
const placeholder = { "management.service/sharedsecret-name": "db" };
const copyOf = { "management.service/copy-of": "a/db -> b/db" };
const data = { password: "aHVudGVyMg==" };
let secrets: string;

beforeAll(async () => {
  secrets = `/api/v1/namespaces/${await makeNamespace()}/secrets`;
});

interface SecretShape {
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  type?: string;
}

const secret = ({ labels = {}, annotations = {}, type = "Opaque" }: SecretShape) => ({
  metadata: { name: unique("own"), labels, annotations },
  type,
  data,
});

/** Creates a Secret as the administrator; returns its path. */
async function made(shape: SecretShape): Promise<string> {
  const { metadata } = await arrange({ method: "POST", path: secrets, body: secret(shape) });
  return `${secrets}/${metadata.name}`;
}

const creations: { rule: string; shape: SecretShape; code: number }[] = [
  { rule: "can create a copy", shape: { labels: sourceUid, annotations: copyOf }, code: 201 },
  { rule: "can create its own Secret", shape: { labels: component }, code: 201 },
  { rule: "cannot create a Secret without a label", shape: {}, code: 403 },
  {
    rule: "cannot create a Secret with only the annotation",
    shape: { annotations: copyOf },
    code: 403,
  },
  {
    rule: "cannot create a bootstrap token",
    shape: { labels: sourceUid, type: "bootstrap.kubernetes.io/token" },
    code: 403,
  },
  {
    rule: "cannot create a Helm release",
    shape: { labels: sourceUid, type: "helm.sh/release.v1" },
    code: 403,
  },
  {
    rule: "cannot create a service account token",
    shape: {
      labels: sourceUid,
      type: "kubernetes.io/service-account-token",
      annotations: { "kubernetes.io/service-account.name": "default" },
    },
    code: 403,
  },
];

const updates: { rule: string; shape: SecretShape; patch: SecretShape | object; code: number }[] = [
  {
    rule: "can update a copy",
    shape: { labels: sourceUid, annotations: copyOf },
    patch: {},
    code: 200,
  },
  {
    rule: "can fill a placeholder",
    shape: { labels: placeholder },
    patch: { labels: sourceUid },
    code: 200,
  },
  {
    rule: "can restore the label of a copy",
    shape: { annotations: copyOf },
    patch: { labels: sourceUid },
    code: 200,
  },
  {
    rule: "cannot update a copy without restoring its label",
    shape: { annotations: copyOf },
    patch: {},
    code: 403,
  },
  {
    rule: "cannot take over an unmanaged Secret",
    shape: {},
    patch: { labels: sourceUid, annotations: copyOf },
    code: 403,
  },
  {
    rule: "cannot remove the label from its own Secret",
    shape: { labels: sourceUid, annotations: copyOf },
    patch: { labels: { "management.service/source-uid": null } },
    code: 403,
  },
];

const deletions: { rule: string; shape: SecretShape; code: number }[] = [
  { rule: "can delete a copy", shape: { labels: sourceUid, annotations: copyOf }, code: 200 },
  { rule: "can delete a copy that lost its label", shape: { annotations: copyOf }, code: 200 },
  { rule: "cannot delete an unmanaged Secret", shape: {}, code: 403 },
  {
    rule: "cannot delete a labelled Helm release",
    shape: { labels: sourceUid, type: "helm.sh/release.v1" },
    code: 403,
  },
];

describe.skipIf(!inject("hasPolicies"))("Latchkey's controller", () => {
  it.each(creations)("$rule", async ({ shape, code }) => {
    const answer = await ask(controller, {
      method: "POST",
      path: `${secrets}?dryRun=All`,
      body: secret(shape),
    });
    expect(answer).toMatchObject(answered(code, `${controller.user} may not create Secret`));
    expect(answer.message ?? "").not.toContain(data.password);
  });

  it.each(updates)("$rule", async ({ shape, patch, code }) => {
    const body = { metadata: patch, data: { password: "c2VzYW1l" } };
    const answer = await ask(controller, {
      method: "PATCH",
      path: await made(shape),
      type: patchTypes.merge,
      body,
    });
    expect(answer).toMatchObject(answered(code, `${controller.user} may not update Secret`));
    expect(answer.message ?? "").not.toContain("c2VzYW1l");
  });

  it.each(deletions)("$rule", async ({ shape, code }) => {
    const answer = await ask(controller, {
      method: "DELETE",
      path: `${await made(shape)}?dryRun=All`,
    });
    expect(answer).toMatchObject(answered(code, `${controller.user} may not delete Secret`));
  });
});

it("other users can write Secrets as before", async () => {
  expect(
    await ask(admin, { method: "POST", path: `${secrets}?dryRun=All`, body: secret({}) }),
  ).toMatchObject({ code: 201 });
});
