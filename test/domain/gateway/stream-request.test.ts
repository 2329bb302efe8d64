import { describe, expect, it } from "vitest";
import type { ReviewedRequest } from "../../../src/api/access-review.ts";
import { isProxied, isStream } from "../../../src/domain/gateway/stream-request.ts";

const request = (changes: object): ReviewedRequest => ({
  ...{ kind: "resource", verb: "get", group: "", resource: "pods", subresource: "" },
  ...{ namespace: "web", name: "a" },
  ...changes,
});
const path: ReviewedRequest = { kind: "path", verb: "get", path: "/livez" };

describe("an answer is open for as long as the client likes", () => {
  it.each<[string, ReviewedRequest, string, boolean]>([
    ["for a watch", request({ verb: "watch" }), "?watch=1", true],
    ["for a log that is followed", request({ subresource: "log" }), "?follow=true", true],
    [
      "for a log that may be followed",
      request({ subresource: "log" }),
      "?a=b&foll%6fw=false",
      true,
    ],
    ["not for a log", request({ subresource: "log" }), "?tailLines=1", false],
    ["for a backend", request({ subresource: "proxy" }), "", true],
    ["for a backend of an old path", request({ verb: "proxy" }), "", true],
    ["not for a list", request({ verb: "list" }), "?follow=true", false],
    ["not for a path", path, "?watch=1&follow=1", false],
  ])("%s", (_what, reviewed, query, is) => {
    expect(isStream(reviewed, query)).toBe(is);
  });
});

describe("a backend answers", () => {
  it.each<[ReviewedRequest, boolean]>([
    [request({ subresource: "proxy" }), true],
    [request({ resource: "services", subresource: "proxy" }), true],
    [request({ verb: "proxy" }), true],
    [request({ subresource: "log" }), false],
    [path, false],
  ])("%j: %s", (reviewed, is) => {
    expect(isProxied(reviewed)).toBe(is);
  });
});
