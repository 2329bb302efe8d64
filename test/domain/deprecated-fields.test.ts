import { expect, test } from "vitest";
import { deprecationWarnings } from "../../src/domain/deprecated-fields.ts";

test.each<[string, object, readonly string[]]>([
  ["nothing", {}, []],
  ["what is not deprecated", { user: "alice", scope: { projects: [{ project: "web" }], rules: [], allowServiceCli: false }, parent: "" }, []],
  ["a parent", { parent: "canary" }, ["spec.parent is deprecated; use spec.identity"]],
  ["a login", { oidcLogin: { idToken: "canary" } }, ["spec.oidcLogin is deprecated; use spec.identity"]],
  ["rules", { scope: { rules: [{}] } }, ["spec.scope.rules is deprecated; use roles, projects, spaces and virtualClusters of spec.scope"]],
  ["the flag of the command-line client", { scope: { allowServiceCli: true } }, ["spec.scope.allowServiceCli is deprecated; use spec.scope.roles with the role serviceCLI"]],
])("%s", (_what, spec, warnings) => {
  expect(deprecationWarnings({ spec })).toEqual(warnings);
});
