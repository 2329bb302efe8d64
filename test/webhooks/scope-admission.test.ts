import { expect, test } from "vitest";
import { extras } from "../../src/api/names.ts";
import { recordAt } from "../../src/api/parse.ts";
import type { Scope } from "../../src/api/scope.ts";
import { admissionHandler } from "../../src/webhooks/admission.ts";
import { enforceScope } from "../../src/webhooks/scope-admission.ts";
import {
  posted,
  fakeReviewDeps,
  anonymousClient,
  resolvedKeyWith,
} from "../support/review-fixture.ts";

const noScope: Scope = {
  roles: [],
  projects: [],
  spaces: [],
  virtualClusters: [],
  clusters: [],
  rules: [],
};
const projects = (...names: readonly string[]): Scope => ({ ...noScope, projects: names });
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
  const response = await admissionHandler({ steps: [enforceScope(deps)], onResult: () => {} })(
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

test.each<[string, Parameters<typeof answered>[0], object]>([
  ["admits a change with a key without a scope", { view: resolvedKeyWith() }, allowed],
  [
    "admits a change within the scope",
    { view: resolvedKeyWith({ scope: projects("web") }) },
    allowed,
  ],
  [
    "refuses a change outside the scope",
    { view: resolvedKeyWith({ scope: projects("pay") }) },
    beyond,
  ],
  [
    "refuses a change outside the scope of the parent key",
    { view: { ...resolvedKeyWith(), parentKey: resolvedKeyWith({ scope: projects("pay") }) } },
    beyond,
  ],
  [
    "admits a change that requires no other verb",
    { view: resolvedKeyWith({ scope: projects("pay") }), object: stored },
    allowed,
  ],
  ["admits a change without a key", { keyIds: [] }, allowed],
  [
    "refuses a change with a deleted key",
    {},
    refused("the access key of this request was deleted"),
  ],
  [
    "refuses a change with a disabled key",
    { view: resolvedKeyWith({ disabled: true }) },
    refused("Disabled"),
  ],
  [
    "refuses a change with two key ids",
    { view: resolvedKeyWith(), keyIds: ["uid-one", "uid-two"] },
    refused("the access key of this request was deleted"),
  ],
  [
    "refuses every change before the cache is synced",
    { view: resolvedKeyWith(), isCold: true },
    refused("retry"),
  ],
])("%s", async (_rule, asking, answer) => {
  expect(await answered(asking)).toMatchObject(answer);
});
