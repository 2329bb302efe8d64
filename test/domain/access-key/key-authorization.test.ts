import { describe, expect, test } from "vitest";
import type { ScopeLimit } from "../../../src/api/scope.ts";
import { authorizeWithKey } from "../../../src/domain/access-key/key-authorization.ts";
import type { ResolvedKey } from "../../../src/domain/access-key/key-state.ts";
import { resourceRequest } from "../scope/requests.ts";
import { born, observedMetadata } from "../../support/observed-objects.ts";

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
}: { readonly scope?: ScopeLimit; readonly disabled?: boolean } & Pick<
  ResolvedKey,
  "parentKey"
> = {}): ResolvedKey {
  return {
    ...behind,
    key: {
      metadata: observedMetadata(),
      spec: { user: "alice", disabled, ttlAfterLastActivity: false, groups: [], scope },
      keyDigest: "d1",
      status: {},
      conditions: [],
    },
    requester: { kind: "known", name: "alice", uid: "", groups: [] },
    config: { maximumKeyTtl: 0, namespace: "latchkey-system", prefixes: { user: "", team: "" } },
  };
}

const keyed = {
  request: resourceRequest({ resource: "secrets", name: "a", namespace: "web-1", project: "web" }),
  roles: new Map(),
};

describe("the authorizer has no opinion", () => {
  test.each<[string, ScopeLimit]>([
    ["without a scope", "none"],
    ["within the scope", projects("web")],
  ])("%s: RBAC decides", (_rule, scope) => {
    expect(authorizeWithKey(viewOf({ scope }), keyed, born)).toEqual({ kind: "no-opinion" });
  });
});

describe("the authorizer denies", () => {
  test.each<[string, ResolvedKey | undefined, RegExp]>([
    [
      "what is beyond the scope",
      viewOf({ scope: projects("pay") }),
      /the scope of this credential does not allow get secrets a in namespace web-1/,
    ],
    [
      "what is beyond the scope of the key that it was asked for with",
      viewOf({ scope: projects("web"), parentKey: viewOf({ scope: projects("pay") }) }),
      /the scope of this credential does not allow/,
    ],
    [
      "what is beyond that of the key before",
      viewOf({ parentKey: viewOf({ parentKey: viewOf({ scope: projects("pay") }) }) }),
      /the scope of this credential does not allow/,
    ],
    [
      "everything when the key that it was asked for with is disabled",
      viewOf({ parentKey: viewOf({ disabled: true }) }),
      /ParentKeyInvalid/,
    ],
    ["everything to a key that is gone", undefined, /was deleted/],
    [
      "everything to a key that is disabled by now",
      viewOf({ disabled: true }),
      /not valid \(Disabled\)/,
    ],
    ["everything to a scope that cannot be read", viewOf({ scope: "unreadable" }), /InvalidScope/],
  ])("%s", (_rule, view, reason) => {
    expect(authorizeWithKey(view, keyed, born)).toEqual({
      kind: "denied",
      reason: expect.stringMatching(reason),
    });
  });
});
