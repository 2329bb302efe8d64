import { isDeepStrictEqual as isEqual } from "node:util";
import { decodeJwt } from "jose";
import { expect, test } from "vitest";
import { recordAt } from "../../../src/api/parse.ts";
import { SecretText } from "../../../src/api/secret-text.ts";
import { endpointTokenReconciler } from "../../../src/controllers/kinds/endpoint-token.ts";
import { revokedTokensKey } from "../../../src/controllers/queues.ts";
import {
  type CountedToken,
  nextTokenEnd,
  takeTokenQuota,
} from "../../../src/controllers/token-quota.ts";
import { type FakeClient, refusal, type Request } from "../../support/fake-client.ts";
import { ownNamespace, rawSigningKeys } from "../../support/fake-informers.ts";
import { rawObject, type RawObject } from "../../support/fake-list-watch.ts";
import { policies, rawGrant, rawRequested } from "../../support/requester-objects.ts";
import { fakeWorld } from "../../support/world.ts";

const keys = { secrets: [rawSigningKeys()] };

async function reconciled(
  listed: Parameters<typeof fakeWorld>[0],
  {
    counted = [],
    grantSettleTime = 2_000,
    answer,
  }: {
    counted?: readonly CountedToken[];
    grantSettleTime?: number;
    answer?: (request: Request) => unknown;
  } = {},
) {
  const options = { quotaTokens: 2, grantSettleTime };
  const found = await fakeWorld(
    { ...policies, ...listed },
    { options, ...(answer === undefined ? {} : { answer }) },
  );
  const { client, enqueued, world } = found;
  for (const one of counted) takeTokenQuota(one, 0, world);
  const result = await found.reconcile(endpointTokenReconciler, "t");
  const status = recordAt(recordAt(client.requests[0]?.body, "body"), "status");
  const isDue = enqueued.includes(`revokedTokens ${revokedTokensKey} high`);
  const { requests } = client;
  return { result, lines: client.lines, status, isDue, requests, world };
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
  const { lines, status, world } = await reconciled({
    ...token,
    ...rawGrant("directclusterendpointtokens", "t"),
  });
  expect([lines, status]).toEqual([[], {}]);
  expect(nextTokenEnd("ann", world)).toBe(Infinity);
});

test("does not mint a token while its requester is at the quota, including deleted tokens", async () => {
  const endsAt = Date.parse("2026-01-01T00:30:00Z");
  const counted = ["deleted-1", "deleted-2"].map((uid) => ({ requester: "ann", uid, endsAt }));
  const waiting = await reconciled(
    { ...token, ...keys, ...rawGrant("directclusterendpointtokens", "t") },
    { counted },
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

test("counts a token that is already minted", async () => {
  const minted = {
    ...rawRequested("t"),
    status: { token: "x", expiresAt: "2026-01-01T01:00:00Z" },
  };
  const { world } = await reconciled({ directclusterendpointtokens: [minted] });
  expect(nextTokenEnd("ann", world)).toBe(Date.parse("2026-01-01T01:00:00Z"));
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
  ["keeps its finalizer until its entry is listed", status, {}, [0, true]],
  [
    "loses its finalizer once its entry is listed",
    status,
    { "uid-t": status.expiresAt },
    [1, false],
  ],
  [
    "keeps its finalizer while its entry ends early",
    status,
    { "uid-t": "2026-01-01T00:30:00Z" },
    [0, true],
  ],
  ["needs no entry if it was never minted", { expiresAt: status.expiresAt }, {}, [1, false]],
  [
    "needs no entry if it has expired",
    { ...status, expiresAt: "2026-01-01T00:00:00Z" },
    {},
    [1, false],
  ],
] as const)("a deleted token %s", async ([, current, data, expected]) => {
  const { isDue, requests } = await reconciled(
    {
      directclusterendpointtokens: [{ ...rawRequested("t", deleting), status: current }],
      ...listed(data),
    },
    { grantSettleTime: 0 },
  );
  expect([releases(requests), isDue]).toEqual(expected);
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
  expect([waiting.lines, waiting.isDue]).toEqual([[], true]);
});

const again = { kind: "requeue-at", at: Date.parse("2026-01-01T00:00:01Z") };
test.for<[string, (token: RawObject, key: RawObject) => readonly unknown[], boolean]>([
  ["is current", (live, key) => [live, key], true],
  ["is gone", (_, key) => [undefined, key], false],
  ["is another one", (live, key) => [changed(live, { uid: "new" }), key], false],
  ["has changed", (live, key) => [changed(live, { resourceVersion: "9" }), key], false],
  [
    "has a parent key that has changed",
    (live, key) => [live, changed(key, { resourceVersion: "9" })],
    false,
  ],
  ["has a parent key that is gone", (live) => [live, undefined], false],
])(
  "a listed token that %s in the API server is no longer revoked: %s",
  async ([, liveOf, isLifted]) => {
    const { annotations } = rawRequested("t").metadata;
    const parent = {
      ...recordAt({ annotations }, "annotations"),
      "management.service/requester-key-id": "uid-parent",
    };
    const token = { ...rawRequested("t", { metadata: { annotations: parent } }), status };
    const key = rawRequested("parent", { spec: { user: "ann", key: "k".repeat(40) } });
    const live = liveOf(token, key);
    const { isDue, result, lines } = await reconciled(
      {
        directclusterendpointtokens: [token],
        ownedaccesskeys: [key],
        ...listed({ "uid-t": status.expiresAt }),
      },
      {
        answer: ({ verb, resource, ref }) =>
          verb === "getMetadata"
            ? (live[resource.plural === "ownedaccesskeys" ? 1 : 0] ??
              refusal("NotFound", { objectName: ref.name }))
            : {},
      },
    );
    expect(lines.slice(0, 2)).toEqual([
      "getMetadata directclusterendpointtokens t",
      "getMetadata ownedaccesskeys parent",
    ]);
    expect([isDue, isEqual(result, again)]).toEqual([isLifted, !isLifted]);
  },
);

function changed(object: RawObject, metadata: object): RawObject {
  return { ...object, metadata: { ...object.metadata, ...metadata } };
}
