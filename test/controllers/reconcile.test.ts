import { expect, test } from "vitest";
import type { Outcome } from "../../src/controllers/attempt.ts";
import type { Request } from "../../src/controllers/question.ts";
import { reconcile } from "../../src/controllers/reconcile.ts";
import { nothingToDo } from "../../src/domain/plan/plan.ts";
import { refusal } from "../support/fake-client.ts";
import { settled } from "../support/test-clock.ts";
import { fakeWorld } from "../support/world.ts";
import { create } from "../support/writes.ts";

const { world } = await fakeWorld({});

function reconciled(send: (request: Request) => Promise<Outcome>) {
  const steps = [[create("a"), create("b")], [create("c")]];
  const decide = () => ({ ...nothingToDo, steps });
  const reconciler = { queue: "key", workers: () => 1, decide } as const;
  return reconcile("k", { reconciler, world }, send);
}

test("sends the requests of a step at once, and the next step when all of them have ended", async () => {
  const open: ((outcome: Outcome) => void)[] = [];
  const ended = reconciled(() => new Promise((resolve) => void open.push(resolve)));
  for (const [ending, sent] of [
    [1, 2],
    [0, 3],
    [2, 3],
  ] as const) {
    await settled();
    open[ending]?.({ response: {} });
    await settled();
    expect(open).toHaveLength(sent);
  }
  expect(await ended).toEqual({ kind: "done" });
});

test("throws the error that the attempt ends with", async () => {
  const error = refusal("Forbidden");
  await expect(reconciled(async () => ({ error }))).rejects.toBe(error);
});

test("throws a bug once the other requests have ended", async () => {
  const bug = new TypeError("bug");
  let hasEnded = false;
  const sent = reconciled(async ({ do: kind, ...rest }) => {
    if ("object" in rest && rest.object.metadata.name === "a") throw bug;
    await settled();
    hasEnded = kind === "create";
    return { response: {} };
  });
  await expect(sent).rejects.toBe(bug);
  expect(hasEnded).toBe(true);
});
