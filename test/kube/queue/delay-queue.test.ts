import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { DelayQueue } from "../../../src/kube/queue/delay-queue.ts";
import { TestClock } from "../../support/test-clock.ts";

function makeDelays() {
  const clock = new TestClock(0);
  const woken: string[] = [];
  const times = new Map<string, number>();
  const delays = new DelayQueue(times, {
    now: () => clock.now(),
    wakeAfter: clock.wakeAfter.bind(clock),
    wake: (key) => void (times.delete(key) && woken.push(key)),
  });
  const set = (key: string, at: number): void => {
    times.set(key, at);
    delays.schedule(key);
  };
  const remove = (key: string): void => {
    times.delete(key);
    delays.arm();
  };
  return { clock, woken, times, set, remove };
}

describe("a key that waits", () => {
  test("is woken once, at the time that was set last", () => {
    const { set, clock, woken } = makeDelays();
    set("b", 1000);
    for (const at of [3000, 1000, 2000]) set("a", at);
    clock.advance(1999);
    expect(woken).toEqual(["b"]);
    clock.advance(2001);
    expect([woken, clock.pending]).toEqual([["b", "a"], 0]);
  });

  test("leaves no timer when it is removed", () => {
    const { set, remove, clock, woken } = makeDelays();
    set("a", 1000);
    remove("a");
    expect(clock.pending).toBe(0);
    clock.advance(2000);
    expect(woken).toEqual([]);
  });

  test("is not affected by the removal of another key", () => {
    const { set, remove, clock, woken } = makeDelays();
    for (const [key, at] of [
      ["a", 1000],
      ["b", 2000],
      ["c", 3000],
    ] as const)
      set(key, at);
    remove("a");
    expect(clock.untilNext).toBe(2000);
    clock.advance(3000);
    expect(woken).toEqual(["b", "c"]);
  });

  test("does not accumulate the times that it had before", () => {
    const { set, remove, times } = makeDelays();
    set("first", 1);
    for (let at = 2; at < 1000; at++) set("a", at);
    const lookUps = vi.spyOn(times, "get");
    for (const key of times.keys()) remove(key);
    expect(lookUps.mock.calls.length).toBeLessThan(10);
  });
});

test("1,000 keys whose times change three times each are woken in order", () => {
  const { set, clock, woken, times } = makeDelays();
  for (let step = 0; step < 4000; step++) set(`${step % 1000}`, (step * 7919) % 10_007);
  const expected = [...times].toSorted(([, one], [, other]) => one - other).map(([key]) => key);
  clock.advance(10_007);
  expect(woken).toEqual(expected);
});

test("keys are woken at their times and in order after any sequence of calls", () => {
  const key = fc.constantFrom("a", "b", "c", "d", "e", "f", "g", "h");
  const step = fc.oneof(
    fc.record({ key, at: fc.integer({ min: 1, max: 1000 }) }),
    fc.record({ key }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { set, remove, clock, woken } = makeDelays();
      const model = new Map<string, number>();
      for (const { key: changed, ...rest } of steps) {
        if ("at" in rest) {
          set(changed, rest.at);
          model.set(changed, rest.at);
        } else {
          remove(changed);
          model.delete(changed);
        }
      }
      clock.advance(1000);
      const instants = woken.map((name) => model.get(name) ?? Number.NaN);
      expect(woken.toSorted()).toEqual([...model.keys()].toSorted());
      expect(instants).toEqual(instants.toSorted((one, other) => one - other));
      expect(clock.pending).toBe(0);
    }),
  );
});
