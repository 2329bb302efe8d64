import type { Key } from "../api/object.ts";
import type { Result } from "../api/result.ts";
import {
  type AttemptContext,
  beginAttempt,
  type Outcome,
  type Request,
  settle,
} from "./attempt.ts";

/**
 * Reconciles a key: decides, sends what the decision requires, and decides again until nothing is
 * left. Throws the KubeError that it fails with.
 */
export async function reconcile(
  key: Key,
  context: AttemptContext,
  send: (request: Request) => Promise<Outcome>,
): Promise<Result> {
  const attempt = beginAttempt(key, context);
  while (attempt.end === undefined) {
    await Promise.all(
      attempt.slots.map(async (slot) => {
        while (!slot.isDone) settle(attempt, slot, await send(slot.request), context);
      }),
    );
  }
  if ("error" in attempt.end) throw attempt.end.error;
  return attempt.end.result;
}
