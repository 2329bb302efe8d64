import { describe, expect, inject, test } from "vitest";
import { listAt, recordAt } from "../../src/api/parse.ts";
import {
  collectionOf,
  everyKind,
  type KindName,
  kinds,
  objectOf,
  statusWriter,
} from "../support/crd-requests.ts";
import { kubectl } from "../support/kubectl.ts";
import { admin, arrange, ask, patchTypes, replace, unique } from "../support/policy-request.ts";

const canary = "canary-7d1f0e";
const controlPlane = inject("controlPlane");

describe.each(everyKind)("the status of a %s", (kind) => {
  const condition = {
    type: "Ready",
    status: "True",
    observedGeneration: 1,
    lastTransitionTime: "2026-11-21T13:00:00Z",
    reason: "Tested",
    message: "All is well.",
  };

  test("is Unknown until a controller writes it", async () => {
    const created = await create(kind, { status: { observedGeneration: 7 } });
    expect(created.status).toEqual({ observedGeneration: -1 });
  });

  test("may be empty", async () => {
    const { metadata, status } = await create(kind, { status: {} });
    expect(status).toEqual({ observedGeneration: -1 });
    const path = `${collectionOf(kind)}/${metadata.name}`;
    const emptied = await ask(statusWriter, {
      method: "PUT",
      path: `${path}/status`,
      body: { ...objectOf(kind, metadata.name ?? "", {}), metadata, status: {} },
    });
    expect([emptied.code, emptied.status]).toEqual([200, {}]);
  });

  test("is written through its subresource, which changes nothing else", async () => {
    const { metadata } = await create(kind, { spec: {} });
    const status = { observedGeneration: 1, conditions: [condition] };
    const changed = await writeStatus(kind, metadata.name, {
      status,
      spec: { displayName: "ignored", ttl: 5 },
    });
    expect(changed).toMatchObject({ code: 200, status, metadata: { generation: 1 } });
    expect(changed.spec).toEqual({});
  });

  test.each([
    {
      sentence: "two conditions of one type",
      conditions: [condition, condition],
      says: "status.conditions[1]",
    },
    {
      sentence: "a status other than True, False and Unknown",
      conditions: [{ ...condition, status: "Maybe" }],
      says: "status.conditions[0].status",
    },
    {
      sentence: "a reason of two words",
      conditions: [{ ...condition, reason: "two words" }],
      says: "status.conditions[0].reason",
    },
    {
      sentence: "no message",
      conditions: [{ ...condition, message: undefined }],
      says: "status.conditions[0].message",
    },
  ])("rejects $sentence", async ({ conditions, says }) => {
    const { metadata } = await create(kind, {});
    expect(await writeStatus(kind, metadata.name, { status: { conditions } })).toMatchObject({
      code: 422,
      message: expect.stringContaining(says),
    });
  });
});

describe("the spec of a DirectClusterEndpointToken is immutable", () => {
  const kind = "DirectClusterEndpointToken";
  test.each([
    { sentence: "a longer lifetime", before: { ttl: 60 }, after: { ttl: 61 } },
    { sentence: "a new ttl", before: {}, after: { ttl: 60 } },
    {
      sentence: "a wider scope",
      before: { scope: { projects: [] } },
      after: { scope: { projects: [{ project: "*" }] } },
    },
    { sentence: "a removed scope", before: { scope: {} }, after: {} },
    { sentence: "a new spec", before: undefined, after: { ttl: 60 } },
    { sentence: "a removed spec", before: { ttl: 60 }, after: undefined },
  ])("and rejects $sentence", async ({ before, after }) => {
    const { metadata } = await create(kind, { spec: before });
    const answer = await replace(admin, `${collectionOf(kind)}/${metadata.name}`, (token) => ({
      ...token,
      spec: after,
    }));
    expect(answer).toMatchObject({ code: 422, message: expect.stringContaining("spec: ") });
    expect(answer.message).toContain("create another token");
  });

  test("but its labels can change", async () => {
    const { metadata } = await create(kind, {
      spec: { ttl: 60, scope: { projects: [{ project: "web" }] } },
    });
    const changed = await replace(admin, `${collectionOf(kind)}/${metadata.name}`, (token) => {
      return { ...token, metadata: { ...token.metadata, labels: { team: "a" } } };
    });
    expect(changed).toMatchObject({ code: 200, metadata: { labels: { team: "a" } } });
  });
});

describe("OwnedAccessKeys can be selected", () => {
  test.each(["user", "team", "type"])("by spec.%s", async (field) => {
    const value = unique("selected");
    const { metadata } = await create("OwnedAccessKey", { spec: { [field]: value } });
    await create("OwnedAccessKey", { spec: { [field]: unique("other") } });
    const selector = `spec.${field}=${value}`;
    const found = await kubectl(controlPlane, [
      "get",
      "oak",
      `--field-selector=${selector}`,
      "--output=name",
    ]);
    expect(found.trim()).toBe(`ownedaccesskey.management.service/${metadata.name}`);
  });

  test("but not by spec.key", async () => {
    const answer = await ask(admin, {
      method: "GET",
      path: `${collectionOf("OwnedAccessKey")}?fieldSelector=spec.key%3D${canary}`,
    });
    expect(answer).toMatchObject({
      code: 400,
      message: expect.stringContaining("field label not supported"),
    });
  });
});

test("a key and a token have the same scope where the API server serves them", async () => {
  const scopes = (["OwnedAccessKey", "DirectClusterEndpointToken"] as const).map(async (kind) => {
    const { group, plural } = kinds[kind];
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${group}`;
    const { spec } = await arrange({ method: "GET", path });
    const schema = recordAt(listAt(spec, "versions")[0], "schema");
    const fields = (place: unknown, name: string) => recordAt(recordAt(place, "properties"), name);
    const scope = fields(fields(recordAt(schema, "openAPIV3Schema"), "spec"), "scope");
    return { ...scope, description: "" };
  });
  const [key, token] = await Promise.all(scopes);
  expect(Object.keys(recordAt(key, "properties"))).toHaveLength(7);
  expect(key).toEqual(token);
});

describe("kubectl get", () => {
  const specs: Readonly<Record<KindName, unknown>> = {
    SharedSecret: {
      data: { password: Buffer.from(canary).toString("base64") },
      owner: { note: canary },
      access: [{ users: ["bob"] }],
    },
    OwnedAccessKey: {
      key: `${canary}-0123456789`,
      user: "alice",
      oidcLogin: { idToken: canary },
      oidcProvider: { clientSecret: canary },
    },
    DirectClusterEndpointToken: {},
  };
  const statuses: Readonly<Record<KindName, unknown>> = {
    SharedSecret: { sync: { desired: 12, synced: 11, conflicts: 1 }, keys: 1 },
    OwnedAccessKey: { expiresAt: "2999-01-01T00:00:00Z", lastActivity: "2026-11-21T13:00:00Z" },
    DirectClusterEndpointToken: { token: canary, expiresAt: "2999-01-01T00:00:00Z" },
  };
  const tables = [
    {
      kind: "SharedSecret",
      short: "shsec",
      columns: [
        "NAME",
        "READY",
        "REASON",
        "SYNC",
        "SYNCED",
        "DESIRED",
        "CLUSTERS",
        "CONFLICTS",
        "KEYS",
        "DATA-FROM",
        "BINDINGS",
        "DISPLAY-NAME",
        "AGE",
      ],
      shows: ["11", "12"],
    },
    {
      kind: "OwnedAccessKey",
      short: "oak",
      columns: [
        "NAME",
        "READY",
        "REASON",
        "USER",
        "TEAM",
        "SUBJECT",
        "EXPIRES",
        "LAST-USED",
        "TYPE",
        "DISABLED",
        "REQUESTER",
        "DISPLAY-NAME",
        "AGE",
      ],
      shows: ["alice", "2999-01-01T00:00:00Z"],
    },
    {
      kind: "DirectClusterEndpointToken",
      short: "dcet",
      columns: [
        "NAME",
        "READY",
        "REASON",
        "REQUESTER",
        "EXPIRES",
        "CLUSTER",
        "SCOPE",
        "KEY-ID",
        "AGE",
      ],
      shows: ["2999-01-01T00:00:00Z"],
    },
  ] as const;

  test.each(tables)(
    "$short --output=wide has columns for an administrator, and no secret",
    async ({ kind, short, columns, shows }) => {
      const { metadata } = await create(kind, { spec: specs[kind] });
      await writeStatus(kind, metadata.name, { status: statuses[kind] });
      const table = await kubectl(controlPlane, [
        "get",
        short,
        `${metadata.name}`,
        "--output=wide",
      ]);
      const [heading, row] = table.split("\n");
      expect(heading?.split(/\s+/)).toEqual(columns);
      for (const value of shows) expect(row?.split(/\s+/)).toContain(value);
      expect(table).not.toMatch(new RegExp(`${canary}|${Buffer.from(canary).toString("base64")}`));
    },
  );

  test("management lists all three kinds", async () => {
    const names = await kubectl(controlPlane, [
      "api-resources",
      "--categories=management",
      "--output=name",
    ]);
    expect(names.trim().split("\n").toSorted()).toEqual(
      Object.values(kinds)
        .map(({ plural, group }) => `${plural}.${group}`)
        .toSorted(),
    );
  });
});

describe("kubectl explain", () => {
  test.each([
    ["sharedsecret.spec.data", "RFC 4648"],
    ["sharedsecret.spec.access.verbs", "verbs is the list of verbs"],
    ["ownedaccesskey.spec.ttl", "in seconds"],
    ["ownedaccesskey.spec.parent", "Deprecated: use identity."],
    ["ownedaccesskey.spec.oidcLogin", "Deprecated: use identity."],
    ["ownedaccesskey.spec.scope.rules", "Deprecated: use projects, spaces and virtualClusters."],
    [
      "directclusterendpointtoken.spec.scope.allowServiceCli",
      "Deprecated: use roles with the role serviceCLI.",
    ],
    ["directclusterendpointtoken.status.token", "bearer token"],
  ])("%s says: %s", async (path, text) => {
    expect(await kubectl(controlPlane, ["explain", path])).toContain(text);
  });
});

async function create(kind: KindName, { spec, status }: { spec?: unknown; status?: unknown }) {
  return arrange({
    method: "POST",
    path: collectionOf(kind),
    body: { ...objectOf(kind, unique("crd"), spec), status },
  });
}

async function writeStatus(kind: KindName, name: string | undefined, body: unknown) {
  return ask(statusWriter, {
    method: "PATCH",
    type: patchTypes.merge,
    path: `${collectionOf(kind)}/${name}/status`,
    body,
  });
}
