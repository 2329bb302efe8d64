import { decodeJwt } from "jose";
import { expect, test } from "vitest";
import { createKeyResolver } from "../../src/authn/key-resolver.ts";
import { recordAt } from "../../src/api/parse.ts";
import { SecretText } from "../../src/api/secret-text.ts";
import { Deletions } from "../../src/controllers/deletions.ts";
import { reconcileEndpointToken } from "../../src/controllers/endpoint-token.ts";
import { Revocations } from "../../src/controllers/revocations.ts";
import { TokenQuota } from "../../src/controllers/token-quota.ts";
import { encodeBody } from "../../src/kube/encode.ts";
import { newSigningKeys } from "../../src/tokens/signing-keys.ts";
import { allFailures } from "./recording-failures.ts";
import { rawRequested, rawGrant, policies } from "../support/requester-objects.ts";
import { FakeClient } from "../support/fake-client.ts";
import { ownNamespace, syncedInformers } from "../support/fake-informers.ts";
import { rawObject } from "../support/fake-list-watch.ts";

const made: unknown = JSON.parse(encodeBody(newSigningKeys({ namespace: ownNamespace, now: 0 })));
const keys = { secrets: [rawObject(recordAt(made, "metadata"), { data: recordAt(made, "data") })] };
const config = {
  issuer: "https://issuer",
  audience: "aud",
  maximumTokenTtl: 86_400,
  deleteExpiredTokensAfter: 3600,
  quotaTokens: 2,
  quotaExempt: [],
};

async function reconciled(
  listed: Parameters<typeof syncedInformers>[0],
  tokenQuota = new TokenQuota(config),
  { grantSettleTime = 2_000 } = {},
) {
  const { informers, clock } = await syncedInformers({ ...policies, ...listed });
  const client = new FakeClient();
  const { stores } = informers;
  const keyResolver = createKeyResolver({
    keys: stores.keys,
    policies: stores.requesterPolicies,
    config: { maximumKeyTtl: 0, namespace: "latchkey-system", prefixes: { user: "", team: "" } },
  });
  const due: string[] = [];
  const revocations = new Revocations({ clock, stores, onDue: () => void due.push("due") });
  const releasing = { deletions: new Deletions(clock), grantSettleTime };
  const result = await reconcileEndpointToken("t", {
    ...releasing,
    revocations,
    ...allFailures(clock),
    client,
    clock,
    config,
    namespace: ownNamespace,
    stores,
    keyResolver,
    tokenQuota,
    recordWrite: () => {},
    recordDelete: () => {},
    recordEvent: async () => {},
    refresh: async () => {},
  });
  const status = recordAt(recordAt(client.requests[0]?.body, "body"), "status");
  return { result, lines: client.lines, status, due, requests: client.requests };
}

const token = { directclusterendpointtokens: [rawRequested("t")] };

test("writes nothing for a token that does not exist", async () => {
  expect(await reconciled({})).toMatchObject({ result: { kind: "done" }, lines: [] });
});

test("mints a token for its requester once the grant exists", async () => {
  const { status, lines } = await reconciled({
    ...token,
    ...keys,
    ...rawGrant("directclusterendpointtokens", "t"),
  });
  const minted = status["token"] instanceof SecretText ? SecretText.reveal(status["token"]) : "";
  expect(decodeJwt(minted)).toMatchObject({
    sub: "ann",
    iss: "https://issuer",
    aud: "aud",
    jti: "uid-t",
  });
  expect(lines).toEqual(["patch directclusterendpointtokens t"]);
});

test("waits ten seconds for the grant without a status write", async () => {
  const { lines, result } = await reconciled({ ...token, ...keys });
  expect([lines, result]).toEqual([
    [],
    { kind: "requeue-at", at: Date.parse("2026-01-01T00:00:10Z") },
  ]);
});

test("waits for signing keys without a status write: their event enqueues the token", async () => {
  const { lines, status } = await reconciled({
    ...token,
    ...rawGrant("directclusterendpointtokens", "t"),
  });
  expect([lines, status]).toEqual([[], {}]);
});

test("does not mint a token while its requester is at the quota, including deleted tokens", async () => {
  const quota = new TokenQuota(config);
  const endsAt = Date.parse("2026-01-01T00:30:00Z");
  for (const uid of ["deleted-1", "deleted-2"]) quota.take({ requester: "ann", uid, endsAt }, 0);
  const waiting = await reconciled(
    { ...token, ...keys, ...rawGrant("directclusterendpointtokens", "t") },
    quota,
  );
  expect(waiting).toMatchObject({
    lines: ["patch directclusterendpointtokens t"],
    result: { kind: "requeue-at", at: endsAt },
  });
  expect(waiting.status["token"]).toBeUndefined();
  expect(waiting.status["conditions"]).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ type: "Ready", status: "False", reason: "TooManyTokens" }),
      expect.objectContaining({ type: "Reconciling", status: "True" }),
    ]),
  );
});

const deleting = {
  metadata: {
    deletionTimestamp: "2026-01-01T00:00:00Z",
    finalizers: ["management.service/cleanup"],
  },
};
const status = { token: "x", keyID: "kid", expiresAt: "2026-01-01T01:00:00Z" };
const listed = (data: Readonly<Record<string, string>>) => ({
  configmaps: [
    rawObject(
      {
        namespace: ownNamespace,
        name: "latchkey-revoked-0",
        labels: { "management.service/component": "revoked-tokens" },
      },
      { data },
    ),
  ],
});
const releases = (requests: FakeClient["requests"]) =>
  requests.filter(({ body }) =>
    Object.hasOwn(recordAt(recordAt(body, "body"), "metadata"), "finalizers"),
  ).length;

test.for([
  ["keeps its finalizer until its entry is listed", status, {}, [0, 1]],
  ["loses its finalizer once its entry is listed", status, { "uid-t": status.expiresAt }, [1, 0]],
  [
    "keeps its finalizer while its entry ends early",
    status,
    { "uid-t": "2026-01-01T00:30:00Z" },
    [0, 1],
  ],
  ["needs no entry if it was never minted", { expiresAt: status.expiresAt }, {}, [1, 0]],
  [
    "needs no entry if it has expired",
    { ...status, expiresAt: "2026-01-01T00:00:00Z" },
    {},
    [1, 0],
  ],
] as const)("a deleted token %s", async ([, current, data, expected]) => {
  const { due, requests } = await reconciled(
    {
      directclusterendpointtokens: [{ ...rawRequested("t", deleting), status: current }],
      ...listed(data),
    },
    new TokenQuota(config),
    { grantSettleTime: 0 },
  );
  expect([releases(requests), due.length]).toEqual(expected);
});

test("the status of a token keeps the expiry until the entry is listed", async () => {
  const { annotations } = rawRequested("t").metadata;
  const parent = {
    metadata: {
      annotations: {
        ...recordAt({ annotations }, "annotations"),
        "management.service/requester-key-id": "gone",
      },
    },
  };
  const invalid = { directclusterendpointtokens: [{ ...rawRequested("t", parent), status }] };
  const waiting = await reconciled({ ...invalid, ...listed({}) });
  expect([waiting.lines, waiting.due]).toEqual([[], ["due"]]);
});
