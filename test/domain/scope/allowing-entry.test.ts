import fc from "fast-check";
import { expect, test } from "vitest";
import { parseScopeLimit } from "../../../src/api/scope.ts";
import { allowingEntry } from "../../../src/domain/scope/allowing-entry.ts";
import { isAlwaysAllowed } from "../../../src/domain/scope/always-allowed.ts";
import { anyRequest, anyScope } from "./arbitraries.ts";
import { context, isAllowed } from "./verdict-of.ts";
import { runs } from "../../support/property-runs.ts";

test("a scope with entries allows a request exactly if one of them does", () => {
  let allowed = 0;
  fc.assert(
    fc.property(anyScope, anyRequest, (scope, request) => {
      const entry = allowingEntry(parseScopeLimit(scope), request, context);
      const needsEntry = !isAlwaysAllowed(request);
      allowed += entry === undefined ? 0 : 1;
      expect(entry !== undefined).toBe(needsEntry && isAllowed(scope, request));
    }),
    runs(3_000),
  );
  expect(allowed).toBeGreaterThan(300);
});

test("no entry is needed without a scope, and none allows in an invalid one", () => {
  fc.assert(
    fc.property(anyRequest, (request) => {
      expect(allowingEntry("none", request, context)).toBeUndefined();
      expect(allowingEntry("unreadable", request, context)).toBeUndefined();
    }),
    runs(100),
  );
});
