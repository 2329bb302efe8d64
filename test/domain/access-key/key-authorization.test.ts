import { describe, expect, test } from "vitest";
import type { ObservedAccessKey } from "../../../src/api/owned-access-key.ts";
import type { ScopeLimit } from "../../../src/api/scope.ts";
import { authorizeWithKey } from "../../../src/domain/access-key/key-authorization.ts";
import type { ResolvedKey } from "../../../src/domain/access-key/key-state.ts";
import { resourceRequest } from "../scope/requests.ts";
import { resolvedKey } from "./resolved-key.ts";
import { born } from "../../support/observed-objects.ts";

const projects = (...names: readonly string[]): ScopeLimit => ({
  roles: [],
  projects: names,
  spaces: [],
  virtualClusters: [],
  clusters: [],
  rules: [],
});

function viewOf({
  scope = "none",
  disabled = false,
  ...behind
}: Partial<Pick<ObservedAccessKey["spec"], "scope" | "disabled">> &
  Pick<ResolvedKey, "parentKey"> = {}): ResolvedKey {
  return resolvedKey({ spec: { scope, disabled }, ...behind });
}

const keyed = {
  request: resourceRequest({ resource: "secrets", name: "a", namespace: "web-1", project: "web" }),
  roles: new Map(),
};

describe("the authorizer has no opinion", () => {
  test.each<[string, ScopeLimit]>([
    ["without a scope", "none"],
    ["within the scope", projects("web")],
  ])("%s", (_rule, scope) => {
    expect(authorizeWithKey(viewOf({ scope }), keyed, born)).toEqual({ kind: "no-opinion" });
  });
});

describe("the authorizer denies", () => {
  test.each<[string, ResolvedKey | undefined, RegExp]>([
    [
      "a request outside the scope",
      viewOf({ scope: projects("pay") }),
      /the scope of this credential does not allow get secrets a in namespace web-1/,
    ],
    [
      "a request outside the scope of the parent key",
      viewOf({ scope: projects("web"), parentKey: viewOf({ scope: projects("pay") }) }),
      /the scope of this credential does not allow/,
    ],
    [
      "a request outside the scope of the parent of the parent key",
      viewOf({ parentKey: viewOf({ parentKey: viewOf({ scope: projects("pay") }) }) }),
      /the scope of this credential does not allow/,
    ],
    [
      "every request if the parent key is disabled",
      viewOf({ parentKey: viewOf({ disabled: true }) }),
      /ParentKeyInvalid/,
    ],
    ["every request if the key is deleted", undefined, /was deleted/],
    ["every request if the key is disabled", viewOf({ disabled: true }), /not valid \(Disabled\)/],
    ["every request if the scope is invalid", viewOf({ scope: "unreadable" }), /InvalidScope/],
  ])("%s", (_rule, view, reason) => {
    expect(authorizeWithKey(view, keyed, born)).toEqual({
      kind: "denied",
      ...(reason.source.startsWith("the scope of this credential") && { by: "scope" }),
      reason: expect.stringMatching(reason),
    });
  });
});
