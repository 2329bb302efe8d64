import { expect, test } from "vitest";
import { ownedAccessKeyReconciler } from "../../../src/controllers/kinds/owned-access-key.ts";
import { policies, rawGrant, rawRequested } from "../../support/requester-objects.ts";
import { fakeWorld } from "../../support/world.ts";

const plain = { key: "canary-canary-canary", user: "ann" };
async function reconciled(listed: Parameters<typeof fakeWorld>[0]) {
  const granted = { ...policies, ...rawGrant("ownedaccesskeys", "k"), ...listed };
  const { client, reconcile } = await fakeWorld(granted);
  const result = await reconcile(ownedAccessKeyReconciler, "k");
  const written = JSON.stringify(client.requests.map(({ body }) => body));
  return { result, written, lines: client.lines };
}

test("writes nothing for a key that does not exist", async () => {
  expect(await reconciled({})).toMatchObject({ result: { kind: "done" }, lines: [] });
});

test("reports a valid key as Active", async () => {
  const { lines, written } = await reconciled({
    ownedaccesskeys: [rawRequested("k", { spec: plain })],
  });
  expect(lines).toEqual(["patch ownedaccesskeys k"]);
  expect(written).toContain('"reason":"Active"');
  expect(written).not.toContain("canary");
});

test("requeues a key with a ttl at its expiry, to the second", async () => {
  const { result } = await reconciled({
    ownedaccesskeys: [rawRequested("k", { spec: { ...plain, ttl: 60 } })],
  });
  expect(result).toEqual({ kind: "requeue-at", at: Date.parse("2026-01-01T00:01:00Z") });
});

test("reports the newer of two equal keys as duplicate", async () => {
  const older = rawRequested("older", {
    spec: plain,
    metadata: { creationTimestamp: "2025-06-01T00:00:00Z" },
  });
  const { written } = await reconciled({
    ownedaccesskeys: [rawRequested("k", { spec: plain }), older],
  });
  expect(written).toContain("DuplicateKey");
});

test("reports UnknownRequester without the policies", async () => {
  const { written } = await reconciled({
    validatingadmissionpolicies: [],
    ownedaccesskeys: [rawRequested("k", { spec: plain })],
  });
  expect(written).toContain("UnknownRequester");
});

test("reports MissingKey without spec.key", async () => {
  expect(
    (await reconciled({ ownedaccesskeys: [rawRequested("k", { spec: { user: "ann" } })] })).written,
  ).toContain("MissingKey");
});
