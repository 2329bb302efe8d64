import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { listAt, recordAt, stringAt, stringMapAt, stringsAt } from "../../../src/api/parse.ts";
import { secretToGet } from "../../../src/domain/access-key/data-from-change.ts";
import {
  followed,
  nearChanges,
  type Sharing,
  sharingChanges,
  sharings,
} from "../../support/data-from-changes.ts";
import { runs } from "../../support/property-runs.ts";

const objectOf = ({ annotations: given, spec }: Sharing) => ({
  kind: "SharedSecret",
  metadata: { name: "shared", annotations: given },
  spec,
});
const asked = (after: Sharing, before?: Sharing) =>
  secretToGet(objectOf(after), before && objectOf(before));

describe("a change that gives the data to more requires get on the Secret:", () => {
  const rows = sharingChanges.filter(({ gives }) => gives);
  test.each(rows)("$what", ({ before, after }) => {
    expect(asked(after, before)).toBe(after.annotations[annotations.dataFrom]);
  });
});

describe("a change that only takes away requires no get:", () => {
  const rows = sharingChanges.filter(({ gives }) => !gives);
  test.each(rows)("$what", ({ before, after }) => {
    expect(asked(after, before)).toBeUndefined();
  });
});

test("null, which is stored as an empty text, counts as a change of an annotation", () => {
  const given = { [annotations.dataFrom]: followed, [annotations.syncSecretName]: null };
  const stored = { metadata: { annotations: { [annotations.dataFrom]: followed } } };
  expect(secretToGet({ metadata: { annotations: given } }, stored)).toBe(followed);
});

test.each([
  [annotations.syncToProjects, "web pay"],
  [annotations.syncToProjects, "w,".repeat(65)],
  [annotations.syncToClusters, "e*"],
  [annotations.syncToClusters, "e,".repeat(17)],
])("a list in %s that is not valid names nothing, stored or new: %s", (name, list) => {
  const naming = (text: string): Sharing => ({
    annotations: { [annotations.dataFrom]: followed, [name]: text },
    spec: {},
  });
  const [first = ""] = list.split(/[ ,*]/);
  expect(asked(naming(list), naming("web"))).toBe(followed);
  expect(asked(naming(first), naming(list))).toBe(followed);
  expect(asked(naming(""), naming(list))).toBeUndefined();
});

describe("nothing is asked", () => {
  const named = (name: string): Sharing => ({
    annotations: { [annotations.dataFrom]: name },
    spec: { access: [{ verbs: ["get"], users: ["eve"] }] },
  });
  test.each(["", "a b", "A", "a/b", "a,b", "-", "a..b", "a".repeat(254)])(
    "for the name %j, which the policy rejects",
    (name) => {
      expect(asked(named(name), named(followed))).toBeUndefined();
    },
  );

  test("for null, which the policy rejects, too", () => {
    const metadata = { name: "shared", annotations: { [annotations.dataFrom]: null } };
    expect(secretToGet({ metadata }, objectOf(named(followed)))).toBeUndefined();
  });

  test("of an object without the annotation", () => {
    expect(asked({ annotations: {}, spec: named(followed).spec })).toBeUndefined();
  });
});

/*
 * The slow model: everybody who may exist, what each may do, and all places of copies.
 */
const verbs = ["get", "list", "watch", "update", "patch", "delete"];
const people = ["ann", "eve", "system:serviceaccount:team:ci", "zoe"].flatMap((user) =>
  ["ops", "dev", "sales"].map((team) => ({ user, team })),
);
const isRejected = (name: string): boolean =>
  name === "" || (name.startsWith("system:") && name !== "system:serviceaccount:team:ci");

function mayDo({ spec }: Sharing): readonly string[] {
  const owner = recordAt(spec, "owner");
  const ownerList = (field: string) => [stringAt(owner, field) ?? []].flat();
  const ofOwner = { verbs: ["*"], users: ownerList("user"), teams: ownerList("team") };
  const rules = [{ ...ofOwner, subresources: ["*"] }, ...listAt(spec, "access")];
  return rules.flatMap((rule) => {
    const [given, users, teams] = [
      stringsAt(rule, "verbs"),
      stringsAt(rule, "users"),
      stringsAt(rule, "teams"),
    ];
    const names = [...users, ...teams];
    const isKnown = (verb: string): boolean => verb === "*" || verbs.includes(verb);
    if (!given.every(isKnown) || names.some(isRejected)) return [];
    const can = given.includes("*") ? verbs : given;
    const parts = stringsAt(rule, "subresources").length > 0 ? ["", "/status"] : [""];
    return people
      .filter(
        ({ user, team }) => names.includes("*") || users.includes(user) || teams.includes(team),
      )
      .flatMap(({ user, team }) =>
        can.flatMap((verb) => parts.map((part) => `${user} of ${team} may ${verb}${part}`)),
      );
  });
}

function placesOf({ annotations: given }: Sharing): readonly string[] {
  const named = (annotation: string) =>
    (stringMapAt({ given }, "given")[annotation] ?? "").split(/[,\n ]+/).filter((name) => name);
  const projects = named(annotations.syncToProjects);
  const clusters = ["", ...named(annotations.syncToClusters)];
  return clusters.flatMap((cluster) => projects.map((project) => `${project} in ${cluster}`));
}

describe("a write that requires no get", () => {
  const isWithin = (after: readonly string[], before: readonly string[]) => {
    const known = new Set(before);
    expect(after.filter((one) => !known.has(one))).toEqual([]);
  };

  test("gives nobody anything that the stored object does not give", () => {
    fc.assert(
      fc.property(nearChanges, ([before, after]) => {
        if (asked(after, before) !== undefined) return;
        isWithin(mayDo(after), mayDo(before));
        isWithin(placesOf(after), placesOf(before));
        for (const name of [annotations.dataFromKeys, annotations.copyLabels])
          expect(after.annotations[name]).toBe(before.annotations[name]);
      }),
      runs(20_000),
    );
  });

  test("is every one that takes rules, subjects and names out of what is applied", () => {
    const taken = fc.tuple(sharings, fc.infiniteStream(fc.boolean()));
    fc.assert(
      fc.property(taken, ([before, keep]) => {
        const kept = (list: readonly unknown[]) => list.filter(() => keep.next().value);
        const isFine = !JSON.stringify(before.spec).match(/"fly"|""|system:(admin|masters)/);
        const access = kept(listAt(before.spec, "access")).map((rule) => ({
          ...recordAt({ rule }, "rule"),
          ...(isFine && { users: kept(listAt(rule, "users")), teams: kept(listAt(rule, "teams")) }),
        }));
        const projects = kept(
          (before.annotations[annotations.syncToProjects] ?? "").split(/[,\n ]+/),
        ).join();
        const after = {
          annotations: { ...before.annotations, [annotations.syncToProjects]: projects },
          spec: { access },
        };
        expect(asked(after, before)).toBeUndefined();
      }),
      runs(5_000),
    );
  });
});
