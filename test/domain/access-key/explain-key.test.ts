import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ScopeLimit } from "../../../src/api/scope.ts";
import { authenticate } from "../../../src/domain/access-key/authenticate.ts";
import {
  explainKey,
  explainReportedKey,
  explainUnknownRoles,
} from "../../../src/domain/access-key/explain-key.ts";
import { explainRequest } from "../../../src/domain/access-key/explain-request.ts";
import type { ResolvedKey } from "../../../src/domain/access-key/key-state.ts";
import { type KeyChanges, resolvedKey } from "./resolved-key.ts";
import { resourceRequest } from "../scope/requests.ts";
import { born, deletedMetadata, observedMetadata } from "../../support/observed-objects.ts";

const empty = { roles: [], projects: [], spaces: [], virtualClusters: [], clusters: [], rules: [] };
const digest = "canary-digest";

function keyOf(changes: KeyChanges = {}): ResolvedKey {
  const key = { metadata: observedMetadata({ name: "ci" }), keyDigest: digest, ...changes.key };
  const owner = changes.spec?.subject === undefined ? { user: "alice" } : {};
  return resolvedKey({ owner, ...changes, key });
}

const refusals: readonly [string, KeyChanges, string][] = [
  ["Deleted", { key: { metadata: deletedMetadata } }, "metadata.deletionTimestamp"],
  ["Disabled", { spec: { disabled: true } }, "spec.disabled"],
  ["Expired", { spec: { ttl: 1 } }, "spec.ttl"],
  [
    "UnknownRequester",
    { requester: { kind: "unknown", why: "no policies" } },
    'metadata.annotations["management.service/requester"]',
  ],
  ["InvalidKey", { key: { keyDigest: undefined, isUnbound: true } }, "spec.key"],
  ["MissingKey", { key: { keyDigest: undefined } }, "spec.key"],
  ["UnsupportedSubject", { spec: { subject: "system:admin" } }, "spec.subject"],
  ["UnsupportedSubject", { spec: { groups: ["system:masters"] } }, "spec.groups"],
  ["InvalidScope", { spec: { scope: "unreadable" } }, "spec.scope"],
  ["DuplicateKey", { duplicate: { kind: "over-limit" } }, "spec.key"],
  [
    "ParentKeyInvalid",
    { parentKey: "gone" },
    'metadata.annotations["management.service/requester-key-id"]',
  ],
];

describe("a key that is not accepted", () => {
  test.for(refusals)("is explained by a field: %s", ([reason, changes, field]) => {
    const explanation = explainKey(keyOf(changes), born + 1_000);
    expect(explanation).toMatchObject({ state: "problem", reason, causes: [{ field }] });
    expect(JSON.stringify(explanation)).not.toContain(digest);
  });

  test("names the field of the parent key", () => {
    const parentKey = keyOf({
      spec: { disabled: true },
      key: { metadata: observedMetadata({ name: "parent" }) },
    });
    const { causes } = explainKey(keyOf({ parentKey }), born);
    expect(causes).toMatchObject([
      { object: { name: "ci" } },
      { object: { name: "parent" }, field: "spec.disabled" },
    ]);
  });

  test("is explained by the reason that the controller reports", () => {
    const reported = { reason: "DuplicateKey", message: "An older key is the same." };
    expect(explainReportedKey(keyOf(), reported, born)).toMatchObject({
      state: "problem",
      message: reported.message,
      causes: [{ object: { name: "ci" }, field: "spec.key" }],
    });
    const other = { reason: "ApplyFailed", message: "A write fails." };
    expect(explainReportedKey(keyOf(), other, born)).toMatchObject({
      causes: [{ field: "status.conditions" }],
    });
  });

  test("is never accepted at authentication, and the other way round", () => {
    const some = fc.subarray(
      refusals.map(([, changes]) => changes),
      { maxLength: 3 },
    );
    fc.assert(
      fc.property(some, fc.boolean(), (several, isLate) => {
        const spec = Object.assign({}, ...several.map((changes) => changes.spec ?? {}));
        const key = Object.assign({}, ...several.map((changes) => changes.key ?? {}));
        const resolved = keyOf(Object.assign({}, ...several, { spec, key }));
        const now = isLate ? born + 2_000 : born;
        const { state, causes } = explainKey(resolved, now);
        const isAccepted = authenticate(resolved, now).kind === "authenticated";
        expect(state).toBe(isAccepted ? "ok" : "problem");
        expect(causes.length > 0).toBe(!isAccepted);
      }),
    );
  });
});

describe("an accepted key with roles that do not exist", () => {
  const role = (name: string) => ({ role: name, projects: [], virtualClusters: [] });
  const scope = { ...empty, roles: [role("viewer"), role("no")] };

  test("names them", () => {
    expect(explainUnknownRoles(keyOf({ spec: { scope } }), ["no"], born)).toMatchObject({
      state: "problem",
      reason: "InvalidScope",
      causes: [{ field: "spec.scope.roles[1].role", value: "no" }],
    });
  });

  test("is only explained while it is accepted", () => {
    expect(explainUnknownRoles(keyOf({ spec: { scope } }), [], born)).toBeUndefined();
    const disabled = keyOf({ spec: { scope, disabled: true } });
    expect(explainUnknownRoles(disabled, ["no"], born)).toBeUndefined();
  });
});

describe("a request with a key", () => {
  const request = resourceRequest({ resource: "pods", namespace: "web-1", project: "web" });
  const keyed = { request, roles: new Map() };
  const projects = (...names: readonly string[]): ScopeLimit => ({ ...empty, projects: names });

  test("is allowed by an entry of the scope", () => {
    const resolved = keyOf({ spec: { scope: projects("pay", "web") } });
    expect(explainRequest(resolved, keyed, born)).toMatchObject({
      state: "ok",
      reason: "WithinScope",
      message: expect.stringContaining("allows"),
      causes: [
        {
          object: { name: "ci" },
          field: "spec.scope.projects[0]",
          reason: "EntryDenies",
          message: "It does not allow the request, because project is pay and the request has web.",
        },
        { field: "spec.scope.projects[1]", reason: "EntryAllows" },
      ],
    });
    expect(explainRequest(keyOf(), keyed, born)).toMatchObject({
      state: "ok",
      message: expect.stringContaining("no scope"),
      causes: [],
    });
  });

  test("is denied by a field of the nearest entry, or by the scope as a whole", () => {
    const rule = {
      verbs: ["list"],
      resources: [],
      resourceNames: [],
      namespaces: [],
      nonResourceURLs: [],
      requestTargets: [],
      cluster: "",
      virtualClusters: [],
    };
    const causeFor = (scope: ScopeLimit) => explainRequest(keyOf({ spec: { scope } }), keyed, born);
    expect(causeFor({ ...empty, rules: [rule] })).toMatchObject({
      causes: [
        {
          field: "spec.scope.rules[0].verbs",
          value: "list",
          message: 'Let it name "get", or use another credential.',
        },
        { field: "spec.scope.rules[0]", reason: "EntryDenies" },
      ],
    });
    const role = { role: "no", projects: [], virtualClusters: [] };
    expect(causeFor({ ...empty, roles: [role] })).toMatchObject({
      causes: [{ message: "Name a role that allows the request, or use another credential." }, {}],
    });
    expect(causeFor({ ...empty, rules: [{ ...rule, cluster: "c" }] })).toMatchObject({
      causes: [
        { field: "spec.scope" },
        {
          message: expect.stringMatching(/verbs is list and the request has get; cluster is c\.$/),
        },
      ],
    });
    const only = { ...rule, verbs: [], cluster: "c" };
    expect(causeFor({ ...empty, rules: [only] })).toMatchObject({
      causes: [
        {
          field: "spec.scope.rules[0].cluster",
          message: expect.stringContaining("covers the request"),
        },
        {},
      ],
    });
  });

  test("is denied by the scope of the parent key, or by the state of the key", () => {
    const parentKey = keyOf({
      spec: { scope: projects("pay") },
      key: { metadata: observedMetadata({ name: "parent" }) },
    });
    const resolved = keyOf({ spec: { scope: projects("web") }, parentKey });
    expect(explainRequest(resolved, keyed, born)).toMatchObject({
      state: "problem",
      reason: "OutsideScope",
      causes: [
        { object: { name: "parent" }, field: "spec.scope.projects[0].project", value: "pay" },
        { object: { name: "ci" }, reason: "EntryAllows" },
        { object: { name: "parent" }, reason: "EntryDenies" },
      ],
    });
    expect(explainRequest(keyOf({ spec: { disabled: true } }), keyed, born)).toMatchObject({
      state: "problem",
      causes: [{ field: "spec.disabled" }],
    });
  });
});
