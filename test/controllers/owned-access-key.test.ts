import { expect, test } from "vitest";
import { createKeyResolver } from "../../src/authn/key-resolver.ts";
import { Deletions } from "../../src/controllers/deletions.ts";
import { reconcileOwnedAccessKey } from "../../src/controllers/owned-access-key.ts";
import { allFailures } from "./recording-failures.ts";
import { rawRequested, rawGrant, policies } from "../support/requester-objects.ts";
import { FakeClient } from "../support/fake-client.ts";
import { syncedInformers } from "../support/fake-informers.ts";

const plain = { key: "canary-canary-canary", user: "ann" };
const config = {
  maximumKeyTtl: 0,
  namespace: "latchkey-system",
  prefixes: { user: "", team: "" },
  deleteExpiredKeysAfter: undefined,
};

async function reconciled(listed: Parameters<typeof syncedInformers>[0], name = "k") {
  const { informers, clock } = await syncedInformers({
    ...policies,
    ...rawGrant("ownedaccesskeys", "k"),
    ...listed,
  });
  const client = new FakeClient();
  const { stores } = informers;
  const keyResolver = createKeyResolver({
    keys: stores.keys,
    policies: stores.requesterPolicies,
    config,
  });
  const releasing = { deletions: new Deletions(clock), grantSettleTime: 2_000 };
  const result = await reconcileOwnedAccessKey(name, {
    ...releasing,
    ...allFailures(clock),
    client,
    clock,
    config,
    stores,
    keyResolver,
    recordWrite: () => {},
    recordDelete: () => {},
    recordEvent: async () => {},
    refresh: async () => {},
  });
  return {
    result,
    written: JSON.stringify(client.requests.map(({ body }) => body)),
    lines: client.lines,
  };
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
