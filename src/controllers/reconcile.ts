import type { Key } from "../api/object.ts";
import type { Result } from "../api/result.ts";
import { type AttemptContext, beginAttempt, type Outcome, settle } from "./attempt.ts";
import type { Request } from "./question.ts";

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
    const sent = attempt.slots.map(async (slot) => {
      while (!slot.isDone) settle(attempt, slot, await send(slot.request), context);
    });
    const bug = (await Promise.allSettled(sent)).find(({ status }) => status === "rejected");
    if (bug?.status === "rejected") throw bug.reason;
  }
  if ("error" in attempt.end) throw attempt.end.error;
  return attempt.end.result;
}
