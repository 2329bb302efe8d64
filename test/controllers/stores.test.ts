import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { keyOf } from "../../src/api/object.ts";
import type { Stores } from "../../src/controllers/stores.ts";
import {
  candidatesFor,
  copiesOf,
  emptyProjectsOf,
  observeTarget,
  targetsOf,
} from "../../src/domain/sync/observed-target.ts";
import {
  rawCopy,
  rawSharedSecret,
  projectNamespace,
  syncedInformers,
} from "../support/fake-informers.ts";
import { rawObject } from "../support/fake-list-watch.ts";

const target = { namespace: "pay", name: "db" };

async function storesOf(listed: Parameters<typeof syncedInformers>[0]): Promise<Stores> {
  return (await syncedInformers(listed)).informers.stores;
}

function sourceOf(stores: Stores, name: string) {
  const source = stores.sharedSecrets.get(`team/${name}`);
  if (source === undefined) throw new Error(`${name} is not stored`);
  return source;
}

describe("the targets of a source", () => {
  test("are in every namespace of its projects that accepts copies", async () => {
    const stores = await storesOf({
      namespaces: [
        projectNamespace("pay"),
        projectNamespace("play", { project: "web-2" }),
        projectNamespace("shy", { sync: "no" }),
        projectNamespace("other", { project: "ops" }),
        rawObject({ name: "plain" }),
      ],
      sharedsecrets: [
        rawSharedSecret("db", { projects: "web*" }),
        rawSharedSecret("silent", { projects: "" }),
      ],
    });
    expect(targetsOf(sourceOf(stores, "db"), stores).map(keyOf)).toEqual(["pay/db", "play/db"]);
    expect(targetsOf(sourceOf(stores, "silent"), stores)).toEqual([]);
  });

  test("are in the namespaces that list the source's namespace, if sync-from is required", async () => {
    const namespaces = [
      projectNamespace("open"),
      projectNamespace("choosy", { from: "team" }),
      projectNamespace("other", { from: "ops" }),
    ];
    const { stores } = (
      await syncedInformers({ namespaces, sharedsecrets: [rawSharedSecret("db")] }, () => {}, {
        requireSyncFrom: true,
        copyKeys: [],
      })
    ).informers;
    expect(targetsOf(sourceOf(stores, "db"), stores).map(keyOf)).toEqual(["choosy/db"]);
  });
});

test("projects without a target are reported with what their namespaces lack", async () => {
  const stores = await storesOf({
    namespaces: [
      projectNamespace("pay", { project: "pay" }),
      projectNamespace("shy", { project: "web-1", sync: "true" }),
      projectNamespace("picky", { project: "web-2", from: "elsewhere" }),
      rawObject({
        name: "going",
        deletionTimestamp: "2026-01-01T00:00:00Z",
        labels: { [labels.project]: "gone" },
      }),
    ],
    sharedsecrets: [
      rawSharedSecret("db", { projects: "pay, web-*, web-1, gone, nobody" }),
      rawSharedSecret("silent", { projects: "" }),
    ],
  });
  expect(emptyProjectsOf(sourceOf(stores, "db"), stores)).toEqual([
    { project: "web-*", namespaces: 2, accepting: 1 },
    { project: "web-1", namespaces: 1, accepting: 0 },
    { project: "gone", namespaces: 0, accepting: 0 },
    { project: "nobody", namespaces: 0, accepting: 0 },
  ]);
  expect(emptyProjectsOf(sourceOf(stores, "silent"), stores)).toEqual([]);
});

describe("the candidates for a target", () => {
  const name = { [annotations.syncSecretName]: "db", [annotations.syncToProjects]: "web" };
  const sharedsecrets = [
    rawSharedSecret("young", {
      metadata: { annotations: name, creationTimestamp: "2026-02-01T00:00:00Z" },
    }),
    rawSharedSecret("db"),
    rawSharedSecret("elsewhere", {
      projects: "ops",
      metadata: { annotations: { ...name, [annotations.syncToProjects]: "ops" } },
    }),
    rawSharedSecret("wrong", {
      metadata: { annotations: { ...name, [annotations.disableSync]: "maybe" } },
    }),
  ];

  test("are the eligible and permitted sources of that name, the oldest first", async () => {
    const stores = await storesOf({ namespaces: [projectNamespace("pay")], sharedsecrets });
    expect(candidatesFor(target, stores).map(({ secret }) => secret.metadata.name)).toEqual([
      "db",
      "young",
    ]);
  });

  test.for([
    ["in an unknown namespace", []],
    ["in a namespace without sync", [projectNamespace("pay", { sync: "no" })]],
  ] as const)("are none %s", async ([, namespaces]) => {
    const stores = await storesOf({ namespaces, sharedsecrets });
    expect(candidatesFor(target, stores)).toEqual([]);
    expect(candidatesFor({ name: "db" }, stores)).toEqual([]);
  });
});

describe("the observed target", () => {
  test("contains the existing copy and the source that owns it", async () => {
    const stores = await storesOf({
      namespaces: [projectNamespace("pay")],
      sharedsecrets: [rawSharedSecret("db")],
      secrets: [rawCopy("db", "pay")],
    });
    const seen = observeTarget(target, stores);
    expect(seen).toMatchObject({
      copy: { metadata: { name: "db" } },
      ownerIsNotPermitted: false,
      isTerminating: false,
    });
    expect([seen.owner, seen.candidates[0]]).toEqual([
      sourceOf(stores, "db"),
      sourceOf(stores, "db"),
    ]);
    expect(seen.unmanaged).toBeUndefined();
  });

  test("contains the keys of labels and annotations that its namespace allows", async () => {
    const namespace = rawObject({
      name: "pay",
      annotations: { [annotations.allowCopyKeys]: "synator/*" },
    });
    const allowing = await storesOf({ namespaces: [namespace] });
    expect(observeTarget(target, allowing).allowCopyKeys).toBe("synator/*");
    const plain = { namespaces: [projectNamespace("pay")] };
    expect(observeTarget(target, await storesOf(plain)).allowCopyKeys).toBeUndefined();
    const { informers } = await syncedInformers(plain, () => {}, {
      requireSyncFrom: false,
      copyKeys: ["tier"],
    });
    expect(observeTarget(target, informers.stores).allowCopyKeys).toBe("tier");
  });

  test("contains an unmanaged Secret and the source in its annotation", async () => {
    const lost = rawCopy("db", "pay", { metadata: { labels: {} } });
    const stores = await storesOf({
      namespaces: [projectNamespace("pay")],
      sharedsecrets: [rawSharedSecret("db", { projects: "" })],
      secrets: [lost],
    });
    const seen = observeTarget(target, stores);
    expect(seen).toMatchObject({
      unmanaged: { metadata: { name: "db" } },
      candidates: [],
      ownerIsNotPermitted: true,
    });
    expect(seen.owner).toBe(sourceOf(stores, "db"));
    expect(seen.copy).toBeUndefined();
  });

  test("has no owner if the Secret names none, or its source is gone", async () => {
    const foreign = rawObject({ namespace: "pay", name: "db" });
    const stores = await storesOf({
      namespaces: [projectNamespace("pay")],
      sharedsecrets: [rawSharedSecret("db")],
      secrets: [foreign, rawCopy("gone", "pay")],
    });
    expect(observeTarget(target, stores).owner).toBeUndefined();
    expect(observeTarget({ namespace: "pay", name: "gone" }, stores).owner).toBeUndefined();
  });

  test("is terminating if its namespace is, or is unknown", async () => {
    const stores = await storesOf({
      namespaces: [projectNamespace("going", { deletionTimestamp: "2026-01-01T00:00:00Z" })],
    });
    expect(observeTarget({ namespace: "going", name: "db" }, stores).isTerminating).toBe(true);
    expect(observeTarget({ namespace: "none", name: "db" }, stores).isTerminating).toBe(true);
    expect(observeTarget({ name: "db" }, stores).isTerminating).toBe(true);
  });
});

test("the copies of a source have its annotation, with their own name and namespace, and any label", async () => {
  const pasted = rawCopy("db", "pay", {
    name: "pasted",
    metadata: { annotations: { [annotations.copyOf]: "team/db -> pay/db" } },
  });
  const stores = await storesOf({
    sharedsecrets: [rawSharedSecret("db")],
    secrets: [
      rawCopy("db", "pay"),
      rawCopy("db", "play", { metadata: { labels: {} } }),
      rawCopy("db", "past", { metadata: { labels: { [labels.sourceUid]: "uid-of-the-past" } } }),
      pasted,
      rawCopy("other", "pay"),
      rawObject({ namespace: "pay", name: "bare", labels: { [labels.sourceUid]: "uid-db" } }),
    ],
  });
  expect(
    copiesOf(sourceOf(stores, "db"), stores)
      .map(({ metadata }) => keyOf(metadata))
      .toSorted(),
  ).toEqual(["past/db", "pay/db", "play/db"]);
});
