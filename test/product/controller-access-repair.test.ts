import { afterAll, describe, expect, it } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { derivedName } from "../../src/domain/shared-secret/derived-role.ts";
import { expectNoTrouble } from "./controller-oracle.ts";
import { derivedIn, grantsOf } from "./derived-objects.ts";
import { becomes } from "../support/becomes.ts";
import { api, makeNamespace } from "../support/policy-request.ts";
import {
  becomesReady,
  makeSharedSecret,
  may,
  rbacPath,
  view,
  type Place,
} from "../support/shared-secret-requests.ts";

afterAll(expectNoTrouble);

const access = [
  { name: "readers", users: ["carol"], verbs: ["get"] },
  { name: "writers", users: ["dave"], verbs: ["get", "update"] },
];
const asWritten = ["carol: get sharedsecrets", "dave: get update sharedsecrets"];

/** A SharedSecret with its grants, and the name of the readers' Role and RoleBinding. */
async function granted(): Promise<Place & { readers: string }> {
  const namespace = await makeNamespace();
  const place = await makeSharedSecret({ namespace, spec: { access } });
  await becomesReady(place);
  expect(await grantsOf(place)).toEqual(asWritten);
  return { ...place, readers: derivedName(place, { verbs: ["get"], status: false }) };
}

interface Edit {
  rule: string;
  edit: (paths: { role: string; binding: string }) => Promise<unknown>;
}

const wide = {
  apiGroups: ["management.service"],
  resources: ["sharedsecrets"],
  verbs: ["get", "list", "delete"],
};
const eve = { kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "eve" };

const edits: Edit[] = [
  { rule: "a Role that was widened", edit: ({ role }) => api.merge(role, { rules: [wide] }) },
  { rule: "a Role that was emptied", edit: ({ role }) => api.merge(role, { rules: [] }) },
  { rule: "a Role that was deleted", edit: ({ role }) => api.delete(role) },
  {
    rule: "a RoleBinding with an additional subject",
    edit: ({ binding }) => api.merge(binding, { subjects: [{ ...eve, name: "carol" }, eve] }),
  },
  {
    rule: "a RoleBinding without subjects",
    edit: ({ binding }) => api.merge(binding, { subjects: [] }),
  },
  { rule: "a RoleBinding that was deleted", edit: ({ binding }) => api.delete(binding) },
  {
    rule: "a deleted Role and RoleBinding",
    edit: async ({ role, binding }) => [await api.delete(role), await api.delete(binding)],
  },
  {
    rule: "a widened Role and an additional subject",
    edit: async ({ role, binding }) => [
      await api.merge(binding, { subjects: [eve] }),
      await api.merge(role, { rules: [wide] }),
    ],
  },
  {
    rule: "a Role without its label",
    edit: ({ role }) => api.merge(role, { metadata: { labels: null } }),
  },
  {
    rule: "a RoleBinding without its label",
    edit: ({ binding }) => api.merge(binding, { metadata: { labels: null } }),
  },
  {
    rule: "a RoleBinding with the label of another SharedSecret",
    edit: ({ binding }) =>
      api.merge(binding, { metadata: { labels: { [labels.sourceUid]: "another" } } }),
  },
  {
    rule: "a RoleBinding without annotations and owner",
    edit: ({ binding }) =>
      api.merge(binding, { metadata: { annotations: null, ownerReferences: null } }),
  },
];

describe.concurrent("the Roles and RoleBindings of a SharedSecret are repaired:", () => {
  it.each(edits)("$rule", async ({ edit }) => {
    const { readers, ...place } = await granted();
    const role = rbacPath("roles", place.namespace, readers);
    const binding = rbacPath("rolebindings", place.namespace, readers);
    await edit({ role, binding });
    await becomes("the grants to be as written", () => grantsOf(place), asWritten);
    const owned = {
      metadata: {
        annotations: { [annotations.source]: place.name, [annotations.rules]: '["readers"]' },
        ownerReferences: [{ uid: place.uid }],
      },
    };
    await becomes("the Role to be marked", () => api.find(role), owned);
    await becomes("the RoleBinding to be marked", () => api.find(binding), owned);
    const isAllowed = async (user: string) =>
      may({ user }, { verb: "get", namespace: place.namespace, name: place.name });
    await becomes("carol to be let in", () => isAllowed("carol"), true);
    await becomes("eve to be shut out", () => isAllowed("eve"), false);
  });

  it("keeps labels and annotations of other users", async () => {
    const { readers, ...place } = await granted();
    const role = rbacPath("roles", place.namespace, readers);
    await api.merge(role, {
      metadata: { labels: { team: "a" }, annotations: { note: "b" } },
      rules: [wide],
    });
    await becomes("the grants to be as written", () => grantsOf(place), asWritten);
    expect(await api.find(role)).toMatchObject({
      metadata: { labels: { team: "a" }, annotations: { note: "b" } },
    });
  });
});

describe.concurrent("an unmanaged object with the name of a derived one", () => {
  const foreign = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "Role",
    rules: [{ ...wide, verbs: ["*"] }],
  };

  it.each(["roles", "rolebindings"] as const)(
    "in %s is reported, not changed and not used",
    async (plural) => {
      const namespace = await makeNamespace();
      const place = await makeSharedSecret({ namespace });
      await becomesReady(place);
      const name = derivedName(place, { verbs: ["get"], status: false });
      const roleRef = { apiGroup: eve.apiGroup, kind: "Role", name: "none" };
      const metadata = { name, labels: { owner: "somebody" } };
      const body =
        plural === "roles" ? { ...foreign, metadata } : { metadata, roleRef, subjects: [eve] };
      const before = await api.create(rbacPath(plural, namespace), body);

      await api.merge(place.path, { spec: { access } });
      const trouble = { reason: "NameConflict", message: expect.stringContaining(name) };
      await becomes("the conflict to be reported", () => view(place), {
        settled: true,
        conditions: {
          Ready: { status: "False", ...trouble },
          AccessApplied: { status: "False", ...trouble },
          Stalled: { status: "True", ...trouble },
        },
      });
      const isAllowed = (user: string) =>
        may({ user }, { verb: "get", namespace, name: place.name });
      await becomes("the other rule to be applied", () => isAllowed("dave"), true);
      expect(await isAllowed("carol")).toBe(false);
      expect((await api.find(rbacPath(plural, namespace, name))).metadata).toEqual(before.metadata);

      await api.delete(rbacPath(plural, namespace, name));
      await becomes("the grants to be as written", () => grantsOf(place), asWritten);
      await becomesReady(place);
      await becomes("carol to be let in", () => isAllowed("carol"), true);
    },
  );

  it("is taken over if it has Latchkey's labels, and created again if it has another roleRef", async () => {
    const namespace = await makeNamespace();
    const place = await makeSharedSecret({ namespace });
    await becomesReady(place);
    const name = derivedName(place, { verbs: ["get"], status: false });
    const roleRef = { apiGroup: eve.apiGroup, kind: "ClusterRole", name: "view" };
    await api.create(rbacPath("rolebindings", namespace), {
      metadata: { name, labels: { [labels.sourceUid]: place.uid } },
      roleRef,
      subjects: [eve],
    });
    await api.merge(place.path, { spec: { access } });
    await becomes("the grants to be as written", () => grantsOf(place), asWritten);
    await becomesReady(place);
    await becomes(
      "eve to be shut out",
      () => may({ user: "eve" }, { verb: "get", namespace, name: place.name }),
      false,
    );
  });

  it("is kept when the SharedSecret is deleted", async () => {
    const namespace = await makeNamespace();
    const place = await makeSharedSecret({ namespace, spec: { access } });
    const path = rbacPath("roles", namespace);
    const before = await api.create(path, {
      ...foreign,
      metadata: { name: "latchkey-somebody-elses" },
    });
    await becomesReady(place);
    await api.delete(place.path);
    await becomes("the object to be gone", () => api.find(place.path), { code: 404 });
    const { roles, bindings } = await derivedIn(namespace);
    expect(roles.map(({ metadata }) => metadata.uid)).toEqual([before.metadata.uid]);
    expect(bindings).toEqual([]);
  });
});

describe.concurrent("a change of access rules", () => {
  it("does not interrupt the access of remaining users, and all users end with the access of the spec", async () => {
    const { readers: _, ...place } = await granted();
    const { namespace, name } = place;
    const isAllowed = (user: string, verb: string) => may({ user }, { verb, namespace, name });
    await becomes("carol to be let in", () => isAllowed("carol", "get"), true);
    const answers: boolean[] = [];
    for (const [first, second] of [
      ["dave", "carol"],
      ["carol", "dave"],
      ["dave", "carol"],
    ]) {
      await api.merge(place.path, {
        spec: {
          access: [
            { ...access[0], users: [first] },
            { ...access[1], users: [second] },
          ],
        },
      });
      await becomes(
        `${second} to move up`,
        async () => {
          answers.push(await isAllowed("carol", "get"), await isAllowed("dave", "get"));
          return [await isAllowed(second ?? "", "update"), await isAllowed(first ?? "", "update")];
        },
        [true, false],
      );
    }
    expect(answers.filter((answer) => !answer)).toEqual([]);
    await becomes("nothing to be left over", () => grantsOf(place), [
      "carol: get update sharedsecrets",
      "dave: get sharedsecrets",
    ]);
  });

  it("creates a Role for other verbs, and deletes the old Role", async () => {
    const { readers, ...place } = await granted();
    await api.merge(place.path, {
      spec: {
        access: [
          { name: "readers", users: ["carol"], verbs: ["list", "get"], subresources: ["status"] },
        ],
      },
    });
    await becomes("the new Role alone", () => grantsOf(place), [
      "carol: get list sharedsecrets sharedsecrets/status",
    ]);
    expect(await api.find(rbacPath("roles", place.namespace, readers))).toMatchObject({
      code: 404,
    });
  });

  it("uses one Role for rules with the same verbs, and names the rules in it", async () => {
    const { readers, ...place } = await granted();
    await api.merge(place.path, {
      spec: { access: [...access, { name: "also", teams: ["qa"], verbs: ["get", "get"] }] },
    });
    await becomes("the subjects to be joined", () => grantsOf(place), [
      "dave: get update sharedsecrets",
      "qa carol: get sharedsecrets",
    ]);
    expect(await api.find(rbacPath("roles", place.namespace, readers))).toMatchObject({
      metadata: { annotations: { [annotations.rules]: '["also","readers"]' } },
    });
  });
});
