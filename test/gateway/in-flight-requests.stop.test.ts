import { beforeEach, describe, expect, test } from "vitest";
import { type InFlightRequest, InFlightRequests } from "../../src/gateway/in-flight-requests.ts";
import { Yielder } from "../../src/runtime/yielder.ts";
import { TestClock } from "../support/test-clock.ts";

let clock: TestClock;
let inFlight: InFlightRequests;

beforeEach(() => {
  clock = new TestClock();
  inFlight = new InFlightRequests({
    clock,
    yielder: new Yielder(clock),
    isFresh: () => true,
    onCut: () => {},
  });
});

function inFlightRequest(others: Partial<InFlightRequest> = {}): InFlightRequest {
  return {
    kind: "stream",
    sharer: { user: "alice", key: "uid" },
    decide: () => ({ kind: "no-opinion" }),
    endsAt: () => Infinity,
    end: () => {},
    giveWay: () => false,
    cut: () => {},
    ...others,
  };
}

describe("a gateway that has stopped", () => {
  test("waits neither for the end of a key nor for a change", () => {
    const stop = new AbortController();
    inFlight.watchFreshness(stop.signal);
    inFlight.add(inFlightRequest({ endsAt: () => clock.now() + 3_600_000 }));
    stop.abort();
    inFlight.add(inFlightRequest({ endsAt: () => clock.now() + 3_600_000 }));
    inFlight.changed();
    expect(clock.pending).toBe(0);
  });
});
