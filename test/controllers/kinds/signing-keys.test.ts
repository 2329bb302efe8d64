import { expect, test } from "vitest";
import { ownObjects } from "../../../src/api/names.ts";
import {
  signingKeysKey,
  signingKeysReconciler,
} from "../../../src/controllers/kinds/signing-keys.ts";
import { newSigningKeys, parseSigningKeys } from "../../../src/tokens/signing-keys.ts";
import { refusal } from "../../support/fake-client.ts";
import { ownNamespace, rawSigningKeys } from "../../support/fake-informers.ts";
import { rawObject } from "../../support/fake-list-watch.ts";
import { fakeWorld } from "../../support/world.ts";

async function setup(
  listed: Parameters<typeof fakeWorld>[0],
  options?: Parameters<typeof fakeWorld>[1],
) {
  const found = await fakeWorld(listed, options);
  return { ...found, reconcile: () => found.reconcile(signingKeysReconciler, signingKeysKey) };
}

const day = 86_400_000;
const start = Date.UTC(2026, 0, 1);
const made = newSigningKeys({ namespace: ownNamespace, now: start });
const stored = (annotations: object = {}) => rawSigningKeys(made, { annotations });
const patched = `patch secrets ${ownNamespace}/${ownObjects.signingKeys}`;

test("creates signing keys if there are none", async () => {
  const { client, reconcile } = await setup({});
  expect(await reconcile()).toEqual({ kind: "done" });
  expect(client.lines).toEqual([`create secrets ${ownNamespace}/${ownObjects.signingKeys}`]);
});

test("does not change existing signing keys until they are due", async () => {
  const { client, clock, reconcile } = await setup({ secrets: [stored()] });
  expect(await reconcile()).toEqual({ kind: "requeue-at", at: start + 30 * day });
  expect(client.lines).toEqual([]);
  clock.advance(start + 30 * day - clock.now());
  expect(await reconcile()).toMatchObject({ kind: "requeue-at" });
  expect(client.lines).toEqual([patched]);
});

test("publishes a key on request, and logs no private one", async () => {
  const requested = { "management.service/rotate-signing-key": "2026-01-01T00:00:00Z" };
  const { client, clock, log, reconcile } = await setup({ secrets: [stored(requested)] });
  expect(await reconcile()).toEqual({ kind: "requeue-at", at: clock.now() + 105_000 });
  expect(client.lines).toEqual([patched]);
  const { signing } = parseSigningKeys(stored());
  expect(log.lines).toMatchObject([{ fields: { kid: signing.kid, publishes: true, removed: 0 } }]);
  expect(JSON.stringify(log.lines)).not.toContain(signing.privateKey.export({ format: "jwk" }).d);
});

test("never overwrites an invalid Secret", async () => {
  const broken = rawObject({ namespace: ownNamespace, name: ownObjects.signingKeys }, { data: {} });
  const { client, reconcile } = await setup(
    { secrets: [broken] },
    { answer: () => refusal("AlreadyExists") },
  );
  await expect(reconcile()).rejects.toMatchObject({ code: "AlreadyExists" });
  expect(client.lines).toEqual([`create secrets ${ownNamespace}/${ownObjects.signingKeys}`]);
});
