import { beforeAll, expect, it } from "vitest";
import {
  admin,
  answered,
  ask,
  bind,
  latchkeyAccount,
  makeNamespace,
  unique,
} from "../support/policy-request.ts";
import { dryCreate, made, merge, withPolicies } from "./policy-fixture.ts";

const controller = latchkeyAccount("latchkey-controller");
const sourceUid = { "management.service/source-uid": "7d1f" };
const component = { "management.service/component": "signing-keys" };
const placeholder = { "management.service/sharedsecret-name": "db" };
const copyOf = { "management.service/copy-of": "a/db -> b/db" };
const data = { password: "aHVudGVyMg==" };
const connectedAccounts = [
  "latchkey-direct-endpoint",
  "latchkey-direct-authorizer",
  "latchkey-gateway",
] as const;
const agent = latchkeyAccount("latchkey-cluster-agent");
let secrets: string;

beforeAll(async () => {
  const namespace = await makeNamespace();
  secrets = `/api/v1/namespaces/${namespace}/secrets`;
  for (const { user = "" } of [...connectedAccounts.map(latchkeyAccount), agent])
    await bind({ kind: "User", name: user }, "edit", namespace);
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

const stored = (shape: SecretShape): Promise<string> => made(secrets, secret(shape));

const copy = { labels: sourceUid, annotations: copyOf };
const unlabelled = { annotations: copyOf };
const helmRelease = { labels: sourceUid, type: "helm.sh/release.v1" };

withPolicies("Latchkey's controller", () => {
  it.each<[rule: string, shape: SecretShape, code: number]>([
    ["can create a copy", copy, 201],
    ["can create its own Secret", { labels: component }, 201],
    ["cannot create a Secret without a label", {}, 403],
    ["cannot create a Secret with only the annotation", unlabelled, 403],
    [
      "cannot create a bootstrap token",
      { labels: sourceUid, type: "bootstrap.kubernetes.io/token" },
      403,
    ],
    ["cannot create a Helm release", helmRelease, 403],
    [
      "cannot create a service account token",
      {
        labels: sourceUid,
        type: "kubernetes.io/service-account-token",
        annotations: { "kubernetes.io/service-account.name": "default" },
      },
      403,
    ],
  ])("%s", async (_rule, shape, code) => {
    const answer = await dryCreate(controller, secrets, secret(shape));
    expect(answer).toMatchObject(answered(code, `${controller.user} may not create Secret`));
    expect(answer.message ?? "").not.toContain(data.password);
  });

  const unlabel = { labels: { "management.service/source-uid": null } };
  it.each<[rule: string, shape: SecretShape, metadata: object, code: number]>([
    ["can update a copy", copy, {}, 200],
    ["can fill a placeholder", { labels: placeholder }, { labels: sourceUid }, 200],
    ["can restore the label of a copy", unlabelled, { labels: sourceUid }, 200],
    ["cannot update a copy without restoring its label", unlabelled, {}, 403],
    ["cannot take over an unmanaged Secret", {}, copy, 403],
    ["cannot remove the label from its own Secret", copy, unlabel, 403],
  ])("%s", async (_rule, shape, metadata, code) => {
    const body = { metadata, data: { password: "c2VzYW1l" } };
    const answer = await merge(controller, await stored(shape), body);
    expect(answer).toMatchObject(answered(code, `${controller.user} may not update Secret`));
    expect(answer.message ?? "").not.toContain("c2VzYW1l");
  });

  it.each<[rule: string, shape: SecretShape, code: number]>([
    ["can delete a copy", copy, 200],
    ["can delete a copy that lost its label", unlabelled, 200],
    ["cannot delete an unmanaged Secret", {}, 403],
    ["cannot delete a labelled Helm release", helmRelease, 403],
  ])("%s", async (_rule, shape, code) => {
    const path = `${await stored(shape)}?dryRun=All`;
    expect(await ask(controller, { method: "DELETE", path })).toMatchObject(
      answered(code, `${controller.user} may not delete Secret`),
    );
  });
});

withPolicies("the accounts of Latchkey in a connected cluster", () => {
  it.each(connectedAccounts)(
    "%s cannot create a token of another one, and keeps its own Secrets",
    async (name) => {
      const account = latchkeyAccount(name);
      const token = secret({
        labels: { "management.service/component": `${name}-certificates` },
        type: "kubernetes.io/service-account-token",
        annotations: { "kubernetes.io/service-account.name": "latchkey-gateway" },
      });
      expect(await dryCreate(account, secrets, token)).toMatchObject(
        answered(403, `${account.user} may not create Secret`),
      );
      const own = { labels: component };
      expect(await dryCreate(account, secrets, secret(own))).toMatchObject({ code: 201 });
      const change = { data: { password: "c2VzYW1l" } };
      expect(await merge(account, await stored(own), change)).toMatchObject({ code: 200 });
      expect(await merge(account, await stored({}), change)).toMatchObject({ code: 403 });
    },
  );
});

const outboxUid = { "management.service/outbox-uid": "7d1f" };
const agentCopyOf = { "management.service/copy-of": "east//a/db -> b/db" };
const agentCopy = { labels: outboxUid, annotations: agentCopyOf };

withPolicies("the agent of a connected cluster", () => {
  it.each<[rule: string, shape: SecretShape, code: number]>([
    ["can create a copy", agentCopy, 201],
    ["cannot create a copy of the Latchkey of that cluster", copy, 403],
    ["cannot create a Secret without a label", {}, 403],
    ["cannot create a Secret of Latchkey itself", { labels: component }, 403],
    ["cannot create a placeholder", { labels: placeholder }, 403],
    ["cannot create a Helm release", { ...helmRelease, labels: outboxUid }, 403],
    [
      "cannot create a bootstrap token",
      { labels: outboxUid, type: "bootstrap.kubernetes.io/token" },
      403,
    ],
    [
      "cannot create a service account token",
      {
        labels: outboxUid,
        type: "kubernetes.io/service-account-token",
        annotations: { "kubernetes.io/service-account.name": "default" },
      },
      403,
    ],
  ])("%s", async (_rule, shape, code) => {
    const answer = await dryCreate(agent, secrets, secret(shape));
    expect(answer).toMatchObject(answered(code, `${agent.user} may not create Secret`));
  });

  const foreign = { labels: { ...placeholder, ...sourceUid } };
  it.each<[rule: string, shape: SecretShape, metadata: object, code: number]>([
    ["can update a copy", agentCopy, {}, 200],
    ["can fill a placeholder", { labels: placeholder }, { labels: outboxUid }, 200],
    ["can annotate a placeholder", { labels: placeholder }, { annotations: { a: "b" } }, 200],
    ["can restore the label of a copy", { annotations: agentCopyOf }, { labels: outboxUid }, 200],
    ["cannot take over a copy of that Latchkey", copy, { labels: outboxUid }, 403],
    ["cannot take over one that lost its label", unlabelled, { labels: outboxUid }, 403],
    ["cannot take over a placeholder that is filled", foreign, { labels: outboxUid }, 403],
    ["cannot take over a Secret of Latchkey", { labels: component }, { labels: outboxUid }, 403],
    ["cannot take over an unmanaged Secret", {}, { labels: outboxUid }, 403],
  ])("%s", async (_rule, shape, metadata, code) => {
    const body = { metadata, data: { password: "c2VzYW1l" } };
    const answer = await merge(agent, await stored(shape), body);
    expect(answer).toMatchObject(answered(code, `${agent.user} may not update Secret`));
  });

  const empty = { labels: { "management.service/outbox-uid": null } };
  it("can empty what it has filled, without a label", async () => {
    const body = { metadata: empty, data: { password: "" } };
    expect(await merge(agent, await stored(agentCopy), body)).toMatchObject({ code: 200 });
    const kept = { metadata: empty };
    expect(await merge(agent, await stored(agentCopy), kept)).toMatchObject({ code: 403 });
  });

  it.each<[rule: string, shape: SecretShape, code: number]>([
    ["can delete a copy", agentCopy, 200],
    ["can delete a copy that lost its label", { annotations: agentCopyOf }, 200],
    ["cannot delete a copy of that Latchkey", copy, 403],
    ["cannot delete an unmanaged Secret", {}, 403],
  ])("%s", async (_rule, shape, code) => {
    const path = `${await stored(shape)}?dryRun=All`;
    expect(await ask(agent, { method: "DELETE", path })).toMatchObject(
      answered(code, `${agent.user} may not delete Secret`),
    );
  });

  it("cannot write a ConfigMap, whatever its label", async () => {
    const configMaps = secrets.replace("/secrets", "/configmaps");
    const labelled = { metadata: { name: unique("own"), labels: outboxUid } };
    expect(await dryCreate(agent, configMaps, labelled)).toMatchObject(
      answered(403, "writes only Secrets"),
    );
    const path = `${await made(configMaps, labelled)}?dryRun=All`;
    expect(await ask(agent, { method: "DELETE", path })).toMatchObject({ code: 403 });
  });
});

withPolicies("the Latchkey of a connected cluster", () => {
  const filled = { labels: { ...placeholder, ...outboxUid } };
  it.each<[rule: string, shape: SecretShape]>([
    ["a copy", agentCopy],
    ["a copy that lost its label", { annotations: agentCopyOf }],
    ["a placeholder that is filled", filled],
  ])("cannot take over what the agent has written: %s", async (_what, shape) => {
    const body = { metadata: { labels: sourceUid }, data: { password: "c2VzYW1l" } };
    expect(await merge(controller, await stored(shape), body)).toMatchObject(
      answered(403, `${controller.user} may not update Secret`),
    );
    const path = `${await stored(shape)}?dryRun=All`;
    expect(await ask(controller, { method: "DELETE", path })).toMatchObject({ code: 403 });
  });

  it("cannot create a Secret with the label of the agent", async () => {
    const answer = await dryCreate(controller, secrets, secret(agentCopy));
    expect(answer).toMatchObject(answered(403, "must contain a label of Latchkey"));
  });
});

it("other users can write Secrets as before", async () => {
  expect(await dryCreate(admin, secrets, secret({}))).toMatchObject({ code: 201 });
});
