import { describe, expect, test } from "vitest";
import { annotations, labels } from "../../src/api/names.ts";
import { isRaw, merged, nameOf, type Raw } from "../specification/raw.ts";
import { differencesIn } from "./end-state.ts";
import { ownValues, placeholderLabel, placeholders as places } from "./objects.ts";

const created = { creationTimestamp: "2026-01-01T00:00:00Z", resourceVersion: "1", generation: 1 };
const finalizers = ["management.service/cleanup"];
const condition = (type: string, reason: string) => ({ type, status: "True", reason });
const ready = (reason: string, more: object = {}) => ({
  observedGeneration: 1,
  conditions: [condition("Ready", reason)],
  ...more,
});
const asks = { [labels.sharedSecretName]: "db", [labels.sharedSecretNamespace]: "home" };
const [first = { namespace: "", name: "" }, ...others] = places;
const requester = { [annotations.requester]: "alice" };
const alice = { kind: "User", name: "alice" };
const keyRule = {
  resources: ["ownedaccesskeys"],
  resourceNames: ["k"],
  verbs: ["get", "list", "watch", "patch", "delete"],
};
const role = "latchkey-db-0123456789abcdef";
const derived = { namespace: "home", name: role, labels: { [labels.sourceUid]: "u1" } };

/** A state at rest, by the ids of its objects. */
const right: Readonly<Record<string, object>> = {
  "namespaces/home": { metadata: { name: "home" } },
  "namespaces/web-1": {
    metadata: {
      name: "web-1",
      labels: { [labels.project]: "web" },
      annotations: { [annotations.sync]: "enabled" },
    },
  },
  [`namespaces/${first.namespace}`]: {
    metadata: { name: first.namespace, labels: { [labels.project]: "web" } },
  },
  "sharedsecrets/home/db": {
    kind: "SharedSecret",
    metadata: {
      ...created,
      namespace: "home",
      name: "db",
      uid: "u1",
      finalizers,
      annotations: { [annotations.syncToProjects]: "pay, web" },
    },
    spec: { data: { a: "QQ==" }, access: [{ verbs: ["get"], users: ["alice"] }] },
    status: {
      observedGeneration: 1,
      keys: 1,
      conditions: [condition("Synced", "Synced")],
      sync: { desired: 2, synced: 2, conflicts: 0, failed: 0 },
    },
  },
  "secrets/web-1/db": {
    metadata: {
      namespace: "web-1",
      name: "db",
      labels: { [labels.sourceUid]: "u1" },
      annotations: { [annotations.copyOf]: "home/db -> web-1/db" },
    },
    type: "Opaque",
    data: { a: "QQ==" },
  },
  [`secrets/${nameOf(first)}`]: {
    metadata: {
      ...first,
      labels: { ...asks, [labels.sourceUid]: "u1", [placeholderLabel]: "own" },
      annotations: {
        [annotations.copyOf]: `home/db -> ${nameOf(first)}`,
        [annotations.filled]: "true",
      },
    },
    type: "Opaque",
    data: { a: "QQ==" },
  },
  ...Object.fromEntries(
    others.map((place) => [
      `secrets/${nameOf(place)}`,
      {
        metadata: { ...place, labels: { [placeholderLabel]: "own" } },
        data: { former: ownValues.former },
      },
    ]),
  ),
  [`roles/home/${role}`]: {
    metadata: derived,
    rules: [{ verbs: ["get"], resources: ["sharedsecrets"], resourceNames: ["db"] }],
  },
  [`rolebindings/home/${role}`]: { metadata: derived, roleRef: { name: role }, subjects: [alice] },
  "ownedaccesskeys/k": {
    kind: "OwnedAccessKey",
    metadata: { ...created, name: "k", uid: "u2", finalizers, annotations: requester },
    spec: { key: "canary-1" },
    status: ready("Active"),
  },
  "clusterroles/latchkey-a": { metadata: { name: "latchkey-a" }, rules: [keyRule] },
  "clusterrolebindings/latchkey-a": {
    metadata: { name: "latchkey-a" },
    roleRef: { name: "latchkey-a" },
    subjects: [alice],
  },
};

/** What is said of the state with changes, as JSON merge patches of its objects. */
function problems(changes: Readonly<Record<string, object | null>> = {}): readonly string[] {
  const state = merged(right, changes);
  const objects = Object.entries(state ?? {}).flatMap(([id, value]): [string, Raw][] =>
    isRaw(value) ? [[id, value]] : [],
  );
  return differencesIn({ objects: new Map(objects), now: Date.parse("2026-01-01T01:00:00Z") });
}

const copy = "secrets/web-1/db";
const asking = `secrets/${nameOf(first)}`;
const key = "ownedaccesskeys/k";

describe("the end state of a soak", () => {
  test("has no differences if every object follows from what was requested", () => {
    expect(problems()).toEqual([]);
  });

  test.each<[string, Readonly<Record<string, object | null>>, RegExp]>([
    ["a copy is missing", { [copy]: null }, /web-1\/db does not exist/],
    ["a copy has different data", { [copy]: { data: { a: "Qg==" } } }, /web-1\/db has other data/],
    ["a copy has additional data", { [copy]: { data: { b: "QQ==" } } }, /web-1\/db has other data/],
    ["the source does not exist", { "sharedsecrets/home/db": null }, /without consent/],
    [
      "the source says that it cannot be applied",
      {
        "sharedsecrets/home/db": {
          status: {
            conditions: [condition("Synced", "Synced"), condition("Ready", "ApplyFailed")],
          },
        },
      },
      /home\/db says that it cannot be applied/,
    ],
    ["a placeholder is deleted", { [`secrets/${nameOf(others[0] ?? first)}`]: null }, /is gone/],
    [
      "a placeholder has all data although it asks for a part",
      { [asking]: { metadata: { annotations: { [annotations.syncKeys]: "PASS=a" } } } },
      /has other data/,
    ],
    [
      "a placeholder keeps its data when its namespace has left the project",
      { [`namespaces/${first.namespace}`]: { metadata: { labels: null } } },
      /without consent/,
    ],
    [
      "a placeholder keeps its data without its marks",
      {
        [asking]: { metadata: { labels: { [labels.sharedSecretName]: null }, annotations: null } },
      },
      /has data of others without a mark/,
    ],
    ["a user lacks a grant", { [`rolebindings/home/${role}`]: null }, /does not grant User alice/],
    [
      "a user has a grant without an access rule",
      { [`rolebindings/home/${role}`]: { subjects: [alice, { kind: "User", name: "bob" }] } },
      /grants User bob get/,
    ],
    ["a status is of an earlier spec", { [key]: { metadata: { generation: 2 } } }, /is old/],
    [
      "a status has a wrong number of copies",
      { "sharedsecrets/home/db": { status: { sync: { synced: 1 } } } },
      /^status of home\/db/,
    ],
    ["a disabled key is active", { [key]: { spec: { disabled: true } } }, /instead of Disabled/],
    ["an expired key still exists", { [key]: { spec: { ttl: 5 } } }, /has a short lifetime/],
    [
      "the deletion of a key does not finish",
      { [key]: { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } } },
      /is being deleted, and does not go/,
    ],
    ["a grant of a deleted key still exists", { [key]: null }, /grants User alice/],
  ])("reports a difference if %s", (_, changes, sentence) => {
    expect(problems(changes)).toContainEqual(expect.stringMatching(sentence));
  });
});
