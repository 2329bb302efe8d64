import { describe, expect, it } from "vitest";
import { limitProblem, liveLimits } from "../../../src/domain/gateway/live-limits.ts";

const none = { answers: 0, all: 0, user: 0, key: 0 };
type Kind = "answer" | "stream" | "upgrade";

describe("one request more", () => {
  it.each<[Kind, Partial<typeof none>, number | undefined]>([
    ["answer", { answers: 1_127 }, undefined],
    ["answer", { answers: 1_128 }, 503],
    ["answer", { all: 9_999, user: 9_999, key: 9_999 }, undefined],
    ["stream", { answers: 9_999, key: 255, user: 511, all: 1_999 }, undefined],
    ["stream", { key: 256 }, 429],
    ["stream", { user: 512 }, 429],
    ["stream", { all: 2_000 }, 429],
    ["upgrade", { key: 256 }, 429],
    ["upgrade", { key: 255 }, undefined],
  ])("as %s beside %j is refused with %s", (kind, live, status) => {
    const problem = limitProblem({ ...none, ...live }, { kind, limits: liveLimits });
    const headers = status === undefined ? undefined : { "retry-after": "1" };
    expect([problem?.status, problem?.headers]).toEqual([status, headers]);
  });

  it.each([
    [{ key: 256, user: 512, all: 2_000 }, "at most 256 with one access key"],
    [{ user: 512, all: 2_000 }, "at most 512 of one user"],
    [{ all: 2_000 }, "at most 2000 at one replica of the gateway"],
  ])("beside %j names the narrowest limit", (live, words) => {
    const problem = limitProblem({ ...none, ...live }, { kind: "stream", limits: liveLimits });
    expect(problem?.message).toContain(words);
  });
});
