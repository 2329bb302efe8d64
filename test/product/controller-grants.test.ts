import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { listAt } from "../../src/api/parse.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import { eventually } from "../support/eventually.ts";
import {
  allowRequesters,
  changesIn,
  clusterRbacPath,
  grantsIn,
  grantsOf,
  make,
  tryToMake,
  viewOf,
  type Own,
  type OwnKind,
} from "../support/keys-and-tokens.ts";
import { becomes, becomesGone } from "../support/becomes.ts";
import { grantedVerbs } from "../support/observed-objects.ts";
import { api, as, unique, type Answer, type Caller } from "../support/policy-request.ts";

const requesters = unique("requesters");
const requester = (name: string): Caller => ({ user: unique(name), groups: [requesters] });
const kinds: readonly OwnKind[] = ["OwnedAccessKey", "DirectClusterEndpointToken"];
const tokenVerbs = grantedVerbs("directclusterendpointtokens");

beforeAll(() => allowRequesters(requesters));

afterAll(expectNoTrouble);

const get = (by: Caller, { path }: Pick<Own, "path">) => as(by).get(path);

/**
 * The name of the ClusterRole that grants the object to its requester, once the requester can read
 * it.
 */
async function granted(by: Caller, own: Own): Promise<string> {
  await becomes(`${own.name} to be granted to ${by.user}`, () => get(by, own), { code: 200 });
  const grants = await grantsOf(own);
  expect(grants).toHaveLength(1);
  return grants[0]?.role ?? "";
}

async function makeGranted(kind: OwnKind, by: Caller): Promise<{ own: Own; role: string }> {
  const own = await make(kind, { by });
  return { own, role: await granted(by, own) };
}

describe.skipIf(!inject("hasPolicies"))("the grant of a requester", { concurrent: true }, () => {
  it.each(kinds)("names its own %s, with no other verbs than it needs", async (kind) => {
    const alice = requester("alice");
    const { own, role } = await makeGranted(kind, alice);
    const { rules } = await api.get(clusterRbacPath("clusterroles", role));
    const plural = kind === "OwnedAccessKey" ? "ownedaccesskeys" : "directclusterendpointtokens";
    expect(rules).toEqual([
      {
        apiGroups: ["management.service"],
        resources: [plural],
        resourceNames: [own.name],
        verbs: grantedVerbs(plural),
      },
    ]);
    const { roleRef, subjects } = await api.get(clusterRbacPath("clusterrolebindings", role));
    expect(roleRef).toMatchObject({ kind: "ClusterRole", name: role });
    expect(subjects).toEqual([
      { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: alice.user },
    ]);
  });

  it("allows it to disable its own key, and not to enable it or to change its token", async () => {
    const alice = requester("alice");
    const { own } = await makeGranted("OwnedAccessKey", alice);
    const { own: token } = await makeGranted("DirectClusterEndpointToken", alice);
    const disabled = (to: boolean) => as(alice).merge(own.path, { spec: { disabled: to } });
    expect(await disabled(true)).toMatchObject({ code: 200 });
    expect(await disabled(false)).toMatchObject({
      code: 403,
      message: expect.stringContaining("may not change spec.disabled"),
    });
    expect(await as(alice).merge(token.path, { spec: { ttl: 60 } })).toMatchObject({ code: 403 });
  });

  it("is one ClusterRole for many objects of both kinds", async () => {
    const alice = requester("alice");
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        make(kinds[index % 2] ?? "OwnedAccessKey", { by: alice }),
      ),
    );
    const roles = await Promise.all(made.map((own) => granted(alice, own)));
    expect(new Set(roles).size).toBe(1);
    const { names } = grantsIn(await api.get(clusterRbacPath("clusterroles", roles[0])));
    expect(Object.values(names).flat().toSorted()).toEqual(made.map(({ name }) => name).toSorted());
  });

  it("no longer contains a token before the token is removed", async () => {
    const alice = requester("alice");
    const kept = await make("DirectClusterEndpointToken", { by: alice });
    const gone = await make("DirectClusterEndpointToken", {
      by: alice,
      finalizers: ["test.example/hold"],
    });
    const role = await granted(alice, gone);
    await granted(alice, kept);
    expect(await as(alice).delete(gone.path)).toMatchObject({ code: 200 });
    await becomes("Latchkey to let go", () => viewOf(gone), { finalizers: ["test.example/hold"] });
    const { names, resourceVersion } = grantsIn(
      await api.get(clusterRbacPath("clusterroles", role)),
    );
    expect(Object.values(names).flat()).toEqual([kept.name]);
    expect(BigInt(resourceVersion)).toBeLessThan(BigInt((await viewOf(gone)).resourceVersion));
    await api.merge(gone.path, { metadata: { finalizers: [] } });
    await becomesGone(gone.path);
  });

  it.each(kinds)(
    "gives alice no access to the %s that bob creates with the name of a deleted one of hers",
    { timeout: 180_000 },
    async (kind) => {
      const [alice, bob] = [requester("alice"), requester("bob")];
      for (let round = 0; round < 5; round += 1) {
        const { own } = await makeGranted(kind, alice);
        await as(alice).delete(own.path);
        await eventually(
          async () => (await tryToMake(kind, { by: bob, name: own.name })).code === 201,
          { what: "the name to be free", every: 5 },
        );
        expect(await get(alice, own)).toMatchObject({ code: 403 });
        await becomes("bob to be granted", () => get(bob, own), { code: 200 });
        expect(await get(alice, own)).toMatchObject({ code: 403 });
        expect(await grantsOf(own)).toHaveLength(1);
      }
    },
  );

  it("is deleted with the last object, and never exists without resourceNames", async () => {
    const alice = requester("alice");
    const { metadata } = await api.get(clusterRbacPath("clusterroles"));
    const { own: one, role } = await makeGranted("DirectClusterEndpointToken", alice);
    const { own: other } = await makeGranted("OwnedAccessKey", alice);
    for (const { path } of [one, other]) await api.delete(path);
    for (const plural of ["clusterroles", "clusterrolebindings"] as const)
      await becomesGone(clusterRbacPath(plural, role));
    const changes = await changesIn(clusterRbacPath("clusterroles"), {
      resourceVersion: metadata.resourceVersion ?? "",
      fieldSelector: `metadata.name=${role}`,
    });
    const types = changes.map(({ type }) => type);
    expect([types[0], types.at(-1)]).toEqual(["ADDED", "DELETED"]);
    for (const { object } of changes) {
      const rules = listAt(object, "rules");
      expect(rules.length).toBeGreaterThan(0);
      for (const rule of rules) expect(listAt(rule, "resourceNames")).not.toEqual([]);
    }
  });

  const edits: {
    edit: string;
    plural: "clusterroles" | "clusterrolebindings";
    body: (own: Own) => unknown;
  }[] = [
    {
      edit: "contains another object",
      plural: "clusterroles",
      body: ({ name }) => ({
        rules: [
          {
            apiGroups: ["management.service"],
            resources: ["directclusterendpointtokens"],
            resourceNames: [name, "of-others"],
            verbs: tokenVerbs,
          },
        ],
      }),
    },
    {
      edit: "grants every verb",
      plural: "clusterroles",
      body: ({ name }) => ({
        rules: [
          {
            apiGroups: ["management.service"],
            resources: ["directclusterendpointtokens"],
            resourceNames: [name],
            verbs: ["*"],
          },
        ],
      }),
    },
    {
      edit: "has no resourceNames, which means all objects",
      plural: "clusterroles",
      body: () => ({
        rules: [
          {
            apiGroups: ["management.service"],
            resources: ["directclusterendpointtokens"],
            verbs: tokenVerbs,
          },
        ],
      }),
    },
    { edit: "grants nothing", plural: "clusterroles", body: () => ({ rules: [] }) },
    {
      edit: "is aggregated",
      plural: "clusterroles",
      body: () => ({
        aggregationRule: {
          clusterRoleSelectors: [{ matchLabels: { "test.example/nobody": "x" } }],
        },
      }),
    },
    {
      edit: "has another subject",
      plural: "clusterrolebindings",
      body: () => ({
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "mallory" }],
      }),
    },
    { edit: "has no subjects", plural: "clusterrolebindings", body: () => ({ subjects: null }) },
  ];
  it.each(edits)("is repaired when one of its $plural $edit", async ({ plural, body }) => {
    const alice = requester("alice");
    const { own, role } = await makeGranted("DirectClusterEndpointToken", alice);
    const path = clusterRbacPath(plural, role);
    const before = await api.find(path);
    await api.merge(path, body(own));
    await becomes(
      "the grant to be as before",
      async () => meaningOf(await api.find(path)),
      meaningOf(before),
    );
    await becomes("alice to read her token", () => get(alice, own), { code: 200 });
  });

  it.each(["clusterroles", "clusterrolebindings"] as const)(
    "is created again when one of its %s has lost its label, and is removed with its object",
    async (plural) => {
      const [alice, bob] = [requester("alice"), requester("bob")];
      const { own, role } = await makeGranted("DirectClusterEndpointToken", alice);
      await api.merge(clusterRbacPath(plural, role), { metadata: { labels: null } });
      await becomes(
        "another role",
        async () => (await grantsOf(own)).some((grant) => grant.role !== role),
        true,
      );
      await becomes("alice to read her token", () => get(alice, own), { code: 200 });
      await api.delete(own.path);
      await eventually(
        async () =>
          (await tryToMake("DirectClusterEndpointToken", { by: bob, name: own.name })).code === 201,
        { what: "the name to be free", every: 5 },
      );
      expect(await get(alice, own)).toMatchObject({ code: 403 });
    },
  );

  it.each(["clusterroles", "clusterrolebindings"] as const)(
    "is created again when its object in %s is deleted",
    async (plural) => {
      const alice = requester("alice");
      const { own, role } = await makeGranted("DirectClusterEndpointToken", alice);
      const path = clusterRbacPath(plural, role);
      const { metadata } = await api.find(path);
      await api.delete(path);
      await becomes(
        "another one",
        async () => ![undefined, metadata.uid].includes((await api.find(path)).metadata.uid),
        true,
      );
      await becomes("alice to read her token", () => get(alice, own), { code: 200 });
    },
  );

  it("is not created for a service account", async () => {
    const account = { user: "system:serviceaccount:default:ci", groups: [requesters] };
    const own = await make("OwnedAccessKey", { by: account, spec: { key: unique("lk.plain") } });
    await becomes("a verdict", async () => (await viewOf(own)).settled, true);
    expect(await grantsOf(own)).toEqual([]);
  });
});

/**
 * The relevant fields of a ClusterRole or ClusterRoleBinding, without those that the API server
 * changes.
 */
function meaningOf({ code, metadata, rules, aggregationRule, roleRef, subjects }: Answer): object {
  const { labels, annotations } = metadata;
  return { code, labels, annotations, rules, aggregationRule, roleRef, subjects };
}
