import { expect, test } from "vitest";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { readOptions } from "../../../src/cli/command.ts";
import { scopeOptions, scopeOf, scopeText } from "../../../src/client/keys/scope-options.ts";

const read = (given: Readonly<Record<string, readonly string[]>>) =>
  scopeOf(readOptions(scopeOptions, new Map(Object.entries(given))));

test("without flags there is no scope", () => {
  expect(read({})).toBeUndefined();
});

test("flags become entries of a scope", () => {
  expect(
    read({
      role: ["serviceCLI"],
      project: ["web", "pay"],
      space: ["web/dev"],
      "virtual-cluster": ["web/v"],
      cluster: ["east"],
    }),
  ).toEqual({
    roles: [{ role: "serviceCLI" }],
    projects: [{ project: "web" }, { project: "pay" }],
    spaces: [{ project: "web", space: "dev" }],
    virtualClusters: [{ project: "web", virtualCluster: "v" }],
    clusters: [{ cluster: "east" }],
  });
});

test.each(["web", "web/", "/dev", "a/b/c"])("%s is no space", (space) => {
  expect(() => read({ space: [space] })).toThrow("must be a project and a name");
});

test.each([
  ["no scope: all rights of alice", undefined],
  ["nothing", {}],
  ["invalid", { projects: "web" }],
  [
    "role=serviceCLI,project=web",
    { roles: [{ role: "serviceCLI" }], projects: [{ project: "web" }] },
  ],
  [
    "space=web/dev,virtual-cluster=web/v,cluster=east,+1",
    {
      clusters: [{ cluster: "east" }],
      spaces: [{ project: "web", space: "dev" }],
      virtualClusters: [{ project: "web", virtualCluster: "v" }],
      rules: [{ verbs: ["get"] }, {}],
    },
  ],
])("the column of a scope is %s", (text, scope) => {
  expect(scopeText(parseScopeLimit(scope), "no scope: all rights of alice")).toBe(text);
});
