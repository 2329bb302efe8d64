import { readFileSync } from "node:fs";
import { load, loadAll } from "js-yaml";
import { beforeAll, describe, expect, inject, it } from "vitest";
import { apiVersion, group } from "../../src/api/names.ts";
import { parseScope } from "../../src/api/scope.ts";
import { eventually } from "../support/eventually.ts";
import {
  admin,
  type Answer,
  type Ask,
  arrange,
  ask,
  bind,
  makeNamespace,
  patchTypes,
  unique,
} from "../support/policy-request.ts";

const api = `/apis/${apiVersion}`;
const alice = { user: unique("alice") };
/** The user may create in one namespace and update her objects. */
let namespace = "";

const names = (count: number, length = 4): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${index}`.padStart(length, "n"));
const projects = (count: number, length?: number) => ({
  projects: names(count, length).map((project) => ({ project })),
});
const owners = (count: number) =>
  names(count).map((uid) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    name: "x",
    uid,
    blockOwnerDeletion: true,
  }));

function createKey(scope: unknown): Promise<Answer> {
  const body = {
    apiVersion,
    kind: "OwnedAccessKey",
    metadata: { name: unique("large") },
    spec: { user: alice.user, key: "0123456789abcdef", scope },
  };
  return ask(alice, { method: "POST", path: `${api}/ownedaccesskeys?dryRun=All`, body });
}

function createToken(scope: unknown): Promise<Answer> {
  return ask(alice, {
    method: "POST",
    path: `${api}/directclusterendpointtokens?dryRun=All`,
    body: {
      apiVersion,
      kind: "DirectClusterEndpointToken",
      metadata: { name: unique("large") },
      spec: { scope },
    },
  });
}

function createShared(metadata: object, spec: object = {}): Promise<Answer> {
  return ask(alice, {
    method: "POST",
    path: `${api}/namespaces/${namespace}/sharedsecrets?dryRun=All`,
    body: {
      apiVersion,
      kind: "SharedSecret",
      metadata: { name: unique("large"), ...metadata },
      spec,
    },
  });
}

const rulesWith = (count: number, rule: object) => ({
  rules: Array.from({ length: count }, () => rule),
});
/** A scope of 65,503 characters and a verb of this length. */
const withVerbOf = (length: number) => ({
  ...projects(250, 253),
  ...rulesWith(1, {
    verbs: ["g".repeat(length)],
    nonResourceURLs: ["a", "b", "c", "d"]
      .map((one) => "/".padEnd(512, one))
      .concat("/".padEnd(205, "e")),
  }),
});
const refusedFor = (...parts: readonly string[]) => ({
  code: expect.toBeOneOf([403, 422]),
  message: expect.stringMatching(
    new RegExp(parts.map((part) => part.replaceAll(/[[\].*]/g, String.raw`\$&`)).join("[^]*")),
  ),
});

describe.skipIf(!inject("hasPolicies"))("objects are limited", () => {
  beforeAll(async () => {
    namespace = await makeNamespace();
    await bind({ kind: "User", name: alice.user }, "latchkey-requester");
    await bind({ kind: "User", name: alice.user }, "admin", namespace);
    await eventually(
      async () => (await createShared({})).code === 201 && (await createKey({})).code === 201,
      { what: "alice's rights to be known" },
    );
  });

  describe.each<[string, (scope: unknown) => Promise<Answer>]>([
    ["a key", createKey],
    ["a token", createToken],
  ])("in the scope of %s:", (_kind, create) => {
    const accepted: readonly [string, object][] = [
      ["64 rules", rulesWith(64, { verbs: ["get"] })],
      ["1000 entries", { ...projects(200), ...rulesWith(10, { namespaces: names(79) }) }],
      ["65536 characters", withVerbOf(33)],
      [
        "every target",
        rulesWith(1, {
          requestTargets: ["Management", "Cluster", "ProjectSpace", "ProjectVirtualCluster"],
        }),
      ],
    ];
    it.each(accepted)("%s are accepted, and can be read", async (_what, scope) => {
      expect(await create(scope)).toMatchObject({ code: 201 });
      expect(parseScope(scope)).toBeDefined();
    });

    const refused: readonly [string, object, readonly string[]][] = [
      ["65 rules", rulesWith(65, { verbs: ["get"] }), ["spec.scope.rules", "64"]],
      [
        "1001 entries",
        { ...projects(201), ...rulesWith(10, { namespaces: names(79) }) },
        ["spec.scope: has 1001 entries", "at most 1000"],
      ],
      [
        "1001 entries inside of rules",
        rulesWith(1, {
          resources: [
            ...Array.from({ length: 15 }, () => ({ group: "", resources: names(64) })),
            { group: "", resources: names(24) },
          ],
        }),
        ["spec.scope: has 1001 entries", "at most 1000"],
      ],
      ["65537 characters", withVerbOf(34), ["spec.scope: has 65537 characters", "at most 65536"]],
      [
        "33000 resources",
        rulesWith(8, {
          resources: Array.from({ length: 64 }, () => ({ group: "", resources: names(64) })),
        }),
        ["spec.scope: has 33288 entries"],
      ],
      ["a name of 254 characters", projects(1, 254), ["spec.scope.projects[0].project", "253"]],
      [
        "a namespace of 254 characters",
        rulesWith(1, { namespaces: names(1, 254) }),
        ["spec.scope.rules[0].namespaces[0]", "253"],
      ],
      [
        "an unknown target",
        rulesWith(1, { requestTargets: ["management"] }),
        ["spec.scope.rules[0].requestTargets[0]", "Management"],
      ],
    ];
    it.each(refused)("%s are rejected", async (_what, scope, parts) => {
      expect(await create(scope)).toMatchObject(refusedFor(...parts));
    });
  });

  it.each<[string, object, readonly string[]]>([
    [
      "2001 users and teams",
      {
        access: [
          { verbs: ["get"], users: names(1000), teams: names(1) },
          { verbs: ["get"], users: names(1000) },
        ],
      },
      ["spec.access: names 2001 users and teams", "at most 2000"],
    ],
    [
      "a user of 513 characters",
      { access: [{ verbs: ["get"], users: names(1, 513) }] },
      ["spec.access[0].users[0]", "512"],
    ],
  ])("%s in access are rejected", async (_what, spec, parts) => {
    expect(await createShared({}, spec)).toMatchObject(refusedFor(...parts));
  });

  it("2000 users and teams in access are accepted", async () => {
    expect(
      await createShared(
        {},
        {
          access: [
            { verbs: ["get"], users: names(1000), teams: names(999) },
            { verbs: ["get"], users: names(1) },
          ],
        },
      ),
    ).toMatchObject({ code: 201 });
  });

  it("a group of 513 characters is rejected", async () => {
    const body = {
      apiVersion,
      kind: "OwnedAccessKey",
      metadata: { name: unique("large") },
      spec: { user: alice.user, groups: names(1, 513) },
    };
    expect(
      await ask(alice, { method: "POST", path: `${api}/ownedaccesskeys?dryRun=All`, body }),
    ).toMatchObject(refusedFor("spec.groups[0]", "512"));
  });

  it.each<[string, object, readonly string[]]>([
    [
      "17 owners with blockOwnerDeletion",
      { ownerReferences: owners(17) },
      ["metadata.ownerReferences: has 17 entries", "at most 16"],
    ],
  ])("%s are rejected", async (_what, metadata, parts) => {
    expect(await createShared(metadata)).toMatchObject(refusedFor(...parts));
  });
});

/**
 * The schema and the policy of a kind in another API group: there, a test can store an object above
 * the limits, and then add the limits.
 */
describe.skipIf(!inject("hasPolicies"))("objects stored before the limits", () => {
  const own = `${unique("bounds")}.example`;
  // With different names: kubectl would find a second kind of the same name, short name or
  // category.
  const renamed = (text: string): string =>
    text
      .replaceAll(group, own)
      .replaceAll("ownedaccesskey", "boundedaccesskey")
      .replaceAll("OwnedAccessKey", "BoundedAccessKey")
      .replaceAll("sharedsecret", "boundedsecret")
      .replaceAll("SharedSecret", "BoundedSecret");
  const text = (path: string): string => renamed(readFileSync(path, "utf8"));
  const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const admission = "/apis/admissionregistration.k8s.io/v1";
  const finalizer = { metadata: { finalizers: ["example.com/kept"] } };
  const large = [
    {
      file: "ownedaccesskeys",
      plural: "boundedaccesskeys",
      body: {
        apiVersion: `${own}/v1`,
        kind: "BoundedAccessKey",
        metadata: { name: "large", ...finalizer.metadata, ownerReferences: owners(17) },
        spec: {
          groups: names(1, 600),
          scope: { ...projects(1200, 300), ...rulesWith(65, { requestTargets: ["other"] }) },
        },
      },
    },
    {
      file: "sharedsecrets",
      plural: "boundedsecrets",
      body: {
        apiVersion: `${own}/v1`,
        kind: "BoundedSecret",
        metadata: { name: "large", ...finalizer.metadata },
        spec: { access: [{ users: names(2001, 600) }] },
      },
    },
  ] as const;
  const collection = (plural: string): string =>
    `/apis/${own}/v1/${plural === "boundedsecrets" ? `namespaces/${namespace}/` : ""}${plural}`;

  beforeAll(async () => {
    namespace = namespace === "" ? await makeNamespace() : namespace;
    for (const { file, plural, body } of large) {
      const crd = JSON.parse(JSON.stringify(load(text(`crds/${file}.yaml`))));
      const { openAPIV3Schema: real } = crd.spec.versions[0].schema;
      crd.spec.versions[0].schema.openAPIV3Schema = {
        type: "object",
        "x-kubernetes-preserve-unknown-fields": true,
      };
      // Columns and selectable fields need the fields of the schema.
      const { selectableFields: _, additionalPrinterColumns: __, ...lax } = crd.spec.versions[0];
      const { shortNames: ___, categories: ____, ...kindNames } = crd.spec.names;
      await arrange({
        method: "POST",
        path: crdPath,
        body: { ...crd, spec: { ...crd.spec, names: kindNames, versions: [lax] } },
      });
      await eventually(
        async () =>
          (await ask(admin, { method: "POST", path: collection(plural), body })).code === 201,
        { what: "the large object to be stored" },
      );
      const patch = [
        { op: "replace", path: "/spec/versions/0/schema/openAPIV3Schema", value: real },
      ];
      await arrange({
        method: "PATCH",
        type: "application/json-patch+json",
        path: `${crdPath}/${plural}.${own}`,
        body: patch,
      });
    }
    for (const policy of loadAll(
      text("config/policies/bounds.yaml").replaceAll("latchkey-", `${own}-`),
    )) {
      const plural = JSON.stringify(policy).includes('"kind":"ValidatingAdmissionPolicyBinding"')
        ? "validatingadmissionpolicybindings"
        : "validatingadmissionpolicies";
      await arrange({ method: "POST", path: `${admission}/${plural}`, body: policy });
    }
  });

  describe.each(large)("one of $file", ({ plural, body }) => {
    const path = () => `${collection(plural)}/large`;
    const patch = (change: object): Ask => ({
      method: "PATCH",
      type: patchTypes.merge,
      path: path(),
      body: change,
    });

    it("can be changed elsewhere, lose its finalizer and be deleted", async () => {
      // The limits are active when the same object is rejected as a new one.
      const again = { ...body, metadata: { ...body.metadata, name: "again" } };
      await eventually(
        async () =>
          (
            await ask(admin, {
              method: "POST",
              path: `${collection(plural)}?dryRun=All`,
              body: again,
            })
          ).code >= 403,
        { what: "the bounds to count" },
      );
      expect(await ask(admin, patch({ spec: { displayName: "changed" } }))).toMatchObject({
        code: 200,
      });
      expect(await ask(admin, { method: "DELETE", path: path() })).toMatchObject({ code: 200 });
      expect(await ask(admin, patch({ metadata: { finalizers: [] } }))).toMatchObject({
        code: 200,
      });
      expect(await ask(admin, { method: "GET", path: path() })).toMatchObject({ code: 404 });
    });
  });
});
