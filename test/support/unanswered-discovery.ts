import type { ResourceScope } from "../../src/api/discovery.ts";
import type { Discovery } from "../../src/kube/client/discovery.ts";
import { SharedWait } from "../../src/runtime/shared-wait.ts";

/** A discovery that never answers, and the number of callers that wait for it. */
export function unansweredDiscovery(): Pick<Discovery, "known" | "find"> & {
  readonly waiting: () => number;
} {
  const answer = new SharedWait(new Promise<ResourceScope>(() => {}));
  return {
    known: () => undefined,
    find: (_group, _plural, left) => answer.wait(left),
    waiting: () => answer.waiting,
  };
}
