import { describe, expect, test } from "vitest";
import { observeAgent } from "../../src/controllers/cluster-agents.ts";
import { rawObject } from "../support/fake-list-watch.ts";
import { rawHeartbeat, rawReport } from "../support/outbox-objects.ts";
import { fakeWorld } from "../support/world.ts";

/** A world with a Lease that was renewed so long before the first observation. */
async function setup(agoMs: number | undefined) {
  const { clock: start } = await fakeWorld({});
  const leases = agoMs === undefined ? [] : [rawHeartbeat(start.now() - agoMs)];
  const found = await fakeWorld({ leases });
  await found.enqueueAll();
  const { clock, listWatch, world } = found;
  let version = 9_000_000;
  return {
    ...found,
    age: () => observeAgent("east", world).ageMs,
    renew: (at: number) => {
      version += 1;
      const { metadata, ...rest } = rawHeartbeat(at);
      const renewed = rawObject({ ...metadata, resourceVersion: String(version) }, rest);
      listWatch.emit("leases", "MODIFIED", renewed);
    },
    clock,
  };
}

describe("the age of a heartbeat", () => {
  test("is that of the Lease for a new leader", async () => {
    const { age } = await setup(91_000);
    expect(age()).toBe(91_000);
  });

  test("is never negative, by whatever clock", async () => {
    const { age } = await setup(-3_600_000);
    expect(age()).toBe(0);
  });

  test("counts from the observation of each renewal, because clocks differ", async () => {
    const { age, clock, renew } = await setup(91_000);
    renew(clock.now() - 80_000_000);
    expect(age()).toBe(0);
    clock.advance(90_000);
    expect(age()).toBe(90_000);
  });

  test("counts from each write of the Lease, also if the clock of the agent stands still", async () => {
    const { age, clock, renew } = await setup(0);
    const at = clock.now();
    clock.advance(5_000);
    renew(at);
    expect(age()).toBe(0);
  });

  test("grows without writes, whatever time the Lease names", async () => {
    const { age, clock, renew } = await setup(0);
    renew(Date.parse("9999-01-01T00:00:00Z"));
    clock.advance(91_000);
    expect(age()).toBe(91_000);
  });

  test("is unknown without a Lease, and after the Lease is deleted", async () => {
    const none = await setup(undefined);
    expect(none.age()).toBe(undefined);
    const { age, clock, listWatch } = await setup(0);
    const { metadata, ...rest } = rawHeartbeat(clock.now());
    const deleted = rawObject({ ...metadata, resourceVersion: "9000001" }, rest);
    listWatch.emit("leases", "DELETED", deleted);
    expect(age()).toBeUndefined();
  });
});

test("the first report says why an agent writes nothing, and no other report", async () => {
  const problem = { reason: "PoliciesMissing", message: "m" };
  const first = await fakeWorld({ configmaps: [rawReport({ problem })] });
  expect(observeAgent("east", first.world).problem).toEqual(problem);
  const second = await fakeWorld({ configmaps: [rawReport({ problem }, { number: 1 })] });
  expect(observeAgent("east", second.world).problem).toBeUndefined();
});
