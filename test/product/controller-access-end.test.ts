import { afterAll, describe, expect, it } from "vitest";
import { annotations, cleanupFinalizer } from "../../src/api/names.ts";
import type { ObservedRoleBinding, ObservedRole } from "../../src/api/role.ts";
import { apiVersionOf, resources } from "../../src/api/resources.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import { eventually } from "../support/eventually.ts";
import { derivedIn, type Derived } from "./derived-objects.ts";
import { becomes, becomesGone } from "../support/becomes.ts";
import { api, makeNamespace, unique } from "../support/policy-request.ts";
import {
  base64,
  becomesReady,
  makeSharedSecret,
  makeTarget,
  may,
  rbacPath,
  secretPath,
  type Place,
} from "../support/shared-secret-requests.ts";

afterAll(expectNoTrouble);

const access = [
  { users: ["carol"], teams: ["readers"], verbs: ["get"] },
  { users: ["dave"], verbs: ["*"], subresources: ["status"] },
];
const insiders = [
  { user: "carol" },
  { user: "erin", groups: ["readers"] },
  { user: "dave" },
  { user: "olga" },
];

/** A SharedSecret that all insiders can access, with one copy. */
async function opened(): Promise<Place & { copy: string }> {
  const project = unique("project");
  const [namespace, target] = [await makeNamespace(), await makeTarget(project)];
  const spec = { access, owner: { user: "olga" }, data: { a: base64("b") } };
  const place = await makeSharedSecret({
    namespace,
    annotations: { [annotations.syncToProjects]: project },
    spec,
  });
  await becomesReady(place);
  await becomes(
    "the insiders to be let in",
    () => letIn(place),
    insiders.map(({ user }) => user),
  );
  const copy = secretPath(target, place.name);
  expect(await api.find(copy)).toMatchObject({ code: 200 });
  return { ...place, copy };
}

async function letIn({
  namespace,
  name,
}: Pick<Place, "namespace" | "name">): Promise<readonly string[]> {
  const answers = await Promise.all(
    insiders.map(async (caller) => {
      const verbs = await Promise.all(
        ["get", "delete"].map((verb) => may(caller, { verb, namespace, name })),
      );
      return verbs.includes(true) ? [caller.user] : [];
    }),
  );
  return answers.flat();
}

const nothing: Derived = { roles: [], bindings: [] };

describe.concurrent("a SharedSecret that is deleted", () => {
  it("removes its RoleBindings, Roles and copies, and then its finalizer", async () => {
    const place = await opened();
    expect((await api.find(place.path)).metadata.finalizers).toEqual([cleanupFinalizer]);
    await api.delete(place.path);
    await becomesGone(place.path);
    expect(await derivedIn(place.namespace)).toEqual(nothing);
    expect(await api.find(place.copy)).toMatchObject({ code: 404 });
  });

  const ways: { rule: string; end: (place: Place) => Promise<unknown> }[] = [
    { rule: "deleted", end: ({ path }) => api.delete(path) },
    { rule: "deleted with --cascade=orphan", end: ({ path }) => api.orphan(path) },
    {
      rule: "deleted after its finalizer was removed",
      end: async ({ path }) => [
        await api.merge(path, { metadata: { finalizers: null } }),
        await api.delete(path),
      ],
    },
    {
      rule: "deleted with --cascade=orphan after all finalizers were removed",
      end: async ({ path }) => [
        await api.orphan(path),
        await api.merge(path, { metadata: { finalizers: null } }).catch(() => undefined),
      ],
    },
  ];
  it.each(ways)(
    "and created again with the same name gives access only to the subjects of the new one: $rule",
    async ({ end }) => {
      const { namespace, name, path, uid, copy } = await opened();
      await end({ namespace, name, path, uid });
      await becomesGone(path);
      const again = await makeSharedSecret({
        namespace,
        name,
        spec: { access: [{ users: ["frank"], verbs: ["get"] }] },
      });
      expect(again.uid).not.toBe(uid);
      await becomesReady(again);
      await becomes("no other user to be let in", () => letIn(again), []);
      await becomes(
        "the new grant alone to stand",
        async () =>
          (await derivedIn(namespace)).bindings.map(({ subjects }) =>
            subjects.map((subject) => subject.name),
          ),
        [["frank"]],
      );
      await becomesGone(copy);
      expect(await letIn(again)).toEqual([]);
    },
  );

  it("gives no user access when it is created again after its deletion", async () => {
    const { namespace, name, path } = await opened();
    await api.orphan(path);
    await becomesGone(path);
    const again = await makeSharedSecret({ namespace, name });
    expect(await letIn(again)).toEqual([]);
  });

  it("does not wait for finalizers of other controllers", async () => {
    const place = await opened();
    await api.merge(place.path, {
      metadata: { finalizers: [cleanupFinalizer, "example.com/hold"] },
    });
    await api.delete(place.path);
    await becomes(
      "Latchkey to let go",
      async () => (await api.find(place.path)).metadata.finalizers,
      ["example.com/hold"],
    );
    expect(await derivedIn(place.namespace)).toEqual(nothing);
    await becomes("no user to be let in", () => letIn(place), []);
    await api.merge(place.path, { metadata: { finalizers: null } });
    await becomesGone(place.path);
  });
});

describe.concurrent("an orphaned Role, RoleBinding or copy of a deleted SharedSecret", () => {
  const owners = [
    { rule: "with its owner reference", keep: true },
    { rule: "without an owner reference", keep: false },
  ];
  it.each(owners)("is removed, $rule", async ({ keep }) => {
    const place = await opened();
    const { roles, bindings } = await derivedIn(place.namespace);
    await api.delete(place.path);
    await becomesGone(place.path);
    await restore(place.namespace, { roles, bindings }, keep);
    await becomes("the leftovers to go", () => derivedIn(place.namespace), nothing);
  });

  it("is removed when another SharedSecret has the same name, which keeps its own objects", async () => {
    const place = await opened();
    const left = await derivedIn(place.namespace);
    await api.delete(place.path);
    await becomesGone(place.path);
    const again = await makeSharedSecret({
      ...place,
      spec: { access: [{ users: ["frank"], verbs: ["get"] }] },
    });
    await becomesReady(again);
    const own = await derivedIn(place.namespace);
    await restore(place.namespace, left, false);
    await eventually(
      async () => {
        const uids = (await derivedIn(place.namespace)).roles.map(({ metadata }) => metadata.uid);
        return uids.length === 1 && uids[0] === own.roles[0]?.metadata.uid;
      },
      { what: "the leftovers to go" },
    );
    await becomes("no other user to be let in", () => letIn(again), []);
  });
});

/** Creates derived objects again, as a restore from a backup does. */
async function restore(
  namespace: string,
  { roles, bindings }: Derived,
  withOwner: boolean,
): Promise<void> {
  const metadataOf = ({ metadata, ownerReferences }: ObservedRole | ObservedRoleBinding) => {
    const { name, labels, annotations: given } = metadata;
    return { name, labels, annotations: given, ...(withOwner && { ownerReferences }) };
  };
  for (const role of roles) {
    const rules = role.rules.map((rule) => ({ ...rule, nonResourceURLs: undefined }));
    const body = {
      apiVersion: apiVersionOf(resources.roles),
      kind: "Role",
      metadata: metadataOf(role),
      rules,
    };
    await api.create(rbacPath("roles", namespace), body);
  }
  for (const binding of bindings) {
    const { roleRef, subjects } = binding;
    const body = {
      apiVersion: apiVersionOf(resources.roleBindings),
      kind: "RoleBinding",
      metadata: metadataOf(binding),
      roleRef,
      subjects,
    };
    await api.create(rbacPath("rolebindings", namespace), body);
  }
}
