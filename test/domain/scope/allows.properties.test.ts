import fc from "fast-check";
import { expect, test } from "vitest";
import { isRecord } from "../../../src/api/parse.ts";
import { isEscape, isGuardedNamespace } from "../../../src/domain/scope/derived-credentials.ts";
import type { ScopedRequest } from "../../../src/domain/scope/scoped-request.ts";
import { anyRequest, anyRequestElsewhere, anyScope } from "./arbitraries.ts";
import { narrower } from "./narrower.ts";
import { secondOpinion } from "./second-opinion.ts";
import { context, isAllowed } from "./verdict-of.ts";
import { runs } from "../../support/property-runs.ts";

const often = runs(1_000);

test("the engine agrees with an independent implementation", () => {
  const enough = runs(3_000);
  let allowed = 0;
  fc.assert(
    fc.property(anyScope, fc.oneof(anyRequest, anyRequestElsewhere), (scope, request) => {
      const verdict = isAllowed(scope, request);
      allowed += verdict ? 1 : 0;
      expect(verdict).toBe(secondOpinion(scope, request));
    }),
    enough,
  );
  // If both always denied, the comparison would prove nothing.
  expect(allowed).toBeGreaterThan(enough.numRuns / 10);
});

test("a narrower scope never allows what the wider one denies", () => {
  fc.assert(
    fc.property(anyScope, anyRequest, (scope, request) => {
      if (isAllowed(scope, request)) return;
      const mustBeNamed =
        request.kind === "resource" &&
        (isEscape(request) || isGuardedNamespace(request.namespace, context.ownNamespace));
      expect(narrower(scope, mustBeNamed).filter((less) => isAllowed(less, request))).toEqual([]);
    }),
    often,
  );
});

test("unknown values never allow a request", () => {
  const anything = fc.jsonValue();
  const spoiled = fc.tuple(
    anyScope,
    fc.constantFrom(
      "roles",
      "projects",
      "spaces",
      "virtualClusters",
      "clusters",
      "rules",
      "allowServiceCli",
      "more",
    ),
    anything,
  );
  const isReadable = (field: string, value: unknown): boolean =>
    value === null ||
    (field === "allowServiceCli" && typeof value === "boolean") ||
    (field !== "more" && field !== "allowServiceCli" && Array.isArray(value) && value.length === 0);
  fc.assert(
    fc.property(spoiled, anyRequest, ([scope, field, value], request) => {
      fc.pre(field === "more" || !isReadable(field, value));
      fc.pre(
        field === "allowServiceCli" ||
          !Array.isArray(value) ||
          !value.every((entry) => isRecord(entry) && Object.keys(entry).length === 0),
      );
      expect(isAllowed({ ...scope, [field]: value }, request)).toBe(false);
    }),
    often,
  );
});

test("* only matches as the whole name", () => {
  const globs = fc.constantFrom("w*", "*b", "**", "w*b", "?eb");
  fc.assert(
    fc.property(globs, (glob) => {
      const request: ScopedRequest = {
        kind: "path",
        target: "ProjectSpace",
        cluster: "web",
        project: "web",
        space: "web",
        virtualCluster: "web",
        verb: "get",
        path: "/x",
      };
      const scopes = [
        { projects: [{ project: glob }] },
        { spaces: [{ project: "web", space: glob }] },
        { virtualClusters: [{ project: "web", virtualCluster: glob }] },
        { clusters: [{ cluster: glob }] },
      ];
      expect(scopes.filter((scope) => isAllowed(scope, request))).toEqual([]);
    }),
  );
});
