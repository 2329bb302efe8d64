import { expect, it } from "vitest";
import { BoundedWaits } from "../../src/runtime/bounded-waits.ts";

function waiting(most: number) {
  const waits = new BoundedWaits(most);
  const letGo: string[] = [];
  const wait = (name: string, owner = name) => waits.begin(owner, () => letGo.push(name));
  return { waits, letGo, wait };
}

it("a new wait begins, and the oldest one is let go", () => {
  const { waits, letGo, wait } = waiting(2);
  for (const name of ["a", "b", "c", "d"]) wait(name);
  expect([letGo, waits.size]).toEqual([["a", "b"], 2]);
});

it("the oldest one of the owner that has the most is let go", () => {
  const { waits, letGo, wait } = waiting(3);
  wait("honest");
  for (const name of ["a1", "a2", "a3", "a4"]) wait(name, "a");
  wait("honest2");
  expect([letGo, waits.size]).toEqual([["a1", "a2", "a3"], 3]);
});

it("a wait that is over makes room", () => {
  const { waits, letGo, wait } = waiting(1);
  const leave = wait("a");
  leave();
  leave();
  wait("b");
  expect([letGo, waits.size]).toEqual([[], 1]);
});
