import { expect, test } from "vitest";
import { annotations } from "../../src/api/names.ts";
import { Deletions } from "../../src/controllers/deletions.ts";
import { reconcileRequesterGrant } from "../../src/controllers/requester-grant.ts";
import { requesterHash } from "../../src/domain/grants/granted-names.ts";
import { allFailures } from "./recording-failures.ts";
import { rawRequested, rawGrant, policies } from "../support/requester-objects.ts";
import { TestClock } from "../support/test-clock.ts";
import { refusal, type Request, FakeClient } from "../support/fake-client.ts";
import { syncedInformers } from "../support/fake-informers.ts";
import { rawObject, type RawObject } from "../support/fake-list-watch.ts";

const hash = requesterHash("ann");
const name = `latchkey-requester-${hash}-0`;

const gone = () => refusal("NotFound", { objectName: "k" });
const notServed = () => refusal("NotFound");

/**
 * A pass over what the stores were told; the API server says the same of an object unless `answer`
 * does otherwise.
 */
async function passOver(
  listed: Parameters<typeof syncedInformers>[0],
  answer?: () => unknown,
  { isHeldByUs = false, isDue = false } = {},
) {
  const { informers, log } = await syncedInformers({ ...policies, ...listed });
  const live = ({ resource, ref }: Request) =>
    listed?.[resource.plural]?.find(({ metadata }) => metadata.name === ref.name) ?? {};
  const client = new FakeClient((request) =>
    request.verb === "getMetadata" ? (answer ?? (() => live(request)))() : {},
  );
  const clock = new TestClock();
  const deletions = new Deletions(clock);
  if (isDue) deletions.seenAt("uid-k");
  clock.advance(isDue ? 2_000 : 1);
  const next = await reconcileRequesterGrant(hash, {
    ...allFailures(clock),
    deletions,
    grantSettleTime: 2_000,
    client,
    clock,
    log,
    stores: informers.stores,
    held: { has: () => isHeldByUs },
    recordWrite: () => {},
    recordEvent: async () => {},
    refresh: async () => {},
  });
  return {
    next,
    client,
    log,
    granted: client.requests.flatMap(
      ({ body }) => JSON.stringify(body ?? null).match(/"resourceNames":\[[^\]]*\]/g) ?? [],
    ),
  };
}

test("a requester is granted the keys and tokens that it asked for", async () => {
  const { client, granted: names } = await passOver({
    ownedaccesskeys: [rawRequested("k")],
    directclusterendpointtokens: [rawRequested("t")],
  });
  expect(client.lines).toEqual([
    "getMetadata ownedaccesskeys k",
    "getMetadata directclusterendpointtokens t",
    `create clusterroles ${name}`,
    `create clusterrolebindings ${name}`,
  ]);
  expect(names.toSorted()).toEqual(['"resourceNames":["k"]', '"resourceNames":["t"]']);
});

test.for<[string, Parameters<typeof syncedInformers>[0]]>([
  [
    "that Latchkey does not hold yet",
    { ownedaccesskeys: [rawRequested("k", { metadata: { finalizers: [] } })] },
  ],
  [
    "that is being deleted",
    {
      ownedaccesskeys: [
        rawRequested("k", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
      ],
    },
  ],
  [
    "whose requester is not certain",
    { ownedaccesskeys: [rawRequested("k")], mutatingadmissionpolicies: [] },
  ],
])("nobody is granted what asks for it but %s", async ([, listed]) => {
  expect((await passOver(listed)).client.lines).toEqual([]);
});

test.for<[string, () => unknown]>([
  ["gone", gone],
  ["not known, as the kind is not served", notServed],
  [
    "being deleted",
    () => rawRequested("k", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
  ],
  ["another object by now", () => rawRequested("k", { metadata: { uid: "another" } })],
])("nobody is granted what the API server says is %s", async ([, answer]) => {
  const { client } = await passOver({ ownedaccesskeys: [rawRequested("k")] }, answer);
  expect(client.lines).toEqual(["getMetadata ownedaccesskeys k"]);
});

test("what this leader holds itself is granted without a question", async () => {
  const { client } = await passOver({ ownedaccesskeys: [rawRequested("k")] }, gone, {
    isHeldByUs: true,
  });
  expect(client.lines).toEqual([
    `create clusterroles ${name}`,
    `create clusterrolebindings ${name}`,
  ]);
});

test("what is granted already needs no question", async () => {
  const { client } = await passOver({
    ownedaccesskeys: [rawRequested("k")],
    ...rawGrant("ownedaccesskeys", "k"),
  });
  expect(client.lines).toEqual([]);
});

test("a role that lost its binding is bound again once the API server says that its objects are there", async () => {
  const { client } = await passOver({
    ownedaccesskeys: [rawRequested("k")],
    ...rawGrant("ownedaccesskeys", "k"),
    clusterrolebindings: [],
  });
  expect(client.lines).toEqual([
    "getMetadata ownedaccesskeys k",
    `create clusterrolebindings ${name}`,
  ]);
});

const revoked = [`delete clusterrolebindings ${name}`, `delete clusterroles ${name}`];

/** A key in the API server's words, and in a store that may be older. */
const key = (metadata: Readonly<Record<string, unknown>>) => rawRequested("k", { metadata });

test.for<[string, Parameters<typeof syncedInformers>[0], () => unknown]>([
  ["is gone", rawGrant("ownedaccesskeys", "k"), gone],
  [
    "somebody else asked for",
    rawGrant("ownedaccesskeys", "k"),
    () => key({ annotations: { [annotations.requester]: "bob" } }),
  ],
  [
    "Latchkey does not hold",
    {
      ...rawGrant("ownedaccesskeys", "k"),
      ownedaccesskeys: [key({ finalizers: [], resourceVersion: "5" })],
    },
    () => key({ finalizers: [], resourceVersion: "5" }),
  ],
])("a grant of what %s is taken back, once the API server says so", async ([, listed, answer]) => {
  const { client } = await passOver(listed, () => answer());
  expect(client.lines).toEqual(["getMetadata ownedaccesskeys k", ...revoked]);
});

const goingKey = key({ deletionTimestamp: "2026-01-01T00:00:00Z" });

test("a grant of what is being deleted stays for the settle time, and is looked at again then", async () => {
  const { client, next } = await passOver({
    ...rawGrant("ownedaccesskeys", "k"),
    ownedaccesskeys: [goingKey],
  });
  expect(client.lines).toEqual([]);
  expect(next).toEqual({ kind: "requeue-at", at: Date.UTC(2026, 0, 1) + 1 + 2_000 + 100 });
});

test("a grant of what is being deleted is taken back after the settle time, without a question", async () => {
  const { client, next } = await passOver(
    { ...rawGrant("ownedaccesskeys", "k"), ownedaccesskeys: [goingKey] },
    undefined,
    { isDue: true },
  );
  expect([client.lines, next]).toEqual([revoked, { kind: "done" }]);
});

test("what is being deleted is granted to nobody anew, nor bound again", async () => {
  const unbound = await passOver({
    ...rawGrant("ownedaccesskeys", "k"),
    clusterrolebindings: [],
    ownedaccesskeys: [goingKey],
  });
  expect(unbound.client.lines).toEqual([`delete clusterroles ${name}`]);
});

test.for<[string, readonly RawObject[]]>([
  ["have not told of yet", []],
  ["know as it was before", [key({ finalizers: [] })]],
])("a grant of what the stores %s stands, and is looked at again", async ([, ownedaccesskeys]) => {
  const { client, next } = await passOver(
    { ...rawGrant("ownedaccesskeys", "k"), ownedaccesskeys },
    () => key({ resourceVersion: "9" }),
  );
  expect(client.lines).toEqual(["getMetadata ownedaccesskeys k"]);
  expect(next).toMatchObject({ kind: "requeue-at" });
});

test("a grant stands while the kind of what it names is not served, and is looked at again", async () => {
  const { client, next } = await passOver(rawGrant("ownedaccesskeys", "k"), notServed);
  expect(client.lines).toEqual(["getMetadata ownedaccesskeys k"]);
  expect(next).toMatchObject({ kind: "requeue-at" });
});

test("a name that somebody else holds is logged", async () => {
  const { log } = await passOver({
    ownedaccesskeys: [rawRequested("k")],
    clusterroles: [
      rawObject({ name }, { rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }] }),
    ],
  });
  expect(log.lines).toMatchObject([{ level: "warn", fields: { names: [name] } }]);
});
