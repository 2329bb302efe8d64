import { describe, expect, test } from "vitest";
import { annotations, cleanupFinalizer, labels } from "../../../src/api/names.ts";
import { recordAt } from "../../../src/api/parse.ts";
import { endFailure, noteFailure } from "../../../src/controllers/failures.ts";
import { copyReconciler } from "../../../src/controllers/kinds/copy.ts";
import { sharedSecretReconciler } from "../../../src/controllers/kinds/shared-secret.ts";
import { requesterHash } from "../../../src/domain/grants/granted-names.ts";
import {
  projectNamespace,
  rawCopy,
  rawSharedSecret,
  rawSigningKeys,
} from "../../support/fake-informers.ts";
import { rawObject, type RawObject } from "../../support/fake-list-watch.ts";
import { grantedVerbs } from "../../support/observed-objects.ts";
import { rawRequested } from "../../support/requester-objects.ts";
import { fakeWorld } from "../../support/world.ts";

async function setup(...given: Parameters<typeof fakeWorld>) {
  const { enqueued, listWatch, ...found } = await fakeWorld(...given);
  const emitting =
    (type: "ADDED" | "MODIFIED" | "DELETED") => (plural: string, object: RawObject) =>
      listWatch.emit(plural, type, object);
  return {
    added: emitting("ADDED"),
    modified: emitting("MODIFIED"),
    deleted: emitting("DELETED"),
    ...found,
    enqueued: () => [...new Set(enqueued.splice(0))].toSorted(),
    heard: () => [...new Set(enqueued)],
  };
}

const pay = projectNamespace("pay");
const db = rawSharedSecret("db");

const terminating = { deletionTimestamp: "2026-01-01T00:00:00Z" };
/** The metadata of a SharedSecret whose copies have this name. */
const copiedAs = (name: string) => ({
  metadata: {
    annotations: { [annotations.syncToProjects]: "web", [annotations.syncSecretName]: name },
  },
});

describe("a SharedSecret", () => {
  test("enqueues itself and each target when it is new", async () => {
    const { added, enqueued } = await setup({ namespaces: [pay] });
    added("sharedsecrets", db);
    expect(enqueued()).toEqual(["copy pay/db normal", "sharedSecret team/db high"]);
  });

  test("enqueues its targets when its data changes, with a higher priority where no copy exists", async () => {
    const { modified, enqueued } = await setup({
      namespaces: [pay],
      sharedsecrets: [db],
      secrets: [rawCopy("db", "pay"), rawCopy("db", "left")],
    });
    modified("sharedsecrets", rawSharedSecret("db", { data: { password: "b3RoZXI=" } }));
    expect(enqueued()).toEqual([
      "copy left/db normal",
      "copy pay/db low",
      "sharedSecret team/db high",
    ]);
  });

  test("enqueues only itself when its status or a display name changes", async () => {
    const { modified, enqueued } = await setup({ namespaces: [pay], sharedsecrets: [db] });
    modified("sharedsecrets", { ...rawSharedSecret("db"), status: { keys: 1 } });
    expect(enqueued()).toEqual(["sharedSecret team/db high"]);
  });

  test("enqueues its former targets, too, when the name of its copies changes", async () => {
    const { modified, enqueued } = await setup({ namespaces: [pay], sharedsecrets: [db] });
    modified("sharedsecrets", rawSharedSecret("db", copiedAs("other")));
    expect(enqueued()).toEqual([
      "copy pay/db normal",
      "copy pay/other normal",
      "sharedSecret team/db high",
    ]);
  });

  test("has not failed because the former one of its name has", async () => {
    const { deleted, world } = await setup({ namespaces: [pay], sharedsecrets: [db] });
    const failure = { kind: "refused", reason: "Contested", message: "no" } as const;
    noteFailure(sharedSecretReconciler, "team/db", failure, world, 600_000);
    deleted("sharedsecrets", db);
    expect(world.memory.failures.sharedSecret.size).toBe(0);
  });

  test("enqueues its targets and conflicting sources when it is being deleted or gone", async () => {
    const conflicting = rawSharedSecret("other", copiedAs("db"));
    const { modified, enqueued } = await setup({
      namespaces: [pay],
      sharedsecrets: [db, conflicting],
    });
    modified("sharedsecrets", rawSharedSecret("db", { metadata: terminating }));
    expect(enqueued()).toEqual([
      "copy pay/db normal",
      "sharedSecret team/db high",
      "sharedSecret team/other low",
    ]);
  });
});

describe("a namespace", () => {
  test("without sync enqueues the status of the sources that name its project", async () => {
    const { added, enqueued } = await setup({
      sharedsecrets: [db, rawSharedSecret("ops", { projects: "ops" })],
    });
    added("namespaces", projectNamespace("pay", { sync: "true" }));
    expect(enqueued()).toEqual(["sharedSecret team/db in 100 ms"]);
  });

  const inside = {
    sharedsecrets: [db, rawSharedSecret("ops", { projects: "ops" })],
    secrets: [rawCopy("gone", "pay")],
  };

  test("enqueues its targets, its existing copies and the status of its sources when it joins a project", async () => {
    const { added, enqueued } = await setup(inside);
    added("namespaces", projectNamespace("pay"));
    expect(enqueued()).toEqual([
      "copy pay/db high",
      "copy pay/gone high",
      "sharedSecret team/db in 100 ms",
    ]);
  });

  test("enqueues former and new targets when its project changes", async () => {
    const { modified, enqueued } = await setup({ ...inside, namespaces: [pay] });
    modified("namespaces", projectNamespace("pay", { project: "ops" }));
    expect(enqueued()).toEqual([
      "copy pay/db high",
      "copy pay/gone high",
      "copy pay/ops high",
      "sharedSecret team/db in 100 ms",
      "sharedSecret team/ops in 100 ms",
    ]);
  });

  test("is not contested because the former one of its name was", async () => {
    const { deleted, world } = await setup({ ...inside, namespaces: [pay] });
    const { memory } = world;
    const last = { intent: "same", repairs: 9, at: 0 };
    for (const at of ["pay/db", "web/db"]) {
      memory.repairs.set(` secrets/${at}`, last);
      const failure = { kind: "refused", reason: "Contested", message: "no" } as const;
      noteFailure(copyReconciler, at, failure, world, 600_000);
    }
    deleted("namespaces", pay);
    expect([...memory.repairs.keys()]).toEqual([" secrets/web/db"]);
    for (const at of ["pay/db", "web/db"]) endFailure(copyReconciler, at, world);
    expect([...memory.failures.copy.keys()]).toEqual(["web/db"]);
  });

  test("enqueues nothing for other changes", async () => {
    const { modified, enqueued } = await setup({ ...inside, namespaces: [pay] });
    modified("namespaces", { ...pay, status: { phase: "Active" } });
    expect(enqueued()).toEqual([]);
  });

  test("enqueues its SharedSecrets when it is terminating", async () => {
    const { modified, enqueued } = await setup({
      ...inside,
      namespaces: [rawObject({ name: "team" })],
    });
    modified("namespaces", rawObject({ name: "team", ...terminating }));
    expect(enqueued()).toEqual(["sharedSecret team/db high", "sharedSecret team/ops high"]);
  });
});

describe("a Secret", () => {
  test("with Latchkey's label is enqueued at once, and the status of its source with a delay", async () => {
    const { added, enqueued } = await setup({ namespaces: [pay], sharedsecrets: [db] });
    added("secrets", rawCopy("db", "pay"));
    expect(enqueued()).toEqual(["copy pay/db high", "sharedSecret team/db in 100 ms"]);
  });

  test("enqueues the status of its source with a longer delay while copies are queued", async () => {
    const listed = { namespaces: [pay], sharedsecrets: [db] };
    const { added, enqueued } = await setup(listed, { depth: 1 });
    added("secrets", rawCopy("db", "pay"));
    expect(enqueued()).toEqual(["copy pay/db high", "sharedSecret team/db in 1000 ms"]);
  });

  test("that no source requests is enqueued, with the status of its owner", async () => {
    const { added, enqueued } = await setup({ sharedsecrets: [db] });
    added("secrets", rawCopy("db", "left"));
    expect(enqueued()).toEqual(["copy left/db high", "sharedSecret team/db in 100 ms"]);
  });

  test("without Latchkey's label is enqueued at targets only", async () => {
    const { added, enqueued } = await setup({ namespaces: [pay], sharedsecrets: [db] });
    added("secrets", rawObject({ namespace: "pay", name: "db" }));
    added("secrets", rawObject({ namespace: "pay", name: "other" }));
    expect(enqueued()).toEqual(["copy pay/db high", "sharedSecret team/db in 100 ms"]);
  });
});

describe("a derived Role or RoleBinding", () => {
  const role = (name: string, metadata: Readonly<Record<string, unknown>> = {}) =>
    rawObject({ namespace: "team", name, ...metadata }, { rules: [] });

  test.for<[string, Readonly<Record<string, unknown>>, readonly string[]]>([
    [
      "enqueues its source",
      { labels: { [labels.sourceUid]: "uid-db" } },
      ["sharedSecret team/db high"],
    ],
    [
      "without a source enqueues a reconcile that deletes orphaned objects, and those that may want its name",
      { labels: { [labels.sourceUid]: "gone" }, annotations: { [annotations.source]: "old" } },
      ["sharedSecret team/db high", "sharedSecret team/old high"],
    ],
    [
      "without a source and its name enqueues a reconcile in the namespace",
      { labels: { [labels.sourceUid]: "gone" } },
      ["sharedSecret team/db high", "sharedSecret team/latchkey-db-0123456789abcdef high"],
    ],
    [
      "that is unmanaged and owned by a SharedSecret enqueues like any unmanaged one",
      {
        ownerReferences: [
          { apiVersion: "management.service/v1", kind: "SharedSecret", name: "gone", uid: "gone" },
        ],
      },
      ["sharedSecret team/db high"],
    ],
    [
      "that is unmanaged enqueues all sources whose derived name it may have",
      {},
      ["sharedSecret team/db high"],
    ],
  ])("%s", async ([, metadata, expected]) => {
    const other = rawSharedSecret("other");
    const { added, deleted, enqueued } = await setup({ sharedsecrets: [db, other] });
    added("roles", role("latchkey-db-0123456789abcdef", metadata));
    expect(enqueued()).toEqual(expected);
    deleted("roles", role("latchkey-db-0123456789abcdef", metadata));
    expect(enqueued()).toEqual(expected);
  });
});

describe("keys, tokens and grants", () => {
  const stamp = { annotations: { [annotations.requester]: "ann" }, finalizers: [cleanupFinalizer] };
  const hash = requesterHash("ann");
  const key = (name: string) =>
    rawObject({ name, ...stamp }, { spec: { key: "canary-canary-canary" } });

  test("a key enqueues itself, its duplicates, and its requester's grants", async () => {
    const { added, deleted, enqueued } = await setup({ ownedaccesskeys: [key("a")] });
    added("ownedaccesskeys", key("b"));
    expect(enqueued()).toEqual([`grant ${hash} high`, "key a high", "key b high"]);
    deleted("ownedaccesskeys", key("a"));
    expect(enqueued()).toEqual([`grant ${hash} high`, "key a high", "key b high"]);
  });

  test.each<[string, boolean, object, object]>([
    ["has a new status", false, {}, {}],
    ["gets the finalizer", true, { finalizers: [] }, {}],
    ["loses the finalizer", true, {}, { finalizers: [] }],
    ["has no finalizer before and after", false, { finalizers: [] }, { finalizers: [] }],
    ["is being deleted", true, {}, { deletionTimestamp: "2026-01-02T00:00:00Z" }],
  ])("a token that %s enqueues its requester's grants: %s", async (_what, grant, before, after) => {
    const { modified, enqueued } = await setup({
      directclusterendpointtokens: [rawObject({ name: "t", ...stamp, ...before })],
    });
    modified("directclusterendpointtokens", rawObject({ name: "t", ...stamp, ...after }));
    expect(enqueued()).toEqual([...(grant ? [`grant ${hash} high`] : []), "token t high"]);
  });

  test("a changed role enqueues the objects that it newly names, no longer names, or grants with other verbs", async () => {
    const name = `latchkey-requester-${hash}-0`;
    const rule = (resourceNames: readonly string[], verbs = grantedVerbs("ownedaccesskeys")) => ({
      apiGroups: ["management.service"],
      resources: ["ownedaccesskeys"],
      resourceNames,
      verbs,
    });
    const { modified, enqueued } = await setup({
      clusterroles: [rawObject({ name }, { rules: [rule(["kept", "gone"])] })],
    });
    modified("clusterroles", rawObject({ name }, { rules: [rule(["kept", "new"])] }));
    expect(enqueued()).toEqual([`grant ${hash} high`, "key gone high", "key new high"]);
    modified(
      "clusterroles",
      rawObject({ name }, { rules: [rule(["kept"]), rule(["new"], ["*"])] }),
    );
    expect(enqueued()).toEqual([`grant ${hash} high`, "key new high"]);
  });

  test("a key without spec.key and annotations enqueues only itself", async () => {
    const { added, enqueued } = await setup({});
    added("ownedaccesskeys", rawObject({ name: "a" }));
    expect(enqueued()).toEqual(["key a high"]);
  });

  test("a token enqueues itself and its requester's grants", async () => {
    const { added, enqueued } = await setup({});
    added("directclusterendpointtokens", rawObject({ name: "t", ...stamp }));
    expect(enqueued()).toEqual([`grant ${hash} high`, "token t high"]);
  });

  test("a key of a requester with many keys enqueues the grants with a delay, which batches changes", async () => {
    const many = Array.from({ length: 1_000 }, (_, index) =>
      rawObject({ name: `k${index}`, ...stamp }),
    );
    const { added, enqueued } = await setup({ ownedaccesskeys: many });
    added("ownedaccesskeys", rawObject({ name: "new", ...stamp }));
    expect(enqueued()).toEqual([
      expect.stringMatching(`^grant ${hash} in 100\\.\\d+ ms$`),
      "key new high",
    ]);
  });

  test("a grant enqueues its requester and all objects that it names", async () => {
    const name = `latchkey-requester-${hash}-0`;
    const rules = [
      { resources: ["ownedaccesskeys"], resourceNames: ["a"] },
      { resources: ["directclusterendpointtokens"], resourceNames: ["t"] },
    ];
    const { added, modified, deleted, enqueued } = await setup({
      clusterroles: [rawObject({ name }, { rules })],
    });
    const expected = [`grant ${hash} high`, "key a high", "token t high"];
    added("clusterrolebindings", rawObject({ name }));
    expect(enqueued()).toEqual(expected);
    deleted("clusterroles", rawObject({ name }, { rules }));
    expect(enqueued()).toEqual(expected);
    modified("clusterrolebindings", rawObject({ name }));
    expect(enqueued()).toEqual([`grant ${hash} high`]);
  });

  test("a policy that records requesters enqueues all objects with a requester", async () => {
    const { added, enqueued } = await setup({
      ownedaccesskeys: [key("a")],
      directclusterendpointtokens: [rawObject({ name: "t", ...stamp })],
    });
    added("mutatingadmissionpolicies", rawObject({ name: "latchkey-requester-annotations" }));
    expect(enqueued()).toEqual([`grant ${hash} low`, "key a low", "token t low"]);
  });

  test("signing keys enqueue themselves and every token", async () => {
    const { added, enqueued } = await setup({
      directclusterendpointtokens: [rawObject({ name: "t" })],
    });
    added("secrets", rawSigningKeys());
    expect(enqueued()).toEqual(["signingKeys signing-keys high", "token t low"]);
  });
});

test("a new leader enqueues all objects", async () => {
  const hash = requesterHash("ann");
  const { enqueueAll, enqueued } = await setup({
    namespaces: [pay],
    sharedsecrets: [db],
    secrets: [rawCopy("gone", "pay"), rawCopy("lost", "pay", { metadata: { labels: {} } })],
    roles: [
      rawObject({
        namespace: "team",
        name: "latchkey-a-0123456789abcdef",
        labels: { [labels.sourceUid]: "gone" },
      }),
    ],
    clusterroles: [rawObject({ name: `latchkey-requester-${hash}-0` })],
    ownedaccesskeys: [rawObject({ name: "a" })],
    directclusterendpointtokens: [rawObject({ name: "t" })],
  });
  enqueued();
  await enqueueAll();
  expect(enqueued()).toEqual([
    "copy pay/db low",
    "copy pay/gone low",
    "copy pay/lost low",
    `grant ${hash} low`,
    "key a low",
    "revokedTokens revoked-tokens high",
    "sharedSecret team/db low",
    "sharedSecret team/latchkey-a-0123456789abcdef high",
    "signingKeys signing-keys high",
    "token t low",
  ]);
});

test("a new leader enqueues the keys of one requester after those of another, which batches grants", async () => {
  const by = (name: string) => ({ annotations: { [annotations.requester]: name } });
  const { enqueueAll, heard } = await setup({
    ownedaccesskeys: [
      ["a", "ann"],
      ["b", "bob"],
      ["c", "ann"],
      ["d", "bob"],
    ].map(([name = "", who = ""]) => rawObject({ name, ...by(who) })),
  });
  await enqueueAll();
  expect(heard().filter((line) => line.startsWith("key") && line.endsWith("low"))).toEqual([
    "key a low",
    "key c low",
    "key b low",
    "key d low",
  ]);
});

test("a target enqueues the status of every source that requests it", async () => {
  const { world, enqueued } = await setup({
    namespaces: [pay],
    sharedsecrets: [db, rawSharedSecret("other")],
  });
  world.enqueuer.statusAt({ namespace: "pay", name: "db" });
  expect(enqueued()).toEqual(["sharedSecret team/db in 100 ms"]);
});

describe("a key or token that was created with a key", () => {
  const withKey = (name: string) =>
    rawRequested(name, {
      metadata: {
        annotations: { [annotations.requester]: "ann", [annotations.requesterKeyId]: "uid-k" },
      },
    });
  const listed = {
    ownedaccesskeys: [rawRequested("k"), withKey("child")],
    directclusterendpointtokens: [withKey("token")],
  };

  test("is enqueued when that key changes or is deleted", async () => {
    const { modified, deleted, enqueued } = await setup(listed);
    modified("ownedaccesskeys", rawRequested("k", { spec: { disabled: true } }));
    expect(enqueued()).toEqual(["key child high", "key k high", "token token high"]);
    deleted("ownedaccesskeys", rawRequested("k"));
    expect(enqueued()).toEqual(expect.arrayContaining(["key child high", "token token high"]));
  });

  test("is not enqueued when another key changes", async () => {
    const { modified, enqueued } = await setup(listed);
    modified("ownedaccesskeys", withKey("child"));
    expect(enqueued()).toEqual(["key child high"]);
  });
});

test("a ClusterRole that is a role for scopes enqueues all keys when it is created or deleted", async () => {
  const { added, enqueued } = await setup({ ownedaccesskeys: [rawRequested("k")] });
  added("clusterroles", rawObject({ name: "viewer", labels: { [labels.scopeRole]: "viewer" } }));
  expect(enqueued()).toEqual(["key k low"]);
});

test("the issuers of tokens enqueue the keys that name one, and what was made with them", async () => {
  const requester = { [annotations.requester]: "alice" };
  const rule = { [annotations.issuer]: "https://oidc.example", [annotations.claims]: "sub=main" };
  const made = { ...requester, [annotations.requesterKeyId]: "uid-job" };
  const { added, deleted, enqueued } = await setup({
    ownedaccesskeys: [
      rawRequested("k"),
      rawObject({ name: "job", uid: "uid-job", annotations: { ...requester, ...rule } }),
    ],
    directclusterendpointtokens: [rawObject({ name: "t", annotations: made })],
  });
  const configMap = rawObject({ name: "latchkey-issuers", namespace: "latchkey-system" });
  added("configmaps", configMap);
  expect(enqueued()).toEqual(["key job low", "token t high"]);
  deleted("configmaps", configMap);
  expect(enqueued()).toEqual(["key job low", "token t high"]);
});

describe("a rejected object of a namespace", () => {
  const counts = (count: string) => ({
    secrets: count,
    "count/roles.rbac.authorization.k8s.io": count,
  });
  const quota = (hard: string, used: string) =>
    rawObject(
      { namespace: "pay", name: "few" },
      { status: { hard: counts(hard), used: counts(used) } },
    );
  const refused = (message: string) => ({ kind: "refused", reason: "Forbidden", message }) as const;
  const refusedAccess = {
    conditions: [
      {
        type: "AccessApplied",
        status: "False",
        reason: "AccessRejected",
        message: "exceeded quota: few",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      },
    ],
  };

  async function refusedIn() {
    const found = await setup({
      namespaces: [pay],
      resourcequotas: [quota("5", "5")],
      sharedsecrets: [
        {
          ...rawSharedSecret("own", { metadata: { namespace: "pay", annotations: {} } }),
          status: refusedAccess,
        },
      ],
    });
    for (const target of ["pay/a", "pay/b", "play/d"])
      noteFailure(copyReconciler, target, refused("exceeded quota: few"), found.world);
    noteFailure(copyReconciler, "pay/c", refused("denied by policy"), found.world);
    return found;
  }

  test("is retried as far as its quota has room", async () => {
    const { modified, deleted, enqueued } = await refusedIn();
    modified("resourcequotas", quota("6", "5"));
    expect(enqueued()).toEqual(["copy pay/a retried", "sharedSecret pay/own retried"]);
    modified("resourcequotas", quota("6", "6"));
    expect(enqueued()).toEqual([]);
    deleted("resourcequotas", quota("6", "6"));
    expect(enqueued()).toEqual([
      "copy pay/a retried",
      "copy pay/b retried",
      "sharedSecret pay/own retried",
    ]);
  });

  test("is retried for any change of the namespace", async () => {
    const { modified, enqueued } = await refusedIn();
    const { metadata } = projectNamespace("pay");
    modified(
      "namespaces",
      rawObject({ ...metadata, labels: { ...recordAt(metadata, "labels"), strict: "no" } }),
    );
    expect(enqueued()).toEqual([
      "copy pay/a retried",
      "copy pay/b retried",
      "copy pay/c retried",
      "sharedSecret pay/own retried",
    ]);
  });

  test("is not retried after it was written", async () => {
    const { modified, world, enqueued } = await refusedIn();
    for (const name of ["a", "b"]) endFailure(copyReconciler, `pay/${name}`, world);
    modified("resourcequotas", quota("9", "5"));
    expect(enqueued()).toEqual(["sharedSecret pay/own retried"]);
    expect(world.memory.failures.copy.size).toBe(2);
  });
});

test("an unrecorded expiry is enqueued behind the keys that expire now", async () => {
  const { added, modified, enqueued } = await setup({});
  const ended = {
    conditions: [
      {
        type: "Expired",
        status: "True",
        reason: "Expired",
        message: "",
        lastTransitionTime: "2026-01-01T00:00:00Z",
      },
    ],
  };
  added("ownedaccesskeys", rawRequested("k"));
  expect(enqueued()).toContain("key k high");
  modified("ownedaccesskeys", { ...rawRequested("k"), status: ended });
  expect(enqueued()).toEqual(["key k normal"]);
  modified("ownedaccesskeys", {
    ...rawRequested("k", {
      metadata: { annotations: { [annotations.expiredAt]: "2026-01-01T00:00:00Z" } },
    }),
    status: ended,
  });
  expect(enqueued()).toContain("key k high");
});
