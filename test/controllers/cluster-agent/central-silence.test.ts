import { expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import { CentralSilence } from "../../../src/controllers/cluster-agent/central-silence.ts";
import { TestClock } from "../../support/test-clock.ts";

const hour = 3_600_000;
const key = annotations.unheardSeconds;

function setup(heardAt?: number) {
  const clock = new TestClock();
  let heard = heardAt;
  const silence = new CentralSilence(clock, () => heard);
  return { clock, silence, hear: () => (heard = clock.monotonic()) };
}

test("begins anew whenever the central cluster is heard", () => {
  const { clock, silence, hear } = setup();
  clock.advance(hour);
  expect(silence.ms).toBe(hour);
  hear();
  clock.advance(5_000);
  expect(silence.ms).toBe(5_000);
});

test("goes on after a restart from what the Lease says", () => {
  const { clock, silence } = setup();
  clock.advance(10_000);
  silence.notes({ [key]: "7200", other: "kept" });
  expect(silence.ms).toBe(2 * hour);
  clock.advance(hour);
  expect(silence.notes({ [key]: "7200", other: "kept" })).toEqual({
    [key]: "10800",
    other: "kept",
  });
});

test("a process that hears the central cluster forgets what the Lease says", () => {
  const { clock, silence } = setup(0);
  clock.advance(10_000);
  expect([silence.notes({ [key]: "7200" }), silence.ms]).toEqual([{}, 10_000]);
});

test("a clock that jumps changes nothing", () => {
  const { clock, silence } = setup(0);
  clock.stepWallClock(1000 * hour);
  expect(silence.ms).toBe(0);
});

test.each(["soon", "-1", "1e9", "", "99999999999"])("%j in the Lease counts nothing", (text) => {
  const { silence } = setup();
  expect([silence.notes({ [key]: text }), silence.ms]).toEqual([{}, 0]);
});
