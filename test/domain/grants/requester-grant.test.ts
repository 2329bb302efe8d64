import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isRecord, listAt, stringsAt } from "../../../src/api/parse.ts";
import type { ObservedRoleBinding, GrantedObject, GrantRole } from "../../../src/api/role.ts";
import { chunkNumber } from "../../../src/domain/grants/grant-manifest.ts";
import { requesterHash } from "../../../src/domain/grants/granted-names.ts";
import type { Plan } from "../../../src/domain/plan/plan.ts";
import { observedBinding, observedRole } from "../../support/observed-objects.ts";
import { GrantModel } from "../grant-model.ts";

const hash = requesterHash("alice");
const shard = (number: number) => `latchkey-requester-${hash}-${number}`;
const token = (name: string): GrantedObject => ({ kind: "DirectClusterEndpointToken", name });
const key = (name: string): GrantedObject => ({ kind: "OwnedAccessKey", name });
const tokenKey = "directclusterendpointtokens";
const role = (number: number, ...names: string[]) =>
  observedRole(
    "alice",
    number,
    names.map((name) => `${tokenKey}/${name}`),
  );
const binding = (number: number) => observedBinding("alice", number);
const wide: GrantRole["rules"][number] = {
  apiGroups: [""],
  resources: ["secrets"],
  resourceNames: [],
  nonResourceURLs: [],
  verbs: ["get"],
};

/** A role with an additional rule, which grants all tokens. */
function open({ rules, ...rest }: GrantRole): GrantRole {
  return { ...rest, rules: [...rules, ...rules.map((rule) => ({ ...rule, resourceNames: [] }))] };
}

function unmanaged<T extends GrantRole | ObservedRoleBinding>(entry: T): T {
  return { ...entry, metadata: { ...entry.metadata, labels: {} } };
}

/** `step: verb kind chunk` of every write, with commas between. */
function linesOf(plan: Plan): string {
  const lines = plan.steps.flatMap((step, index) =>
    step.map((write) => {
      if (write.do === "patch" || write.do === "record-event") return write.do;
      const name = write.do === "delete" ? write.ref.name : write.object.metadata.name;
      return `${index}: ${write.do} ${write.resource.kind.replace("Cluster", "")} ${chunkNumber(hash, name)}`;
    }),
  );
  return lines.join(", ");
}

/** The writes that give Alice tokens of these names, with these roles and bindings before. */
function writesFor(
  roles: readonly GrantRole[],
  bindings: readonly ObservedRoleBinding[],
  ...names: readonly string[]
): string {
  return linesOf(new GrantModel(roles, bindings).plan("alice", names.map(token)));
}

describe("the grant of a requester", () => {
  const [a, b, ab] = [role(0, "a"), role(1, "b"), role(1, "a", "b")];
  const [zero, both] = [[binding(0)], [binding(0), binding(1)]];

  test.each<[string, GrantRole[], ObservedRoleBinding[], string[], string]>([
    ["needs no writes without objects", [], [], [], ""],
    ["writes nothing if it is up to date", [a], zero, ["a"], ""],
    ["adds a name to its role", [a], zero, ["a", "b"], "0: replace Role 0"],
    [
      "deletes the binding, then the role, with the last name",
      [a],
      zero,
      [],
      "0: delete RoleBinding 0, 1: delete Role 0",
    ],
    [
      "removes names before it adds others",
      [a, role(1, "b", "x")],
      both,
      ["a", "b", "c"],
      "0: replace Role 1, 1: replace Role 0",
    ],
    [
      "removes and adds names of one role in one write",
      [role(0, "a", "x")],
      zero,
      ["a", "b"],
      "0: replace Role 0",
    ],
    [
      "revokes the names of one role before it deletes another",
      [role(0, "x"), role(1, "b", "y")],
      both,
      ["b"],
      "0: delete RoleBinding 0, 0: replace Role 1, 1: delete Role 0",
    ],
    [
      "removes a rule without names before it adds names",
      [a, open(b)],
      both,
      ["a", "b", "c"],
      "0: replace Role 1, 1: replace Role 0",
    ],
    ["restores a missing binding", [a], [], ["a"], "0: create RoleBinding 0"],
    ["restores a missing role", [], zero, ["a"], "0: create Role 0"],
    ["names an object in only one role", [a, ab], both, ["a", "b"], "0: replace Role 1"],
    [
      "recreates a role with an aggregation rule, which only an administrator may change",
      [{ ...a, aggregated: true }],
      zero,
      ["a"],
      "0: delete Role 0, 1: create Role 0",
    ],
    [
      "ignores a role with another name, regardless of its label",
      [a, { ...a, metadata: { ...a.metadata, name: "mine" } }],
      zero,
      ["a"],
      "",
    ],
  ])("%s", (_rule, roles, bindings, wanted, writes) => {
    expect(writesFor(roles, bindings, ...wanted)).toBe(writes);
  });

  test("creates a role, then its binding", () => {
    const plan = new GrantModel([], []).plan("alice", [token("a"), key("b")]);
    expect(linesOf(plan)).toBe("0: create Role 0, 1: create RoleBinding 0");
  });

  const edited = (changes: Partial<GrantRole["rules"][number]>): GrantRole => ({
    ...a,
    rules: a.rules.map((rule) => ({ ...rule, ...changes })),
  });

  test.each<[string, GrantRole]>([
    ["wider rules", { ...a, rules: [...a.rules, wide] }],
    ["no names in its rule", edited({ resourceNames: [] })],
    ["more verbs", edited({ verbs: ["*"] })],
    ["more resources", edited({ resources: [tokenKey, "pods"] })],
    ["another resource", edited({ resources: ["pods"] })],
    ["no rules", { ...a, rules: [] }],
    ["no annotation", { ...a, metadata: { ...a.metadata, annotations: {} } }],
  ])("restores a role with %s", (_edit, wrong) => {
    expect(writesFor([wrong], zero, "a")).toBe("0: replace Role 0");
  });

  const own = binding(0);

  test.each<[string, Partial<ObservedRoleBinding>]>([
    ["another role", { roleRef: { ...own.roleRef, name: "cluster-admin" } }],
    ["another subject", { subjects: [...own.subjects, { kind: "User", name: "bob" }] }],
    ["no subject", { subjects: [] }],
    ["no annotation", { metadata: { ...own.metadata, annotations: {} } }],
  ])("recreates a binding with %s", (_edit, changes) => {
    const writes = writesFor([a], [{ ...own, ...changes }], "a");
    expect(writes).toBe("0: delete RoleBinding 0, 1: create RoleBinding 0");
  });

  test.each([
    ["of a requester that is reserved for Kubernetes", "system:serviceaccount:ns:sa", true],
    ["of an unknown requester", "alice", false],
  ])("revokes the grant %s", (_rule, requester, known) => {
    const model = new GrantModel(
      [observedRole(requester, 0, [`${tokenKey}/a`])],
      [observedBinding(requester, 0)],
    );
    for (const write of model.plan(requester, [token("a")], known).steps.flat()) model.apply(write);
    expect([model.roles.size, model.bindings.size]).toEqual([0, 0]);
  });

  test("keeps other labels, annotations and finalizers of its role", () => {
    const { labels, annotations } = a.metadata;
    const added = { labels: { team: "x" }, annotations: { note: "y" }, finalizers: ["z"] };
    const metadata = {
      ...a.metadata,
      ...added,
      labels: { ...labels, ...added.labels },
      annotations: { ...annotations, ...added.annotations },
    };
    const model = new GrantModel([{ ...a, metadata }], zero);
    const kept = { uid: "uid-0", resourceVersion: "7", ...added };
    expect(model.plan("alice", [token("a"), token("b")]).steps).toMatchObject([
      [{ object: { metadata: kept } }],
    ]);
  });

  test("uses the next number if a name is taken by an unmanaged object, which it does not change", () => {
    const { metadata, ...rest } = unmanaged(role(0, "x"));
    const other = { ...rest, metadata: { ...metadata, name: "another" } };
    const model = new GrantModel(
      [unmanaged(role(0, "x")), role(1, "a"), other],
      [binding(0), unmanaged(binding(1))],
    );
    const plan = model.plan("alice", [token("a")]);
    expect(plan.conflicts).toEqual(["another", shard(0), shard(1)]);
    expect(linesOf(plan)).toBe(
      "0: delete RoleBinding 0, 1: delete Role 1, 2: create Role 2, 3: create RoleBinding 2",
    );
  });
});

describe("chunks of a grant", () => {
  const many = (from: number, count: number) =>
    Array.from({ length: count }, (_entry, index) => token(`t${from + index}`));
  const sizes = (model: GrantModel) =>
    [...model.roles.values()].map(
      ({ rules }) => rules.flatMap(({ resourceNames }) => resourceNames).length,
    );
  const settle = (model: GrantModel, wanted: readonly GrantedObject[]) => {
    const { steps } = model.plan("alice", wanted);
    for (const write of steps.flat()) model.apply(write);
    return steps.flat().length;
  };

  test("contain up to 500 names, keys and tokens together", () => {
    const model = new GrantModel();
    settle(model, [...many(0, 700), ...many(0, 400).map(({ name }) => key(name))]);
    expect(sizes(model)).toEqual([500, 500, 100]);
  });

  test("keep their names and fill free space, lowest chunk first", () => {
    const model = new GrantModel();
    settle(model, many(0, 1000));
    expect(settle(model, [...many(0, 490), ...many(500, 500), ...many(2000, 12)])).toBe(3);
    expect(sizes(model)).toEqual([500, 500, 2]);
  });

  test("shrink to 500 names if a user added more", () => {
    const model = new GrantModel([role(0, ...many(0, 501).map(({ name }) => name))], [binding(0)]);
    settle(model, many(0, 501));
    expect(sizes(model)).toEqual([500, 1]);
  });

  test.each([
    [shard(12), 12],
    [shard(0), 0],
    [`${shard(0)}1x`, undefined],
    [`latchkey-requester-${hash}-`, undefined],
    [`latchkey-requester-${hash}-01`, undefined],
    [`latchkey-requester-${hash}--1`, undefined],
    [`latchkey-requester-other-1`, undefined],
    ["1", undefined],
  ])("are identified by number: %s", (name, number) => {
    expect(chunkNumber(hash, name)).toBe(number);
  });
});

const edits = [
  ...["none", "role gone", "role widened", "role aggregated", "binding gone"],
  ...["bob bound", "wrong roleRef", "label lost"],
] as const;
type Edit = (typeof edits)[number];
const objects = fc
  .uniqueArray(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 12 })), {
    selector: String,
    maxLength: 14,
  })
  .map((pairs) => pairs.map(([isKey, n]) => (isKey ? key(`n${n}`) : token(`n${n}`))));
const everything = [...Array(13).keys()].flatMap((n) => [key(`n${n}`), token(`n${n}`)]);

/**
 * A state that a user's edits, a crash or an earlier spec may leave: up to three chunks of these
 * names.
 */
function leftBehind(before: readonly GrantedObject[], made: readonly Edit[]): GrantModel {
  const parts = made.map((_edit, number) =>
    before.filter((_object, index) => index % made.length === number),
  );
  const plurals = { OwnedAccessKey: "ownedaccesskeys", DirectClusterEndpointToken: tokenKey };
  const model = new GrantModel();
  made.forEach((edit, number) => {
    const names = (parts[number] ?? []).map(({ kind, name }) => `${plurals[kind]}/${name}`);
    const whole = observedRole("alice", number, names);
    const seen =
      edit === "label lost"
        ? unmanaged(whole)
        : edit === "role widened"
          ? { ...whole, rules: [...whole.rules, wide] }
          : { ...whole, aggregated: edit === "role aggregated" };
    const bound = {
      "bob bound": { subjects: [{ kind: "User", name: "bob" }] },
      "wrong roleRef": { roleRef: { ...binding(number).roleRef, name: "cluster-admin" } },
    };
    if (edit !== "role gone") model.roles.set(seen.metadata.name, seen);
    if (edit !== "binding gone")
      model.bindings.set(shard(number), {
        ...binding(number),
        ...(edit === "bob bound" || edit === "wrong roleRef" ? bound[edit] : {}),
      });
  });
  return model;
}

describe("from any state", () => {
  const states = fc.tuple(objects, fc.array(fc.constantFrom(...edits), { maxLength: 3 }), objects);

  test("one plan leads to the wanted grants, and the next plan is empty", () => {
    fc.assert(
      fc.property(states, fc.boolean(), ([before, made, wanted], known) => {
        const model = leftBehind(before, made);
        for (const write of model.plan("alice", wanted, known).steps.flat()) model.apply(write);
        expect(model.plan("alice", wanted, known).steps).toEqual([]);
        const granted = everything.filter((object) => model.grants("alice", object));
        const due = known ? wanted : [];
        expect(new Set(granted.map((object) => JSON.stringify(object)))).toEqual(
          new Set(due.map((object) => JSON.stringify(object))),
        );
        expect(everything.some((object) => model.grants("bob", object))).toBe(false);
      }),
    );
  });

  test("no write grants more than the observed or wanted state, and none grants without names", () => {
    fc.assert(
      fc.property(states, ([before, made, wanted]) => {
        const model = leftBehind(before, made);
        const allowed = new Set(wanted.map((object) => JSON.stringify(object)));
        for (const object of everything)
          if (model.grants("alice", object)) allowed.add(JSON.stringify(object));
        for (const write of model.plan("alice", wanted).steps.flat()) {
          model.apply(write);
          const granted = everything
            .filter((object) => model.grants("alice", object))
            .map((object) => JSON.stringify(object));
          expect(granted.filter((object) => !allowed.has(object))).toEqual([]);
          const rules =
            "object" in write && isRecord(write.object) ? listAt(write.object, "rules") : [];
          for (const rule of rules) expect(stringsAt(rule, "resourceNames")).not.toEqual([]);
        }
      }),
    );
  });

  test("all revocations in chunks that gain nothing precede the first grant", () => {
    fc.assert(
      fc.property(states, ([before, made, wanted]) => {
        const model = leftBehind(before, made);
        const now = () => new Set(everything.filter((object) => model.grants("alice", object)));
        let last = now();
        const history = model
          .plan("alice", wanted)
          .steps.flat()
          .map((write) => {
            model.apply(write);
            const next = now();
            const change = {
              gave: [...next].some((object) => !last.has(object)),
              took: [...last].some((object) => !next.has(object)),
            };
            last = next;
            return change;
          });
        const afterFirstGift = history.slice(history.findIndex(({ gave }) => gave) + 1);
        const onlyTook = history.some(({ gave }) => gave)
          ? afterFirstGift.filter(({ gave, took }) => took && !gave)
          : [];
        expect(onlyTook).toEqual([]);
      }),
    );
  });
});
