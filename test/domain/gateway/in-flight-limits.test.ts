import { describe, expect, it } from "vitest";
import type { ReviewedRequest } from "../../../src/api/access-review.ts";
import {
  inFlightGroup,
  type InFlightGroup,
  roomFor,
  inFlightLimits,
  isProxied,
  isStream,
} from "../../../src/domain/gateway/in-flight-limits.ts";
import type { Refusal } from "../../../src/domain/gateway/refusal.ts";

const none = { all: 0, user: 0, key: 0, mostOfUser: 0 };
const terms = { limits: inFlightLimits, noun: "an access key" } as const;

const refusedOf = (room: ReturnType<typeof roomFor>): Refusal | undefined =>
  typeof room === "string" ? undefined : room;

it.each<[string, InFlightGroup, Partial<typeof none>, string]>([
  ["with none", "streams", { all: 2_000, mostOfUser: 512 }, "displace"],
  ["with fewer", "answers", { all: 1_128, user: 10, mostOfUser: 12 }, "displace"],
  ["who would have as many", "answers", { all: 1_128, user: 10, mostOfUser: 11 }, "refusal"],
  ["with the most", "streams", { all: 2_000, user: 250, mostOfUser: 250 }, "refusal"],
  ["with the most of a key", "streams", { all: 2_000, key: 256, mostOfUser: 512 }, "refusal"],
  ["at a replica with room", "streams", { all: 1_999, mostOfUser: 512 }, "free"],
])("for a user %s of the %s, there is room by %j: %s", (_who, group, live, expected) => {
  const room = roomFor({ ...none, ...live }, { ...terms, group });
  expect(typeof room === "string" ? room : room.kind).toBe(expected);
});

describe("another request", () => {
  it.each<[InFlightGroup, Partial<typeof none>, number | undefined]>([
    ["answers", { key: 255, user: 511, all: 1_127 }, undefined],
    ["answers", { key: 256 }, 429],
    ["answers", { user: 512 }, 429],
    ["answers", { all: 1_128 }, 503],
    ["answers", { user: 512, all: 1_128 }, 429],
    ["streams", { key: 255, user: 511, all: 1_999 }, undefined],
    ["streams", { key: 256 }, 429],
    ["streams", { user: 512 }, 429],
    ["streams", { all: 2_000 }, 429],
  ])("of the %s beside %j is refused with %s", (group, live, status) => {
    const problem = refusedOf(roomFor({ ...none, ...live }, { ...terms, group }));
    const headers = status === undefined ? undefined : { "retry-after": "1" };
    expect([problem?.status, problem?.headers]).toEqual([status, headers]);
  });

  it.each<[InFlightGroup, Partial<typeof none>, string]>([
    ["streams", { key: 256, user: 512, all: 2_000 }, "streams (at most 256 with one access key)"],
    ["streams", { user: 512, all: 2_000 }, "streams (at most 512 of one user)"],
    ["streams", { all: 2_000 }, "streams (at most 2000 at one replica)"],
    ["answers", { all: 1_128 }, "requests (at most 1128 at one replica)"],
  ])("of the %s beside %j names the narrowest limit", (group, live, words) => {
    const problem = refusedOf(roomFor({ ...none, ...live }, { ...terms, group }));
    expect(problem?.message).toContain(words);
  });

  it("with a direct token is refused as such", () => {
    const problem = refusedOf(
      roomFor({ ...none, key: 256 }, { ...terms, group: "streams", noun: "a direct token" }),
    );
    expect(problem?.message).toContain("streams (at most 256 with one direct token)");
  });
});

it.each([
  ["answer", "answers"],
  ["stream", "streams"],
  ["upgrade", "streams"],
] as const)("a request of kind %s counts among the %s", (kind, group) => {
  expect(inFlightGroup(kind)).toBe(group);
});

const request = (changes: object): ReviewedRequest => ({
  kind: "resource",
  verb: "get",
  group: "",
  resource: "pods",
  subresource: "",
  namespace: "web",
  name: "a",
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
