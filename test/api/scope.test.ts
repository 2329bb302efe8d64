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
