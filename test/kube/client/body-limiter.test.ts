import { expect, test } from "vitest";
import { BodyLimiter } from "../../../src/kube/client/body-limiter.ts";
import { settled } from "../../support/test-clock.ts";

const kilobytes = 1024;
const limit = 1000 * kilobytes;

/** Requests of these sizes in kilobytes, all sent at once; each runs until it leaves. */
function requests(sizes: readonly number[]) {
  const budget = new BodyLimiter(limit);
  const inside: number[] = [];
  const leaving = sizes.map(() => Promise.withResolvers<void>());
  const ended = sizes.map((size, index) =>
    budget.within(size * kilobytes, () => {
      inside.push(index);
      return leaving[index]?.promise ?? Promise.resolve();
    }),
  );
  const leave = async (index: number, error?: Error) => {
    if (error === undefined) leaving[index]?.resolve();
    else leaving[index]?.reject(error);
    await settled();
  };
  return { budget, inside, leave, ended };
}

test("starts large requests in FIFO order as soon as they fit into the limit", async () => {
  const { inside, leave, ended } = requests([400, 400, 400, 100, 400]);
  await settled();
  expect(inside).toEqual([0, 1]);
  await leave(1);
  expect(inside).toEqual([0, 1, 2, 3]);
  await leave(0);
  expect(inside).toEqual([0, 1, 2, 3, 4]);
  for (const index of [2, 3, 4]) await leave(index);
  await Promise.all(ended);
});

test("starts a request that fills the limit exactly", async () => {
  const { inside } = requests([600, 400, 65]);
  await settled();
  expect(inside).toEqual([0, 1]);
});

test("starts a small request at once, and counts its bytes", async () => {
  const { budget, inside, leave } = requests([900, 900, 64]);
  await settled();
  expect(inside).toEqual([0, 2]);
  const waits = budget.within(80 * kilobytes, async () => inside.push(9));
  await leave(0);
  expect(inside).toEqual([0, 2, 1]);
  await leave(2);
  expect(inside).toEqual([0, 2, 1, 9]);
  await waits;
});

test("starts a request above the limit when no other large request is running", async () => {
  const { inside, leave } = requests([64, 100, 5000, 100]);
  await settled();
  expect(inside).toEqual([0, 1]);
  await leave(1);
  expect(inside).toEqual([0, 1, 2]);
  await leave(2);
  expect(inside).toEqual([0, 1, 2, 3]);
});

test("starts the next request after a failure", async () => {
  const { inside, leave, ended } = requests([900, 900]);
  await settled();
  const results = Promise.allSettled(ended);
  await leave(0, new Error("lost"));
  expect(inside).toEqual([0, 1]);
  await leave(1);
  expect((await results).map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
});
