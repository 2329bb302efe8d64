import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DelayQueue } from "../../src/kube/delay-queue.ts";
import { TestClock } from "../support/test-clock.ts";

function makeDelays() {
  const clock = new TestClock(0);
  const woken: string[] = [];
  const delays = new DelayQueue({
    now: () => clock.now(),
    wakeAfter: clock.wakeAfter.bind(clock),
    wake: (key) => void woken.push(key),
  });
  return { clock, woken, delays };
}

describe("a key that waits", () => {
  test("is queued once, whatever times are set", () => {
    const { delays } = makeDelays();
    for (const at of [3000, 1000, 2000, 500]) delays.set("a", at);
    expect(delays.size).toBe(1);
  });

  test("leaves no timer when it is removed", () => {
    const { delays, clock, woken } = makeDelays();
    delays.set("a", 1000);
    delays.delete("a");
    expect([delays.size, clock.pending]).toEqual([0, 0]);
    clock.advance(2000);
    expect(woken).toEqual([]);
  });

  test("is not affected by the removal of another key", () => {
    const { delays, clock, woken } = makeDelays();
    delays.set("a", 1000);
    delays.delete("b");
    clock.advance(1000);
    expect(woken).toEqual(["a"]);
  });
});

test("keys are woken at their times and in order after any sequence of calls", () => {
  const key = fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h");
  const step = fc.oneof(
    fc.record({ key, at: fc.integer({ min: 1, max: 1000 }) }),
    fc.record({ key }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { delays, clock, woken } = makeDelays();
      const model = new Map<string, number>();
      for (const { key: changed, ...rest } of steps) {
        if ("at" in rest) {
          delays.set(changed, rest.at);
          model.set(changed, Math.min(rest.at, model.get(changed) ?? Infinity));
        } else {
          delays.delete(changed);
          model.delete(changed);
        }
        expect(delays.size).toBe(model.size);
      }
      clock.advance(1000);
      const instants = woken.map((name) => model.get(name) ?? Number.NaN);
      expect(new Set(woken)).toEqual(new Set(model.keys()));
      expect(instants).toEqual(instants.toSorted((one, other) => one - other));
      expect(delays.size).toBe(0);
    }),
  );
});
