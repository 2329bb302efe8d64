import {
  type ConnectedPolicy,
  type PolicyProblem,
  policyProblem,
  unknownPolicy,
  unreadablePolicy,
} from "../domain/gateway/connected-policy.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import type { Leaving, PassiveClock } from "../runtime/clock.ts";
import { SharedWait } from "../runtime/shared-wait.ts";
import { readPolicy } from "./guarding-policies.ts";

/** What asking a cluster for a policy needs; the client is that of the cluster. */
export interface PolicyGuardDeps {
  readonly client: Pick<Client, "get">;
  readonly clock: PassiveClock;
}

/**
 * How long an answer of the cluster counts: it is asked again at once after its policy was applied.
 */
const seenForMs = 60_000;
const missedForMs = 1_000;

/**
 * Asks a connected cluster whether it enforces a policy of Latchkey. Requests at the same time wait
 * for one question.
 */
export class PolicyGuard {
  readonly #policy: ConnectedPolicy;
  readonly #deps: PolicyGuardDeps;
  #asked: SharedWait<PolicyProblem | undefined> | undefined;
  #countsUntil = -Infinity;

  constructor(policy: ConnectedPolicy, deps: PolicyGuardDeps) {
    this.#policy = policy;
    this.#deps = deps;
  }

  /**
   * Why what needs the policy is not allowed there now; undefined if it is. Rejects with the reason
   * of `left` as soon as it aborts: nothing refers to a caller that has left.
   */
  problem(left?: Leaving): Promise<PolicyProblem | undefined> {
    if (this.#asked === undefined || this.#deps.clock.monotonic() >= this.#countsUntil) {
      this.#countsUntil = Infinity;
      this.#asked = new SharedWait(this.#askAgain());
    }
    return this.#asked.wait(left?.signal);
  }

  async #askAgain(): Promise<PolicyProblem | undefined> {
    let countsFor = 0;
    try {
      const problem = await askForPolicy(this.#policy, this.#deps);
      countsFor = problem === undefined ? seenForMs : missedForMs;
      return problem;
    } finally {
      this.#countsUntil = this.#deps.clock.monotonic() + countsFor;
    }
  }
}

/** Asks a cluster once why it does not enforce a policy; undefined if it does. */
export async function askForPolicy(
  policy: ConnectedPolicy,
  { client, clock }: PolicyGuardDeps,
): Promise<PolicyProblem | undefined> {
  try {
    return policyProblem(policy, await readPolicy(policy, client), clock.now());
  } catch (error) {
    if (!isKubeError(error)) throw error;
    const problem = isKubeError(error, "Forbidden") ? unreadablePolicy : unknownPolicy;
    return problem(policy);
  }
}
