import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Subject } from "../../../src/api/role.ts";
import { accessSteps, revokeSteps } from "../../../src/domain/shared-secret/access.ts";
import type { Grant } from "../../../src/domain/shared-secret/access-rules.ts";
import {
  bindingManifest,
  derivedRoles,
  roleManifest,
} from "../../../src/domain/shared-secret/derived-role.ts";
import { AccessModel, leftoverMarks, type Rights, rightsOf, secret } from "../access-model.ts";
import { runs } from "../../support/property-runs.ts";

const users = ["ann", "ben", "cem", "dia"];
const user = (name: string): Subject => ({
  kind: "User",
  apiGroup: "rbac.authorization.k8s.io",
  name,
});
const grant = fc.record({
  permission: fc.record({
    verbs: fc.constantFrom(["get"], ["get", "update"], ["delete", "get"]),
    status: fc.boolean(),
  }),
  subjects: fc
    .uniqueArray(fc.constantFrom(...users), { minLength: 1 })
    .map((names) => names.map(user)),
});
const grants: fc.Arbitrary<readonly Grant[]> = fc.array(grant, { maxLength: 4 });

type Edit =
  | "none"
  | "role gone"
  | "role widened"
  | "binding gone"
  | "subject added"
  | "label lost"
  | "wrong roleRef";
const edits = fc.array(
  fc.constantFrom<Edit>(
    "none",
    "role gone",
    "role widened",
    "binding gone",
    "subject added",
    "label lost",
    "wrong roleRef",
  ),
  { maxLength: 3 },
);

/** The existing objects for `before`, with these manual edits. */
function standing(before: readonly Grant[], made: readonly Edit[]): AccessModel {
  const model = new AccessModel();
  derivedRoles(secret, before).forEach((role, index) => {
    model.put(roleManifest(secret, role));
    model.put(bindingManifest(secret, role, role.subjects));
    const edited = roleManifest(secret, role);
    const wide = { apiGroups: [""], resources: ["secrets"], verbs: ["get"] };
    switch (made[index] ?? "none") {
      case "none":
        break;
      case "role gone":
        model.removeRole(role.name);
        break;
      case "role widened":
        model.put({ ...edited, rules: [wide] });
        break;
      case "binding gone":
        model.removeBinding(role.name);
        break;
      case "subject added":
        model.put(bindingManifest(secret, role, [...role.subjects, user("eve")]));
        break;
      case "label lost":
        model.put({ ...edited, metadata: { ...edited.metadata, labels: {} } });
        break;
      case "wrong roleRef": {
        const binding = bindingManifest(secret, role, role.subjects);
        model.put({
          ...binding,
          roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
        });
        break;
      }
    }
  });
  return model;
}

function isWithin(rights: Rights, ...bounds: readonly Rights[]): boolean {
  return [...rights].every((right) => bounds.some((bound) => bound.has(right)));
}

const situation = fc.record({
  before: grants,
  after: grants,
  made: edits,
  order: fc.array(fc.nat(), { minLength: 40, maxLength: 40 }),
});

function shuffled<T>(items: readonly T[], order: readonly number[]): readonly T[] {
  return items
    .map((item, index) => ({ item, rank: order[index % order.length] ?? 0 }))
    .sort((one, other) => one.rank - other.rank)
    .map(({ item }) => item);
}

describe("the steps of a reconcile of access", () => {
  test("lead to exactly the wanted permissions, and then to no further steps", () => {
    fc.assert(
      fc.property(situation, ({ before, after, made, order }) => {
        const model = standing(before, made);
        const wanted = derivedRoles(secret, after);
        for (const step of accessSteps(model.seen(), wanted))
          shuffled(step, order).forEach((write) => model.apply(write));
        expect(model.rights()).toEqual(rightsOf(wanted));
        expect(accessSteps(model.seen(), wanted)).toEqual([]);
      }),
      runs(250),
    );
  });

  test("never grant what neither the observed state nor the spec grants, in any order of writes", () => {
    fc.assert(
      fc.property(situation, ({ before, after, made, order }) => {
        const model = standing(before, made);
        const found = model.rights();
        const wanted = derivedRoles(secret, after);
        for (const step of accessSteps(model.seen(), wanted)) {
          for (const write of shuffled(step, order)) {
            model.apply(write);
            expect(isWithin(model.rights(), found, rightsOf(wanted))).toBe(true);
          }
        }
      }),
      runs(250),
    );
  });

  test("never revoke access that a subject keeps, unless a user edited the objects", () => {
    fc.assert(
      fc.property(situation, ({ before, after, order }) => {
        const model = standing(before, []);
        const wanted = derivedRoles(secret, after);
        const kept = new Set([...model.rights()].filter((right) => rightsOf(wanted).has(right)));
        for (const step of accessSteps(model.seen(), wanted)) {
          for (const write of shuffled(step, order)) {
            model.apply(write);
            expect(isWithin(kept, model.rights())).toBe(true);
          }
        }
      }),
      runs(250),
    );
  });

  test("revoke the access of subjects that are no longer named in the first step", () => {
    fc.assert(
      fc.property(situation, ({ before, after, made, order }) => {
        const model = standing(before, made);
        const wanted = derivedRoles(secret, after);
        const named = new Set(wanted.flatMap(({ subjects }) => subjects.map(({ name }) => name)));
        const isDropped = (right: string): boolean => !named.has(right.split(/[/ ]/)[2] ?? "");
        const [first = []] = accessSteps(model.seen(), wanted);
        shuffled(first, order).forEach((write) => model.apply(write));
        expect([...model.rights()].filter(isDropped)).toEqual([]);
      }),
      runs(250),
    );
  });

  test("lead to the same result in the next reconcile if they are interrupted anywhere", () => {
    fc.assert(
      fc.property(situation, fc.nat(20), ({ before, after, made, order }, crashAfter) => {
        const model = standing(before, made);
        const wanted = derivedRoles(secret, after);
        const writes = accessSteps(model.seen(), wanted).flatMap((step) => shuffled(step, order));
        writes.slice(0, crashAfter).forEach((write) => model.apply(write));
        accessSteps(model.seen(), wanted)
          .flat()
          .forEach((write) => model.apply(write));
        expect(model.rights()).toEqual(rightsOf(wanted));
      }),
      runs(250),
    );
  });
});

test("replaces one reader by another in one write", () => {
  const readers = (...names: readonly string[]): readonly Grant[] => [
    { permission: { verbs: ["get"], status: false }, subjects: names.map(user) },
  ];
  const model = standing(readers("ann", "ben"), []);
  const steps = accessSteps(model.seen(), derivedRoles(secret, readers("ben", "cem")));
  expect(steps.flat()).toMatchObject([{ do: "replace", object: { kind: "RoleBinding" } }]);
});

test("repairs a binding with another subject and without its label in one write", () => {
  const grants = [{ permission: { verbs: ["get"], status: false }, subjects: [user("ann")] }];
  const model = standing(grants, []);
  const wanted = derivedRoles(secret, grants);
  for (const role of wanted) {
    const edited = bindingManifest(secret, role, [...role.subjects, user("mallory")]);
    model.put({ ...edited, metadata: { ...edited.metadata, labels: {} } });
  }
  const writes = accessSteps(model.seen(), wanted).flat();
  expect(writes).toMatchObject([{ do: "replace", object: { kind: "RoleBinding" } }]);
  for (const write of writes) model.apply(write);
  expect(accessSteps(model.seen(), wanted)).toEqual([]);
});

describe("the derived objects of an earlier object with the same name", () => {
  const wanted = derivedRoles(secret, [
    { permission: { verbs: ["get"], status: false }, subjects: [user("ann")] },
  ]);

  test("are deleted, bindings first, without changing what is wanted", () => {
    const model = new AccessModel();
    const role = {
      name: "latchkey-database-0123456789abcdef",
      permission: { verbs: ["get"], status: false },
      subjects: [user("mallory")],
      rules: "[]",
    };
    const named = (manifest: ReturnType<typeof roleManifest>) => ({
      ...manifest,
      metadata: { ...manifest.metadata, ...leftoverMarks },
    });
    model.put(named(roleManifest(secret, role)));
    model.put(named(bindingManifest(secret, role, role.subjects)));
    const steps = accessSteps(model.seen(), wanted);
    expect(steps[0]).toMatchObject([
      { do: "delete", ref: { name: "latchkey-database-0123456789abcdef" } },
    ]);
    steps.flat().forEach((write) => model.apply(write));
    expect(model.rights()).toEqual(rightsOf(wanted));
    expect(model.roles).toHaveLength(1);
  });

  test("does not change an unmanaged object with a derived name", () => {
    const model = new AccessModel();
    const [role] = wanted;
    if (role === undefined) throw new Error("no role is wanted");
    const strange = roleManifest(secret, role);
    model.put({ ...strange, metadata: { namespace: "team-a", name: role.name } });
    expect(accessSteps(model.seen(), wanted)).toEqual([]);
  });

  test("deletes bindings before Roles on deletion", () => {
    const model = standing(
      [{ permission: { verbs: ["get"], status: false }, subjects: [user("ann")] }],
      [],
    );
    const plurals = revokeSteps(model.seen()).map((step) =>
      step.map((write) => (write.do === "delete" ? write.resource.plural : write.do)),
    );
    expect(plurals).toEqual([["rolebindings"], ["roles"]]);
  });
});
