import { expect, test } from "vitest";
import { extras } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import type { Scope } from "../../src/api/scope.ts";
import { emptyScope } from "../support/empty-scope.ts";
import { admissionHandler } from "../../src/webhooks/admission.ts";
import { UnknownKeyRetries } from "../../src/authn/identify-key.ts";
import { awaitNewKey, enforceScope, newScopeWarnings } from "../../src/webhooks/scope-admission.ts";
import {
  posted,
  fakeAdmissionContext,
  fakeReviewDeps,
  anonymousClient,
  resolvedKeyWith,
} from "../support/review-fixture.ts";
import { TestClock } from "../support/test-clock.ts";

const projects = (...names: readonly string[]): Scope => ({ ...emptyScope, projects: names });
const stored = { kind: "SharedSecret", metadata: { name: "db" }, spec: {} };
const opened = { ...stored, spec: { access: [{ name: "all" }] } };

async function answered({
  view,
  isCold = false,
  object = opened,
  keyIds = ["uid-one"],
}: {
  readonly view?: ReturnType<typeof resolvedKeyWith>;
  readonly isCold?: boolean;
  readonly object?: object;
  readonly keyIds?: readonly string[] | undefined;
}) {
  const deps = fakeReviewDeps({ ...(view === undefined ? {} : { view }), isCold });
  const request = {
    uid: "r1",
    operation: "UPDATE",
    namespace: "web-1",
    userInfo: {
      username: "alice",
      ...(keyIds.length === 0 ? {} : { extra: { [extras.keyId]: keyIds } }),
    },
    object,
    oldObject: stored,
  };
  const context = fakeAdmissionContext({ accessKeys: deps.accessKeys });
  const admission = { steps: [enforceScope], onResult: () => {} };
  const response = await admissionHandler(admission, context)(
    posted({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request }),
    anonymousClient,
  );
  return recordAt(JSON.parse(response.body), "response");
}

const allowed = { allowed: true };
const refused = (message: string) => ({
  allowed: false,
  status: { code: 403, message: expect.stringContaining(message) },
});
const beyond = refused(
  "the scope of this credential does not allow delete sharedsecrets.management.service db in namespace web-1",
);
const deleted = refused("the access key of this request was deleted");
const key = (spec?: Parameters<typeof resolvedKeyWith>[0]) => ({ view: resolvedKeyWith(spec) });
const ofPay = key({ scope: projects("pay") });

test.each<[string, Parameters<typeof answered>[0], object]>([
  ["admits a change with a key without a scope", key(), allowed],
  ["admits a change within the scope", key({ scope: projects("web") }), allowed],
  ["refuses a change outside the scope", ofPay, beyond],
  [
    "refuses a change outside the scope of the parent key",
    { view: { ...resolvedKeyWith(), parentKey: ofPay.view } },
    beyond,
  ],
  ["admits a change that requires no other verb", { ...ofPay, object: stored }, allowed],
  ["admits a change without a key", { keyIds: [] }, allowed],
  ["refuses a change with a deleted key", {}, deleted],
  ["refuses a change with a disabled key", key({ disabled: true }), refused("Disabled")],
  ["refuses a change with two key ids", { ...key(), keyIds: ["uid-one", "uid-two"] }, deleted],
  ["refuses every change before the cache is synced", { ...key(), isCold: true }, refused("retry")],
])("%s", async (_rule, asking, answer) => {
  expect(await answered(asking)).toMatchObject(answer);
});

test.each<[string, readonly string[], isKnown: boolean, waits: number]>([
  ["without a key", [], false, 0],
  ["with a known key", ["uid-one"], true, 0],
  ["with a key that is not in the cache", ["uid-one"], false, 1],
  ["with two key ids", ["uid-one", "uid-two"], false, 0],
])("waits for a new key: a request %s", async (_rule, keyIds, isKnown, waits) => {
  const clock = new TestClock();
  const { view } = key();
  const accessKeys = { byId: () => (isKnown ? view : undefined) };
  const decided = awaitNewKey(new UnknownKeyRetries())(
    {
      uid: "r1",
      isDryRun: false,
      namespace: "web-1",
      object: opened,
      oldObject: stored,
      user: { username: "alice", uid: "", groups: [], extra: { [extras.keyId]: keyIds } },
    },
    fakeAdmissionContext({ accessKeys, clock }),
  );
  expect(clock.pending).toBe(waits);
  clock.advance(100);
  expect(await decided).toMatchObject({ object: opened });
});

const withScope = (scope: unknown) => ({ spec: { scope } });
const unknownRole = withScope({ roles: [{ role: "nobody" }] });
const served = {
  kindOf: async () => undefined,
  known: (_group: string, plural: string) =>
    plural === "namespaces" ? ("Cluster" as const) : undefined,
};

test.each<[string, object, object | undefined, number]>([
  ["a new scope", unknownRole, undefined, 1],
  ["a changed scope", unknownRole, withScope({}), 1],
  ["an unchanged scope", unknownRole, unknownRole, 0],
  ["an object without a scope", { spec: {} }, undefined, 0],
])("%s returns as many warnings as it is new", (_what, object, oldObject, count) => {
  expect(
    newScopeWarnings(
      { object: { ...object }, oldObject: oldObject && { ...oldObject } },
      fakeAdmissionContext({ discovery: served }),
    ),
  ).toHaveLength(count);
});

test("returns no warnings before the cache is fresh and discovery is loaded", () => {
  const request = { object: unknownRole, oldObject: undefined };
  expect(
    newScopeWarnings(
      request,
      fakeAdmissionContext({ accessKeys: { isFresh: () => false }, discovery: served }),
    ),
  ).toEqual([]);
  expect(
    newScopeWarnings(
      request,
      fakeAdmissionContext({ discovery: { ...served, known: () => undefined } }),
    ),
  ).toEqual([]);
});
