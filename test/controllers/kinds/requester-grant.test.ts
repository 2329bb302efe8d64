import { expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { deletionOf } from "../../../src/controllers/finalization.ts";
import { requesterGrantReconciler } from "../../../src/controllers/kinds/requester-grant.ts";
import { requesterHash } from "../../../src/domain/grants/granted-names.ts";
import { rawRequested, rawGrant, policies } from "../../support/requester-objects.ts";
import { refusal, type Request } from "../../support/fake-client.ts";
import { rawObject, type RawObject } from "../../support/fake-list-watch.ts";
import { fakeWorld } from "../../support/world.ts";

const hash = requesterHash("ann");
const name = `latchkey-requester-${hash}-0`;

const gone = () => refusal("NotFound", { objectName: "k" });
const notServed = () => refusal("NotFound");

/**
 * Runs a reconcile with these objects in the stores; the API server has the same objects unless
 * `answer` says otherwise.
 */
async function reconciled(
  listed: Parameters<typeof fakeWorld>[0],
  answer?: () => unknown,
  { hasOurFinalizer = false, isDue = false } = {},
) {
  const live = ({ resource, ref }: Request) =>
    listed?.[resource.plural]?.find(({ metadata }) => metadata.name === ref.name) ?? {};
  const { client, clock, log, world, reconcile } = await fakeWorld(
    { ...policies, ...listed },
    {
      answer: (request) =>
        request.verb === "getMetadata" ? (answer ?? (() => live(request)))() : undefined,
    },
  );
  if (hasOurFinalizer) world.memory.finalized.add("uid-k");
  if (isDue) deletionOf("uid-k", world);
  clock.advance(isDue ? 2_000 : 1);
  const next = await reconcile(requesterGrantReconciler, hash);
  const granted = client.requests.flatMap(
    ({ body }) => JSON.stringify(body ?? null).match(/"resourceNames":\[[^\]]*\]/g) ?? [],
  );
  return { next, client, log, granted };
}

test("grants a requester the keys and tokens that it created", async () => {
  const { client, granted: names } = await reconciled({
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

test("grants what it has read while another key appears, which the next reconcile grants", async () => {
  const { client, world, listWatch, reconcile, enqueued } = await fakeWorld(
    { ...policies, ownedaccesskeys: [rawRequested("k")] },
    {
      answer({ verb, ref }) {
        if (verb !== "getMetadata") return undefined;
        if (ref.name === "k") listWatch.emit("ownedaccesskeys", "ADDED", rawRequested("later"));
        return rawRequested(ref.name);
      },
    },
  );
  await reconcile(requesterGrantReconciler, hash);
  expect(client.lines).toEqual([
    "getMetadata ownedaccesskeys k",
    `create clusterroles ${name}`,
    `create clusterrolebindings ${name}`,
  ]);
  expect(world.stores.keys.has("later")).toBe(true);
  expect(enqueued).toContain(`grant ${hash} high`);
});

test.for<[string, Parameters<typeof fakeWorld>[0]]>([
  [
    "without Latchkey's finalizer",
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
    "with an unknown requester",
    { ownedaccesskeys: [rawRequested("k")], mutatingadmissionpolicies: [] },
  ],
])("grants nothing for an object %s", async ([, listed]) => {
  expect((await reconciled(listed)).client.lines).toEqual([]);
});

test.for<[string, () => unknown]>([
  ["gone", gone],
  ["unknown, because the resource is not served", notServed],
  [
    "being deleted",
    () => rawRequested("k", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }),
  ],
  ["another object", () => rawRequested("k", { metadata: { uid: "another" } })],
])("grants nothing for an object that is %s in the API server", async ([, answer]) => {
  const { client } = await reconciled({ ownedaccesskeys: [rawRequested("k")] }, answer);
  expect(client.lines).toEqual(["getMetadata ownedaccesskeys k"]);
});

test("grants an object whose finalizer this leader wrote without a read", async () => {
  const { client } = await reconciled({ ownedaccesskeys: [rawRequested("k")] }, gone, {
    hasOurFinalizer: true,
  });
  expect(client.lines).toEqual([
    `create clusterroles ${name}`,
    `create clusterrolebindings ${name}`,
  ]);
});

test("reads no object that is already granted", async () => {
  const { client } = await reconciled({
    ownedaccesskeys: [rawRequested("k")],
    ...rawGrant("ownedaccesskeys", "k"),
  });
  expect(client.lines).toEqual([]);
});

test("binds a role again once the API server confirms its objects", async () => {
  const { client } = await reconciled({
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

/** A key in the API server, and in a store that may be older. */
const key = (metadata: Readonly<Record<string, unknown>>) => rawRequested("k", { metadata });

test.for<[string, Parameters<typeof fakeWorld>[0], () => unknown]>([
  ["is gone", rawGrant("ownedaccesskeys", "k"), gone],
  [
    "belongs to another requester",
    rawGrant("ownedaccesskeys", "k"),
    () => key({ annotations: { [annotations.requester]: "bob" } }),
  ],
  [
    "has no finalizer",
    {
      ...rawGrant("ownedaccesskeys", "k"),
      ownedaccesskeys: [key({ finalizers: [], resourceVersion: "5" })],
    },
    () => key({ finalizers: [], resourceVersion: "5" }),
  ],
])(
  "revokes a grant of an object that %s, once the API server confirms it",
  async ([, listed, answer]) => {
    const { client } = await reconciled(listed, () => answer());
    expect(client.lines).toEqual(["getMetadata ownedaccesskeys k", ...revoked]);
  },
);

const goingKey = key({ deletionTimestamp: "2026-01-01T00:00:00Z" });

test("keeps a grant of an object that is being deleted for the settle time, and requeues", async () => {
  const { client, next } = await reconciled({
    ...rawGrant("ownedaccesskeys", "k"),
    ownedaccesskeys: [goingKey],
  });
  expect(client.lines).toEqual([]);
  expect(next).toEqual({ kind: "requeue-at", at: Date.UTC(2026, 0, 1) + 1 + 2_000 + 100 });
});

test("revokes a grant of an object that is being deleted after the settle time, without a read", async () => {
  const { client, next } = await reconciled(
    { ...rawGrant("ownedaccesskeys", "k"), ownedaccesskeys: [goingKey] },
    undefined,
    { isDue: true },
  );
  expect([client.lines, next]).toEqual([revoked, { kind: "done" }]);
});

test("grants and binds no object that is being deleted", async () => {
  const unbound = await reconciled({
    ...rawGrant("ownedaccesskeys", "k"),
    clusterrolebindings: [],
    ownedaccesskeys: [goingKey],
  });
  expect(unbound.client.lines).toEqual([`delete clusterroles ${name}`]);
});

test.for<[string, readonly RawObject[]]>([
  ["do not contain yet", []],
  ["contain in an older state", [key({ finalizers: [] })]],
])("keeps a grant of an object that the stores %s, and requeues", async ([, ownedaccesskeys]) => {
  const { client, next } = await reconciled(
    { ...rawGrant("ownedaccesskeys", "k"), ownedaccesskeys },
    () => key({ resourceVersion: "9" }),
  );
  expect(client.lines).toEqual(["getMetadata ownedaccesskeys k"]);
  expect(next).toMatchObject({ kind: "requeue-at" });
});

test("keeps a grant while the resource of its object is not served, and requeues", async () => {
  const { client, next } = await reconciled(rawGrant("ownedaccesskeys", "k"), notServed);
  expect(client.lines).toEqual(["getMetadata ownedaccesskeys k"]);
  expect(next).toMatchObject({ kind: "requeue-at" });
});

test("logs a name that an unmanaged object has", async () => {
  const { log } = await reconciled({
    ownedaccesskeys: [rawRequested("k")],
    clusterroles: [
      rawObject({ name }, { rules: [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }] }),
    ],
  });
  expect(log.lines).toMatchObject([{ level: "warn", fields: { objects: [name] } }]);
});
