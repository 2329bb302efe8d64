import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../../src/api/names.ts";
import { keyOf, type ObjectRef } from "../../../src/api/object.ts";
import type { Resource } from "../../../src/api/resources.ts";
import { rightText } from "../../../src/client/missing-right.ts";
import { readSyncObjects, type WantedSync } from "../../../src/client/explain/sync-objects.ts";
import { KubeError } from "../../../src/kube/client/kube-error.ts";
import type { ListOptions } from "../../../src/kube/informer/list-options.ts";
import { selects } from "../../../src/kube/informer/raw-object.ts";
import { fakeCluster } from "../fake-cluster.ts";

const plain = "cGxhaW4=";

function object(ref: ObjectRef, metadata: object, rest: object = {}) {
  const base = { uid: keyOf(ref), resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" };
  return { metadata: { ...ref, ...base, ...metadata }, ...rest };
}

const copyOf = { [annotations.copyOf]: "team/db -> web/db" };
const stored: Readonly<Record<string, readonly ReturnType<typeof object>[]>> = {
  namespaces: [
    object(
      { name: "web" },
      { labels: { [labels.project]: "web" }, annotations: { [annotations.sync]: "enabled" } },
    ),
    object({ name: "team" }, {}),
  ],
  sharedsecrets: [
    object(
      { namespace: "team", name: "db" },
      { annotations: { [annotations.syncToProjects]: "web" } },
      { spec: { data: { a: plain } } },
    ),
    object({ namespace: "team", name: "other" }, {}),
  ],
  secrets: [
    object(
      { namespace: "web", name: "db" },
      { labels: { [labels.sourceUid]: "team/db" }, annotations: copyOf },
      { type: "Opaque", data: { a: plain } },
    ),
    object({ namespace: "web", name: "other" }, {}, { data: { a: plain } }),
    object({ namespace: "web", name: "foreign" }, {}, { data: { a: plain } }),
  ],
};

const forbidden = new KubeError("no", { code: "Forbidden", status: 403, lacksPermission: true });
const missing = new KubeError("none", { code: "NotFound", status: 404 });

/** A cluster that lists and gets the resources that the user may, such as `list secrets`. */
function cluster(rights: readonly string[], reviewed: readonly string[] = []) {
  const full: string[] = [];
  const find = ({ plural }: Resource, ref: ObjectRef) => {
    if (!rights.includes(`get ${plural}`)) throw forbidden;
    const found = stored[plural]?.find(({ metadata }) => keyOf(metadata) === keyOf(ref));
    if (found === undefined) throw missing;
    return found;
  };
  return {
    ...fakeCluster({ objects: {} }),
    full,
    get: async (resource: Resource, ref: ObjectRef) => {
      full.push(`${resource.plural} ${keyOf(ref)}`);
      return find(resource, ref);
    },
    getMetadata: async (resource: Resource, ref: ObjectRef) => ({
      metadata: find(resource, ref).metadata,
    }),
    select: async (options: ListOptions) => {
      const { resource, metadataOnly } = options;
      if (!rights.includes(`list ${resource.plural}`)) throw forbidden;
      return (stored[resource.plural] ?? [])
        .filter((one) => selects(options, one))
        .map((one) => (metadataOnly === true ? { metadata: one.metadata } : one));
    },
    review: async () => ({
      resourceRules: [
        {
          verbs: ["get"],
          apiGroups: ["management.service"],
          resources: ["sharedsecrets"],
          resourceNames: reviewed,
        },
      ],
    }),
  };
}

const wanted = (secrets: WantedSync["secrets"]): WantedSync => ({
  secrets,
  namespaces: ["team"],
  requireSyncFrom: false,
  copyKeys: [],
});

async function read(
  rights: readonly string[],
  secrets: WantedSync["secrets"],
  reviewed: readonly string[] = [],
) {
  const fake = cluster(rights, reviewed);
  const live = await readSyncObjects(fake, wanted(secrets));
  const { namespaces, sharedSecrets, secrets: found } = live.snapshot;
  return {
    namespaces: namespaces.map(keyOf),
    sources: sharedSecrets.map(({ secret }) => keyOf(secret.metadata)),
    secrets: found.map(({ metadata }) => keyOf(metadata)),
    missing: live.missing.map(rightText),
    live,
    full: fake.full,
  };
}

const all = ["list namespaces", "list sharedsecrets", "list secrets", "get secrets"];
const everywhere = "in all namespaces";

describe("live objects for sync", () => {
  test.for<[string, readonly string[], WantedSync["secrets"], object]>([
    [
      "are all copies and Secrets with the name of one",
      all,
      {},
      { namespaces: ["web", "team"], secrets: ["web/db", "web/other"], missing: [] },
    ],
    ["are the Secrets of a name", all, { name: "db" }, { secrets: ["web/db"], missing: [] }],
    [
      "are one Secret and its namespace",
      [...all, "get namespaces"],
      { namespace: "web", name: "foreign" },
      { namespaces: ["web"], secrets: ["web/foreign"], missing: [] },
    ],
    [
      "are Secrets at targets without the right to list them",
      ["list namespaces", "list sharedsecrets", "get secrets"],
      {},
      { secrets: ["web/db"], missing: [`list secrets ${everywhere}`] },
    ],
    [
      "name every Secret that may not be read",
      ["list namespaces", "list sharedsecrets"],
      { name: "db" },
      { secrets: [], missing: [`list secrets ${everywhere}`, "get secrets/db in namespace web"] },
    ],
    [
      "are the SharedSecret that a copy names without the right to list them",
      ["get namespaces", "get secrets", "get sharedsecrets"],
      { namespace: "web", name: "db" },
      {
        sources: ["team/db"],
        secrets: ["web/db"],
        missing: [`list sharedsecrets.management.service ${everywhere}`],
      },
    ],
    [
      "are nothing without rights",
      [],
      { namespace: "web", name: "db" },
      {
        namespaces: [],
        sources: [],
        secrets: [],
        missing: [
          "get namespaces/web",
          "get secrets/db in namespace web",
          `list sharedsecrets.management.service ${everywhere}`,
        ],
      },
    ],
  ])("%s", async ([, rights, secrets, expected]) => {
    expect(await read(rights, secrets)).toMatchObject(expected);
  });

  test("are the SharedSecrets that a role names", async () => {
    const { sources } = await read(["get sharedsecrets"], { name: "db" }, ["other"]);
    expect(sources).toEqual(["team/other"]);
  });

  test("are namespaces as a controller with the same options reads them", async () => {
    const options = { ...wanted({}), requireSyncFrom: true, copyKeys: ["tier"] };
    const { snapshot } = await readSyncObjects(cluster(all, []), options);
    expect(snapshot.namespaces.map(({ annotations: given }) => given)).toEqual(
      snapshot.namespaces.map(() =>
        expect.objectContaining({ [annotations.allowCopyKeys]: "tier" }),
      ),
    );
  });

  test("have digests that compare, and data of copies alone is read", async () => {
    const { live, full } = await read([...all, "get namespaces"], { namespace: "web", name: "db" });
    const { secrets, sharedSecrets } = live.snapshot;
    expect(secrets[0]).toMatchObject({ digest: sharedSecrets[0]?.digest });
    expect(JSON.stringify(secrets)).not.toContain(plain);
    expect(full).toEqual(["secrets web/db"]);
    const foreign = await read([...all, "get namespaces"], { namespace: "web", name: "foreign" });
    expect(foreign.full).toEqual([]);
  });
});
