import { derivedCredentialsPolicy } from "../api/names.ts";
import { type Resource, resources } from "../api/resources.ts";
import {
  policyProblem,
  unknownPolicy,
  unreadablePolicy,
} from "../domain/gateway/derived-credentials-policy.ts";
import type { Refusal } from "../domain/gateway/refusal.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import type { Clock } from "../runtime/clock.ts";
import { SharedWait } from "../runtime/shared-wait.ts";

/** Dependencies of {@link SecretGuard}; the client is that of the guarded cluster. */
interface SecretGuardDeps {
  readonly client: Pick<Client, "get">;
  readonly clock: Pick<Clock, "now" | "monotonic">;
}

/**
 * How long an answer of the cluster counts: it is asked again at once after its policy was applied.
 */
const seenForMs = 60_000;
const missedForMs = 1_000;

/**
 * Asks a connected cluster for the policy that keeps scoped credentials from writing Secrets that
 * become other credentials. Requests at the same time wait for one question.
 */
export class SecretGuard {
  readonly #deps: SecretGuardDeps;
  #asked: SharedWait<Refusal | undefined> | undefined;
  #countsUntil = -Infinity;

  constructor(deps: SecretGuardDeps) {
    this.#deps = deps;
  }

  /**
   * Why a scoped credential may not write Secrets there now; undefined if it may. Rejects with the
   * reason of `left` as soon as it aborts: nothing refers to a caller that has left.
   */
  problem(left?: AbortSignal): Promise<Refusal | undefined> {
    if (this.#asked === undefined || this.#deps.clock.monotonic() >= this.#countsUntil) {
      this.#countsUntil = Infinity;
      this.#asked = new SharedWait(this.#askAgain());
    }
    return this.#asked.wait(left);
  }

  async #askAgain(): Promise<Refusal | undefined> {
    let countsFor = 0;
    try {
      const problem = await this.#ask();
      countsFor = problem === undefined ? seenForMs : missedForMs;
      return problem;
    } finally {
      this.#countsUntil = this.#deps.clock.monotonic() + countsFor;
    }
  }

  async #ask(): Promise<Refusal | undefined> {
    try {
      const [policy, binding] = await Promise.all([
        this.#find(resources.validatingPolicies),
        this.#find(resources.validatingPolicyBindings),
      ]);
      return policyProblem({ policy, binding }, this.#deps.clock.now());
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return isKubeError(error, "Forbidden") ? unreadablePolicy : unknownPolicy;
    }
  }

  async #find(resource: Resource): Promise<unknown> {
    try {
      return await this.#deps.client.get(resource, { name: derivedCredentialsPolicy });
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    }
  }
}
