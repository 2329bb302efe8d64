import { expect, it } from "vitest";
import { BoundedWaits } from "../../src/runtime/bounded-waits.ts";
import { aborted } from "../../src/runtime/sleep.ts";
import { settled } from "../support/test-clock.ts";

function waiting(most: number) {
  const waits = new BoundedWaits(most);
  const letGo: string[] = [];
  const wait = (name: string, owner = name) =>
    waits.wait(owner, async ({ signal }) => {
      await aborted(signal);
      letGo.push(name);
    });
  return { waits, letGo, wait };
}

it("a new wait begins, and the oldest one is let go", async () => {
  const { waits, letGo, wait } = waiting(2);
  for (const name of ["a", "b", "c", "d"]) void wait(name);
  await settled();
  expect([letGo, waits.size]).toEqual([["a", "b"], 2]);
});

it("the oldest one of the owner that has the most is let go", async () => {
  const { waits, letGo, wait } = waiting(3);
  void wait("honest");
  for (const name of ["a1", "a2", "a3", "a4"]) void wait(name, "a");
  void wait("honest2");
  await settled();
  expect([letGo, waits.size]).toEqual([["a1", "a2", "a3"], 3]);
});

it("a wait that is over makes room, however it ends", async () => {
  const waits = new BoundedWaits(1);
  expect(await waits.wait("a", () => Promise.resolve("over"))).toBe("over");
  await expect(waits.wait("a", () => Promise.reject(new Error("failed")))).rejects.toThrow(
    "failed",
  );
  expect(waits.size).toBe(0);
});
