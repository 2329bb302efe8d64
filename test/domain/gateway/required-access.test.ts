import { describe, expect, it } from "vitest";
import type { ReviewedRequest } from "../../../src/api/access-review.ts";
import { requiredAccess } from "../../../src/domain/gateway/required-access.ts";

const pods = (subresource: string, verb = "get", changes: object = {}): ReviewedRequest => ({
  ...{ kind: "resource", verb, group: "", resource: "pods", subresource },
  ...{ namespace: "web", name: "a" },
  ...changes,
});

describe("a scope has to allow", () => {
  it.each<[string, ReviewedRequest, boolean, readonly string[]]>([
    ["a plain request", pods(""), false, ["get"]],
    ["exec", pods("exec"), false, ["get", "create"]],
    ["exec by POST", pods("exec", "create"), false, ["create"]],
    ["attach", pods("attach"), true, ["get", "create"]],
    ["portforward", pods("portforward"), true, ["get", "create"]],
    ["portforward by PUT", pods("portforward", "update"), false, ["update", "create"]],
    ["an upgrade of anything", pods("log"), true, ["get", "create"]],
    ["an upgrade to a backend", pods("proxy"), true, ["get", "create"]],
    ["an upgrade by POST", pods("proxy", "create"), true, ["create"]],
    ["exec of another group", pods("exec", "get", { group: "apps" }), false, ["get"]],
    ["exec of another resource", pods("exec", "get", { resource: "jobs" }), false, ["get"]],
  ])("for %s", (_what, request, isUpgrade, verbs) => {
    const required = requiredAccess(request, isUpgrade);
    expect(required).toEqual(verbs.map((verb) => ({ ...request, verb })));
  });

  it("for an upgrade of a path, the path alone", () => {
    const path: ReviewedRequest = { kind: "path", verb: "get", path: "/livez" };
    expect(requiredAccess(path, true)).toEqual([path]);
  });
});
