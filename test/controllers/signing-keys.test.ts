import { expect, test } from "vitest";
import { ownObjects } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { reconcileSigningKeys } from "../../src/controllers/signing-keys.ts";
import { encodeBody } from "../../src/kube/encode.ts";
import { newSigningKeys } from "../../src/tokens/signing-keys.ts";
import { refusal, FakeClient } from "../support/fake-client.ts";
import { ownNamespace, syncedInformers } from "../support/fake-informers.ts";
import { rawObject } from "../support/fake-list-watch.ts";

async function setup(listed: Parameters<typeof syncedInformers>[0], client = new FakeClient()) {
  const { informers, clock } = await syncedInformers(listed);
  const deps = {
    client,
    clock,
    namespace: ownNamespace,
    stores: informers.stores,
    recordWrite: () => {},
    recordEvent: async () => {},
    refresh: async () => {},
  };
  return { client, pass: () => reconcileSigningKeys(deps) };
}

const made: unknown = JSON.parse(encodeBody(newSigningKeys({ namespace: ownNamespace, now: 0 })));

test("creates signing keys if there are none", async () => {
  const { client, pass } = await setup({});
  expect(await pass()).toEqual({ kind: "done" });
  expect(client.lines).toEqual([`create secrets ${ownNamespace}/${ownObjects.signingKeys}`]);
});

test("does not change existing signing keys", async () => {
  const { client, pass } = await setup({
    secrets: [rawObject(recordAt(made, "metadata"), { data: recordAt(made, "data") })],
  });
  await pass();
  expect(client.lines).toEqual([]);
});

test("never overwrites an invalid Secret", async () => {
  const broken = rawObject({ namespace: ownNamespace, name: ownObjects.signingKeys }, { data: {} });
  const { client, pass } = await setup(
    { secrets: [broken] },
    new FakeClient(() => refusal("AlreadyExists")),
  );
  await expect(pass()).rejects.toMatchObject({ code: "AlreadyExists" });
  expect(client.lines).toEqual([`create secrets ${ownNamespace}/${ownObjects.signingKeys}`]);
});
