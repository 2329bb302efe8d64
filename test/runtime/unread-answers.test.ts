import { expect, it } from "vitest";
import { UnreadAnswers } from "../../src/runtime/unread-answers.ts";
import { TestClock } from "../support/test-clock.ts";

function unread(most: number) {
  const clock = new TestClock();
  const aborted: number[] = [];
  const answers = new UnreadAnswers({ clock, most, mostMs: 60_000 });
  const add = (number: number, owner = "alice") =>
    answers.add(owner, () => void aborted.push(number));
  return { clock, aborted, add };
}

it("an answer that is not read is aborted after its time", async () => {
  const { clock, aborted, add } = unread(10);
  add(1);
  await clock.run(59_999);
  expect(aborted).toEqual([]);
  await clock.run(1);
  expect([aborted, clock.pending]).toEqual([[1], 0]);
});

it("an answer that is read is not aborted, and leaves no timer", async () => {
  const { clock, aborted, add } = unread(10);
  const read = add(1);
  read();
  read();
  await clock.run(60_000);
  expect([aborted, clock.pending]).toEqual([[], 0]);
});

it("of too many answers, the oldest is aborted", () => {
  const { clock, aborted, add } = unread(2);
  const [first] = [add(1), add(2)];
  add(3);
  first();
  expect(aborted).toEqual([1]);
  add(4);
  expect([aborted, clock.pending]).toEqual([[1, 2], 2]);
});

it("of too many answers, the oldest of the owner that has the most is aborted", () => {
  const { aborted, add } = unread(4);
  add(1, "alice");
  for (let number = 2; number < 10; number += 1) add(number, "mallory");
  add(10, "alice");
  expect(aborted).toEqual([2, 3, 4, 5, 6, 7]);
});
