import { expect, test } from "vitest";
import { rotateSigningKey } from "../../../src/client/admin/rotate-signing-key.ts";
import { recordAt, stringAt } from "../../../src/api/parse.ts";
import { encodeBody } from "../../../src/kube/client/request-body.ts";
import { KubeError } from "../../../src/kube/client/kube-error.ts";
import {
  newSigningKeys,
  parseSigningKeys,
  rotationPatch,
} from "../../../src/tokens/signing-keys.ts";
import { rawSigningKeys } from "../../support/fake-informers.ts";
import { TestClock } from "../../support/test-clock.ts";

const namespace = "latchkey-system";
const now = Date.UTC(2026, 0, 1);

async function rotated(secret: object | undefined, newEpoch = false, conflicts = 0) {
  const patches: unknown[] = [];
  let text = "";
  const client = {
    async get() {
      if (secret === undefined) throw new KubeError("x", { code: "NotFound", status: 404 });
      return secret;
    },
    async patch(_resource: unknown, _ref: unknown, { body }: { readonly body: unknown }) {
      patches.push(body);
      if (patches.length <= conflicts) throw new KubeError("x", { code: "Conflict", status: 409 });
    },
  };
  await rotateSigningKey(
    { namespace, newEpoch },
    { client, clock: new TestClock(now), print: (more) => void (text += more) },
  );
  return { patches, text };
}

const done = "secret/latchkey-signing-keys";
const version = { uid: "u", resourceVersion: "7" };
const first = rawSigningKeys(newSigningKeys({ namespace, now }), version);

test("asks for a new key, of the Secret that was read alone", async () => {
  const { patches, text } = await rotated(first);
  expect(patches).toEqual([
    {
      metadata: {
        uid: "u",
        resourceVersion: "7",
        annotations: { "management.service/rotate-signing-key": "2026-01-01T00:00:00Z" },
      },
    },
  ]);
  expect(text).toBe(
    `${done} rotation requested: the controller publishes a new signing key, and signs with it after 105 s\n`,
  );
});

test("asks again after a conflict with another write, five times at most", async () => {
  expect((await rotated(first, false, 4)).patches).toHaveLength(5);
  await expect(rotated(first, false, 5)).rejects.toThrow("x");
});

test("says that a published key signs first", async () => {
  const keys = parseSigningKeys(first);
  const both = rawSigningKeys(rotationPatch(keys, { keys: keys.keys, publishes: true }, now));
  const { patches, text } = await rotated(both);
  const next = parseSigningKeys(both).keys[1]?.kid ?? "";
  expect([patches.length, text]).toEqual([
    1,
    `${done} rotation requested: the key ${next} is published already and signs first; then the controller publishes a new one\n`,
  ]);
});

test("does not ask twice", async () => {
  const annotations = { "management.service/rotate-signing-key": "2026-01-01T00:00:00Z" };
  const asked = rawSigningKeys(newSigningKeys({ namespace, now }), { annotations });
  expect(await rotated(asked)).toEqual({
    patches: [],
    text: `${done} rotation already requested\n`,
  });
});

test("names a missing Secret and what to do", async () => {
  await expect(rotated(undefined)).rejects.toThrow(
    'Secret "latchkey-system/latchkey-signing-keys" does not exist; start latchkey controller',
  );
});

test.for([
  ["a lower epoch", 0, now / 1000],
  ["an epoch that is ahead of the clock", 5_000_000_000, 5_000_000_001],
] as const)("raises %s with --new-epoch, and keeps the keys", async ([, epoch, raised]) => {
  const stored: unknown = JSON.parse(
    Buffer.from(stringAt(recordAt(first, "data"), "keys.json") ?? "", "base64").toString("utf8"),
  );
  const encoded = Buffer.from(JSON.stringify({ ...recordAt({ stored }, "stored"), epoch }));
  const found = { ...first, data: { "keys.json": encoded.toString("base64") } };
  const { patches, text } = await rotated(found, true);
  const sent: unknown = JSON.parse(encodeBody(recordAt({ patch: patches[0] }, "patch")));
  const after = parseSigningKeys({ ...first, data: recordAt(sent, "data") });
  expect(after.epoch).toBe(raised);
  expect(after.signing.kid).toBe(parseSigningKeys(first).signing.kid);
  expect(recordAt(sent, "metadata")).toMatchObject({ ...version, annotations: expect.anything() });
  expect(text).toMatch(
    /^secret\/latchkey-signing-keys set a new epoch of the list of revoked tokens\n.* rotation requested: /,
  );
});

test("raises the epoch while a new key is already requested", async () => {
  const annotations = { "management.service/rotate-signing-key": "2026-01-01T00:00:00Z" };
  const requested = rawSigningKeys(newSigningKeys({ namespace, now }), { ...version, annotations });
  const { patches, text } = await rotated(requested, true);
  expect(patches).toEqual([{ metadata: version, data: { "keys.json": expect.anything() } }]);
  expect(text).toBe(
    `${done} set a new epoch of the list of revoked tokens\n${done} rotation already requested\n`,
  );
});
