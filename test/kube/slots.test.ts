import { expect, it } from "vitest";
import { Slots } from "../../src/kube/slots.ts";

function slots(most: number) {
  const [room, started] = [new Slots(most), new Array<number>()];
  const start = (number: number) => (): void => void started.push(number);
  return { room, started, start };
}

it("work starts at once while there is room, and waits in order", async () => {
  const { room, started, start } = slots(2);
  for (const number of [1, 2, 3, 4]) room.take(start(number));
  expect([started, room.waiting]).toEqual([[1, 2], 2]);
  room.give();
  room.give();
  await Promise.resolve();
  expect([started, room.waiting]).toEqual([[1, 2, 3, 4], 0]);
});

it("work that is given up while it waits never starts", async () => {
  const { room, started, start } = slots(1);
  const waiting = start(2);
  room.take(start(1));
  room.take(waiting);
  expect([room.forget(waiting), room.forget(waiting), room.waiting]).toEqual([true, false, 0]);
  room.give();
  await Promise.resolve();
  room.take(start(3));
  expect(started).toEqual([1, 3]);
});

it("room that was given back is there for the next", () => {
  const { room, started, start } = slots(1);
  room.take(start(1));
  room.give();
  room.take(start(2));
  room.take(start(3));
  expect([started, room.waiting]).toEqual([[1, 2], 1]);
});
