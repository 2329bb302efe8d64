import { expect, test } from "vitest";
import { ownObjects } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import { reconcileSigningKeys } from "../../src/controllers/signing-keys.ts";
import { encodeBody } from "../../src/kube/encode.ts";
import { newSigningKeys } from "../../src/tokens/signing-keys.ts";
import { refusal, ScriptedClient } from "../support/fake-client.ts";
import { ownNamespace, told } from "../support/fake-informers.ts";
import { raw } from "../support/fake-list-watch.ts";

async function around(listed: Parameters<typeof told>[0], client = new ScriptedClient()) {
  const { informers, clock } = await told(listed);
  const deps = {
    client,
    clock,
    namespace: ownNamespace,
    stores: informers.stores,
    observe: () => {},
    recordEvent: async () => {},
    refresh: async () => {},
  };
  return { client, pass: () => reconcileSigningKeys(deps) };
}

const made: unknown = JSON.parse(encodeBody(newSigningKeys({ namespace: ownNamespace, now: 0 })));

test("signing keys are made where there are none", async () => {
  const { client, pass } = await around({});
  expect(await pass()).toEqual({ kind: "done" });
  expect(client.lines).toEqual([`create secrets ${ownNamespace}/${ownObjects.signingKeys}`]);
});

test("signing keys that are there are left alone", async () => {
  const { client, pass } = await around({
    secrets: [raw(recordAt(made, "metadata"), { data: recordAt(made, "data") })],
  });
  await pass();
  expect(client.lines).toEqual([]);
});

test("a Secret in their place that cannot be read is never overwritten", async () => {
  const broken = raw({ namespace: ownNamespace, name: ownObjects.signingKeys }, { data: {} });
  const { client, pass } = await around(
    { secrets: [broken] },
    new ScriptedClient(() => refusal("AlreadyExists")),
  );
  await expect(pass()).rejects.toMatchObject({ code: "AlreadyExists" });
  expect(client.lines).toEqual([`create secrets ${ownNamespace}/${ownObjects.signingKeys}`]);
});
