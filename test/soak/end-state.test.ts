import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { differencesIn } from "./end-state.ts";
import { ownValues, placeholders as places } from "./objects.ts";
import type { Seen } from "./seen.ts";

const createdAt = (second: number) => ({
  creationTimestamp: `2026-01-01T00:00:0${second}Z`,
  generation: 1,
});
const ready = (reason: string, more: object = {}) => ({
  observedGeneration: 1,
  conditions: [{ type: "Ready", status: "True", reason, message: "", lastTransitionTime: "" }],
  ...more,
});
const namespace = {
  metadata: {
    name: "web-1",
    labels: { [labels.project]: "web" },
    annotations: { [annotations.sync]: "enabled" },
  },
};
const shared = {
  metadata: {
    ...createdAt(0),
    namespace: "home",
    name: "db",
    uid: "u1",
    annotations: { [annotations.syncToProjects]: "pay, web" },
  },
  spec: {
    data: { a: "QQ==" },
    owner: {},
    access: [
      { verbs: ["get"], users: ["alice"] },
      { verbs: ["create"], users: ["bob"] },
    ],
  },
  status: ready("Ready", { sync: { synced: 2 } }),
};
const copy = {
  metadata: {
    namespace: "web-1",
    name: "db",
    labels: { [labels.sourceUid]: "u1" },
    annotations: { [annotations.copyOf]: "home/db -> web-1/db" },
  },
  data: { a: "QQ==" },
};
const soakSpace = { metadata: { name: "soak-target-0", labels: { [labels.project]: "web" } } };
const others = places.map((metadata) => ({ metadata, data: { former: ownValues.former } }));
const [first] = places;
const asking = {
  metadata: {
    ...first,
    labels: {
      [labels.sharedSecretName]: "db",
      [labels.sharedSecretNamespace]: "home",
      [labels.sourceUid]: "u1",
    },
    annotations: {
      [annotations.copyOf]: "home/db -> soak-target-0/soak-asking-0",
      [annotations.filled]: "true",
    },
  },
  data: { a: "QQ==" },
};
const asks = {
  [labels.sharedSecretName]: "db",
  [labels.sharedSecretNamespace]: "home",
};
const withFirst = (secret: object): Partial<Seen> => ({
  placeholders: [{ ...asking, ...secret }, ...others.slice(1)],
});
const role = {
  metadata: { namespace: "home", name: "r" },
  rules: [{ verbs: ["get"], resources: ["sharedsecrets"], resourceNames: ["db"] }],
};
const binding = {
  metadata: { namespace: "home", name: "r" },
  roleRef: { name: "r" },
  subjects: [{ kind: "User", name: "alice" }],
};
const requester = { annotations: { [annotations.requester]: "alice" } };
const key = {
  metadata: { ...createdAt(1), ...requester, name: "k", uid: "u2" },
  spec: { key: "canary-1" },
  status: ready("Active"),
};
const token = {
  metadata: { ...createdAt(1), ...requester, name: "t", uid: "u3" },
  spec: { ttl: 3600 },
  status: ready("Minted", { token: "…" }),
};
const rules = [
  { resources: ["ownedaccesskeys"], resourceNames: ["k"] },
  { resources: ["directclusterendpointtokens"], resourceNames: ["t"] },
];
const grant = { metadata: { name: "g" }, rules };
const grantBinding = {
  metadata: { name: "g" },
  roleRef: { name: "g" },
  subjects: [{ kind: "User", name: "alice" }],
};

/** An object with other metadata. */
const changed = <T extends { readonly metadata: object }>(object: T, metadata: object): T => ({
  ...object,
  metadata: { ...object.metadata, ...metadata },
});

const right: Seen = {
  sharedSecrets: [shared],
  namespaces: [
    namespace,
    soakSpace,
    { metadata: { name: "none", annotations: { [annotations.sync]: "enabled" } } },
  ],
  copies: [copy],
  placeholders: [asking, ...others.slice(1)],
  roles: [role],
  bindings: [binding],
  keys: [key],
  tokens: [token],
  grants: [grant],
  grantBindings: [grantBinding],
};

const moved = changed(copy, { namespace: "pay-1" });
const younger = changed(key, createdAt(2));
const bob = { kind: "User", name: "bob" };
const annotated = { ...asking.metadata.annotations, [annotations.syncKeys]: "PASS=password" };

describe("the end state of a soak", () => {
  test("has no differences if every object follows from what was requested", () => {
    expect(differencesIn(right)).toEqual([]);
  });

  test.each<[string, Partial<Seen>, RegExp]>([
    ["a copy is missing", { copies: [] }, /^missing: the copy web-1\/db/],
    ["a copy is orphaned", { copies: [copy, moved] }, /^too much: the copy pay-1\/db/],
    [
      "a copy has different data",
      { copies: [{ ...copy, data: { a: "Qg==" } }] },
      /web-1\/db with other data$/,
    ],
    [
      "a copy has additional data",
      { copies: [{ ...copy, data: { ...copy.data, b: "QQ==" } }] },
      /web-1\/db with other data$/,
    ],
    ["the source of a copy does not exist", { sharedSecrets: [] }, /^too much: the copy/],
    [
      "a placeholder is deleted",
      { placeholders: others.slice(1) },
      /^missing: the placeholder soak-target-0\/soak-asking-0 exists$/,
    ],
    [
      "a placeholder is not filled",
      withFirst({ metadata: { ...first, labels: asks }, data: {} }),
      /^missing: the placeholder .* has the data of home\/db that it asks for$/,
    ],
    [
      "a placeholder has all data although it asks for a part",
      withFirst(changed(asking, { annotations: annotated })),
      /^too much: the placeholder .* has other data$/,
    ],
    [
      "a placeholder keeps its data when its namespace has left the project",
      { namespaces: [namespace, { metadata: { name: "soak-target-0" } }] },
      /^missing: the placeholder soak-target-0\/soak-asking-0 has no data of Latchkey$/,
    ],
    [
      "a placeholder keeps its data without its marks",
      withFirst({ metadata: first }),
      /^too much: the placeholder soak-target-0\/soak-asking-0 has other data$/,
    ],
    [
      "a placeholder keeps its marks when it does not ask any more",
      withFirst(changed(asking, { labels: { [labels.sourceUid]: "u1" } })),
      /^missing: the placeholder soak-target-0\/soak-asking-0 has no data of Latchkey$/,
    ],
    ["a user lacks a grant of an access rule", { bindings: [] }, /^missing: User alice may get/],
    [
      "a user has a grant without an access rule",
      { bindings: [{ ...binding, subjects: [...binding.subjects, bob] }] },
      /^too much: User bob may get/,
    ],
    [
      "a Role is orphaned",
      { roles: [role, changed(role, { name: "r2" })] },
      /no user is bound to home\/r2/,
    ],
    [
      "the Role of a binding does not exist",
      { roles: [] },
      /a binding to home\/r, which is not there/,
    ],
    [
      "a status is of an earlier spec",
      { keys: [changed(key, { generation: 2 })] },
      /^missing: the status of k is current/,
    ],
    [
      "a status has a wrong number of copies",
      { sharedSecrets: [{ ...shared, status: ready("Ready", { sync: { synced: 1 } }) }] },
      /^too much: home\/db counts 1 copies/,
    ],
    [
      "a disabled key is active",
      { keys: [{ ...key, spec: { ...key.spec, disabled: true } }] },
      /^missing: k is Disabled/,
    ],
    [
      "a newer duplicate key is active",
      { keys: [changed(key, { name: "old", uid: "u0" }), younger] },
      /^missing: k is DuplicateKey/,
    ],
    [
      "an expired key still exists",
      { keys: [{ ...key, spec: { ...key.spec, ttl: 5 } }] },
      /^too much: k is Active/,
    ],
    [
      "the deletion of a key does not finish",
      { keys: [changed(key, { deletionTimestamp: "2026-01-01T00:00:00Z" })] },
      /^too much: k is going/,
    ],
    [
      "a token is not issued",
      { tokens: [{ ...token, status: ready("Minted") }] },
      /^missing: t is Minted with a token/,
    ],
    [
      "a requester has no grant for its token",
      { grants: [{ ...grant, rules: rules.slice(0, 1) }] },
      /^missing: alice is granted directclusterendpointtokens t/,
    ],
    [
      "a grant of a deleted key still exists",
      { keys: [] },
      /^too much: alice is granted ownedaccesskeys k/,
    ],
  ])("reports a difference if %s", (_, change, sentence) => {
    expect(differencesIn({ ...right, ...change })).toContainEqual(expect.stringMatching(sentence));
  });
});
