import { beforeAll, expect, it } from "vitest";
import { annotations, labels, ownLabel, ownObjects } from "../../src/api/names.ts";
import { outboxNamespace } from "../../src/domain/outbox/outbox-names.ts";
import {
  answered,
  api,
  as,
  type Caller,
  latchkeyAccount,
  unique,
} from "../support/policy-request.ts";
import {
  collectionOf,
  grantUser,
  made,
  manifest,
  merge,
  root,
  withPolicies,
} from "./policy-fixture.ts";

/** Rewrites each object unchanged, so that it is stored in another version or with another key. */
const migrator: Caller = {
  user: "system:serviceaccount:kube-system:storage-version-migrator-controller",
};
/** Has no other right, so it could read a Secret in the answer to a change of nothing. */
const patcher: Caller = { user: unique("patcher") };
const outbox = outboxNamespace(unique("migrated"));
const inOutbox = (plural: string): string => `/api/v1/namespaces/${outbox}/${plural}`;
/** A Secret that the controller alone can create. */
async function secretOfOutbox(): Promise<string> {
  const { code, metadata } = await as(latchkeyAccount("latchkey-controller")).create(
    inOutbox("secrets"),
    {
      metadata: { name: unique("stored"), labels: { [labels.outboxUid]: "7d1f" } },
      type: "management.service/outbox",
    },
  );
  expect(code).toBe(201);
  return `${inOutbox("secrets")}/${metadata.name}`;
}

beforeAll(async () => {
  await api.create("/api/v1/namespaces", { metadata: { name: outbox, labels: ownLabel } });
  for (const by of [migrator, patcher]) await grantUser(by, "patch * *");
});

/** The objects that policies guard, by what stores one. */
const stored: Readonly<Record<string, () => Promise<string>>> = {
  "a SharedSecret that is shared": () => {
    const shared = { [annotations.syncToProjects]: "web", [annotations.syncToClusters]: "east" };
    return made(
      collectionOf("namespaces/default/sharedsecrets"),
      manifest("SharedSecret", { annotations: shared }),
    );
  },
  "an access key": () =>
    made(collectionOf("ownedaccesskeys"), manifest("OwnedAccessKey", {}, { user: "alice" })),
  "a direct token": () =>
    made(collectionOf("directclusterendpointtokens"), manifest("DirectClusterEndpointToken")),
  "a namespace of a project": () =>
    made("/api/v1/namespaces", {
      metadata: { name: unique("placed"), labels: { [labels.project]: "web" } },
    }),
  "the namespace of an outbox": async () => `/api/v1/namespaces/${outbox}`,
  "a Secret of an outbox": secretOfOutbox,
  "a report in an outbox": () => made(inOutbox("configmaps"), { metadata: { name: "report-0" } }),
  "the Lease of an agent": () =>
    made(`/apis/coordination.k8s.io/v1/namespaces/${outbox}/leases`, {
      metadata: { name: ownObjects.agentLease },
    }),
};

withPolicies("a migration of stored objects", () => {
  it.each(Object.entries(stored))("rewrites %s", async (_what, store) => {
    const path = await store();
    const { metadata, kind, apiVersion } = await api.get(path);
    const { resourceVersion } = metadata;
    const unchanged = { apiVersion, kind, metadata: { resourceVersion } };
    expect(await merge(migrator, path, unchanged)).toMatchObject(answered(200, ""));
  });
});

withPolicies("a Secret of an outbox", () => {
  const refusal = "only the controller of Latchkey writes Secrets";
  it.each<[rule: string, by: Caller, change: object, refusal?: string]>([
    ["is not changed by a migration", migrator, { data: { a: "eA==" } }, refusal],
    ["gets no label by a migration", migrator, { metadata: { labels: { a: "b" } } }, refusal],
    ["is not changed by an administrator", root, { data: { a: "eA==" } }, refusal],
    ["is not read by a user who may patch all", patcher, {}, "requires the verb connect"],
  ])("%s", async (_rule, by, change, text) => {
    const answer = await merge(by, `${await secretOfOutbox()}?dryRun=All`, change);
    expect(answer).toMatchObject(answered(text === undefined ? 200 : 403, text ?? ""));
  });

  // As `kubectl get secrets -A -o json | kubectl replace -f -` does.
  it("is written unchanged by an administrator", async () => {
    const path = await secretOfOutbox();
    const { metadata, type } = await api.get(path);
    const read = { metadata: { ...metadata, managedFields: undefined }, type };
    expect(await as(root).replace(path, read)).toMatchObject(answered(200, ""));
  });
});
