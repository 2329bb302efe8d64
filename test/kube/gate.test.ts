import { expect, test } from "vitest";
import { Gate } from "../../src/kube/gate.ts";
import { settled } from "../runtime/test-clock.ts";

function visitors(limit: number, count: number) {
  const gate = new Gate(limit);
  const inside: number[] = [];
  const leave = new Map<number, (failure?: Error) => void>();
  const visits = Array.from({ length: count }, (_, visitor) =>
    gate.within(async () => {
      inside.push(visitor);
      await new Promise<void>((resolve, reject) => leave.set(visitor, (failure) => (failure === undefined ? resolve() : reject(failure))));
      return visitor;
    }),
  );
  return { inside, leave, visits };
}

test("at most so many are inside, and the others follow in the order they came", async () => {
  const { inside, leave, visits } = visitors(2, 5);
  await settled();
  expect(inside).toEqual([0, 1]);
  leave.get(1)?.();
  await settled();
  expect(inside).toEqual([0, 1, 2]);
  for (const visitor of [0, 2, 3, 4]) {
    leave.get(visitor)?.();
    await settled();
  }
  expect(await Promise.all(visits)).toEqual([0, 1, 2, 3, 4]);
});

test("whoever fails makes room, too", async () => {
  const { inside, leave, visits } = visitors(1, 2);
  await settled();
  leave.get(0)?.(new Error("no"));
  await expect(visits[0]).rejects.toThrow("no");
  await settled();
  expect(inside).toEqual([0, 1]);
  leave.get(1)?.();
  expect(await visits[1]).toBe(1);
});
