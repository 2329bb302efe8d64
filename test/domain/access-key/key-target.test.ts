import { describe, expect, it, test } from "vitest";
import type { ScopeLimit } from "../../../src/api/scope.ts";
import { keyTargetProblem, keyWriteProblem } from "../../../src/domain/access-key/key-target.ts";
import type { ResolvedKey } from "../../../src/domain/access-key/key-state.ts";
import { born, observedMetadata } from "../../support/observed-objects.ts";
import { resourceRequest } from "../scope/requests.ts";
import { resolvedKey } from "./resolved-key.ts";

const named = (name: string, behind: Pick<ResolvedKey, "parentKey"> = {}): ResolvedKey => ({
  ...resolvedKey(behind),
  key: { ...resolvedKey().key, metadata: { ...observedMetadata(), name, uid: `uid-of-${name}` } },
});
const [grandparent, other] = [named("grandparent"), named("other")];
const parent = named("parent", { parentKey: grandparent });
const own = named("own", { parentKey: parent });

const about = (verb: string, name: string, changes: object = {}) =>
  resourceRequest({
    verb,
    group: "management.service",
    resource: "ownedaccesskeys",
    name,
    namespace: "",
    resourceScope: "Cluster",
    ...changes,
  });

describe("by the names of keys, a request with a key", () => {
  const [together, ancestor, itself] = [
    "only by name",
    "was made with",
    "is the access key of this",
  ];

  test.each<[verb: string, name: string, changes: object, problem: string | undefined]>([
    ["update", "parent", {}, ancestor],
    ["patch", "grandparent", {}, ancestor],
    ["delete", "parent", {}, ancestor],
    ["patch", "parent", { subresource: "status" }, ancestor],
    ["*", "parent", {}, ancestor],
    ["get", "parent", {}, undefined],
    ["delete", "own", {}, itself],
    ["*", "own", {}, itself],
    ["delete", "own", { subresource: "status" }, undefined],
    ["update", "own", {}, undefined],
    ["patch", "own", {}, undefined],
    ["delete", "other", {}, undefined],
    ["update", "other", {}, undefined],
    ["deletecollection", "", {}, together],
    ["*", "", {}, together],
    ["create", "", {}, undefined],
    ["list", "", {}, undefined],
    ["delete", "own", { resource: "sharedsecrets" }, undefined],
    ["delete", "own", { group: "example.com" }, undefined],
    ["delete", "own", { target: "Cluster", cluster: "prod" }, undefined],
  ])("%s %s %o: %s", (verb, name, changes, problem) => {
    const found = keyTargetProblem(own, about(verb, name, changes));
    expect(found ?? "none").toContain(problem ?? "none");
  });
});

describe("by the objects of keys, a request with a key", () => {
  const [before, after] = [{ projects: [{ project: "web" }] }, { projects: [] }];
  const write = (target: ResolvedKey | undefined, isDelete: boolean, scopes: unknown[] = []) => ({
    target,
    isDelete,
    isChild: false,
    uid: target?.key.metadata.uid ?? "uid-of-unknown",
    scopes: [scopes[0], scopes[1]] as const,
  });
  const changed = (spec: object, target: ResolvedKey = other): ResolvedKey => ({
    ...target,
    key: { ...target.key, spec: { ...target.key.spec, ...spec } },
  });
  const unreadable: ScopeLimit = "unreadable";

  test.each<[what: string, write: ReturnType<typeof write>, problem: string | undefined]>([
    ["changes another key", write(other, false), undefined],
    ["narrows another key", write(other, false, [before, after]), undefined],
    ["changes its parent", write(parent, false), "was made with"],
    ["deletes a parent of its parent", write(grandparent, true), "was made with"],
    ["changes itself", write(own, false), undefined],
    ["deletes another key", write(other, true), undefined],
    ["deletes a key that is not known yet", write(undefined, true), undefined],
    ["deletes a disabled key", write(changed({ disabled: true }), true), "is Disabled"],
    ["deletes an expired key", write(changed({ ttl: 1 }), true), "is Expired"],
    [
      "deletes a key whose parent is disabled",
      write({ ...other, parentKey: changed({ disabled: true }) }, true),
      "is ParentKeyInvalid",
    ],
    [
      "deletes a disabled key that it made",
      { ...write(changed({ disabled: true }), true), isChild: true },
      undefined,
    ],
    [
      "makes a scope readable",
      write(changed({ scope: unreadable }), false, [{ unknown: [] }, before]),
      "the stored scope is invalid",
    ],
    [
      "describes a key with a scope that cannot be read",
      write(changed({ scope: unreadable }), false, [{ unknown: [] }, { unknown: [] }]),
      undefined,
    ],
  ])("%s", (_what, asked, problem) => {
    expect(keyWriteProblem(own, asked, born + 60_000) ?? "none").toContain(problem ?? "none");
  });

  it("names no value of a spec", () => {
    const found = keyWriteProblem(
      own,
      write(changed({ disabled: true, user: "canary" }), true),
      born,
    );
    expect(found).not.toContain("canary");
  });
});
