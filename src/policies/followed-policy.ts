import {
  type ConnectedPolicy,
  type PolicyProblem,
  problemText,
} from "../domain/gateway/connected-policy.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { askForPolicy, type PolicyGuardDeps } from "./policy-guard.ts";

/** What following a policy needs; the client is that of the cluster. */
interface FollowedPolicyDeps extends PolicyGuardDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, "error">;
  /** Called after each answer. */
  readonly onAnswer: () => void;
}

/** A cluster that does not answer for a moment has not lost its policy. */
const confirmedForMs = 90_000;
const everyMs = 60_000;
const retryMs = 5_000;

/** Asks a cluster each minute for a policy, so that what needs it is decided without waiting. */
export class FollowedPolicy {
  readonly #policy: ConnectedPolicy;
  readonly #deps: FollowedPolicyDeps;
  #confirmedAt = -Infinity;
  #answer: PolicyProblem | "none" | undefined;

  constructor(policy: ConnectedPolicy, deps: FollowedPolicyDeps) {
    [this.#policy, this.#deps] = [policy, deps];
  }

  /** Whether the cluster has answered. */
  get isKnown(): boolean {
    return this.#answer === "none" || (this.#answer?.kind ?? "unknown") !== "unknown";
  }

  /** Why the cluster is not known to enforce the policy, in one sentence; undefined if it is. */
  problem(): string | undefined {
    const answer = this.#answer;
    if (answer === undefined) return "the policies of the cluster have not been checked yet";
    const isConfirmed = this.#deps.clock.monotonic() - this.#confirmedAt < confirmedForMs;
    if (answer !== "none" && (answer.kind !== "unknown" || !isConfirmed))
      return problemText(answer);
    return isConfirmed ? undefined : "the policies of the cluster were not checked for 90 s";
  }

  /** Asks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, onAnswer } = this.#deps;
    while (!signal.aborted) {
      try {
        this.#answer = (await askForPolicy(this.#policy, this.#deps)) ?? "none";
        if (this.#answer === "none") this.#confirmedAt = clock.monotonic();
      } catch (error) {
        log.error({ error }, "checking a policy failed");
      }
      onAnswer();
      await sleep(this.#answer === "none" ? everyMs : retryMs, { clock, signal });
    }
  }
}
