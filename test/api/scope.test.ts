import fc from "fast-check";
import { expect, test } from "vitest";
import { parseScope, writeScope } from "../../src/api/scope.ts";
import { anyScope } from "../domain/scope/arbitraries.ts";

test("a scope that was written is read as the same", () => {
  fc.assert(
    fc.property(anyScope, (raw) => {
      const scope = parseScope(raw);
      expect(scope && parseScope(JSON.parse(JSON.stringify(writeScope(scope))))).toEqual(scope);
      expect(scope).toBeDefined();
    }),
  );
});

test("a scope is written without what is empty", () => {
  const raw = { projects: [{ project: "web" }], rules: [{ verbs: ["get"], resources: [{ group: "", resources: ["pods"] }] }], allowServiceCli: true };
  const scope = parseScope(raw);
  expect(scope && writeScope(scope)).toEqual({ projects: [{ project: "web" }], roles: [{ role: "serviceCLI" }], rules: [{ verbs: ["get"], resources: [{ resources: ["pods"] }] }] });
});
