import { beforeEach, describe, expect, test } from "vitest";
import type { LiveRequest } from "../../src/gateway/live-requests.ts";
import { LiveRequests } from "../../src/gateway/live-requests.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { TestClock } from "../support/test-clock.ts";

let clock: TestClock;
let live: LiveRequests;

beforeEach(() => {
  clock = new TestClock();
  live = new LiveRequests({
    clock,
    yielder: new Yielder(clock),
    isFresh: () => true,
    onCut: () => {},
  });
});

function liveRequest(others: Partial<LiveRequest> = {}): LiveRequest {
  return {
    ...{ kind: "stream", keyId: "uid", username: "alice" },
    decide: () => ({ kind: "no-opinion" }),
    endsAt: () => Infinity,
    ...{ end: () => {}, giveWay: () => false, cut: () => {} },
    ...others,
  };
}

describe("a gateway that has stopped", () => {
  test("waits neither for the end of a key nor for a change", () => {
    const stop = new AbortController();
    live.watchFreshness(stop.signal);
    live.add(liveRequest({ endsAt: () => clock.now() + 3_600_000 }));
    stop.abort();
    live.add(liveRequest({ endsAt: () => clock.now() + 3_600_000 }));
    live.changed();
    expect(clock.pending).toBe(0);
  });
});
