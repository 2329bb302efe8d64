import { isTrueAt, recordAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import type { Client } from "../kube/client.ts";
import { isKubeError } from "../kube/errors.ts";
import type { Clock } from "../runtime/clock.ts";
import { sleep } from "../runtime/sleep.ts";

/** Dependencies of {@link ImpersonationRight}. */
export interface ImpersonationRightDeps {
  readonly client: Pick<Client, "review">;
  readonly clock: Pick<Clock, "wakeAfter">;
}

interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
}

/** Either all of constrained impersonation (Kubernetes 1.36), or `impersonate`. */
const constrained: readonly Right[] = [
  { verb: "impersonate:user-info", group: "authentication.k8s.io", resource: "users" },
  { verb: "impersonate:user-info", group: "authentication.k8s.io", resource: "groups" },
  { verb: "impersonate-on:user-info:get", group: "*", resource: "*" },
];
const unconstrained: readonly Right[] = [
  { verb: "impersonate", group: "", resource: "users" },
  { verb: "impersonate", group: "", resource: "groups" },
];

const retryMs = 5_000;

/**
 * Checks whether the gateway may act as users, so that a missing right is a reason in /readyz
 * instead of a 403 of every user. Nothing is checked again once the right is there.
 */
export class ImpersonationRight {
  readonly #deps: ImpersonationRightDeps;
  #problem: string | undefined = "the right to impersonate users has not been checked yet";

  constructor(deps: ImpersonationRightDeps) {
    this.#deps = deps;
  }

  /** What is missing, in one sentence; empty once everything is there. */
  problems(): readonly string[] {
    return this.#problem === undefined ? [] : [this.#problem];
  }

  /** Checks until the right is there or the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#problem = await this.#missing();
      if (this.#problem === undefined) return;
      await sleep(retryMs, { clock: this.#deps.clock, signal });
    }
  }

  async #missing(): Promise<string | undefined> {
    try {
      const isGranted = (await this.#mayAll(constrained)) || (await this.#mayAll(unconstrained));
      return isGranted
        ? undefined
        : "the ServiceAccount of the gateway may not impersonate users and groups; apply config/gateway, or config/gateway-before-1.36 before Kubernetes 1.36";
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return "the right to impersonate users could not be checked";
    }
  }

  async #mayAll(rights: readonly Right[]): Promise<boolean> {
    for (const resourceAttributes of rights) {
      const answer = await this.#deps.client.review(resources.selfAccessReviews, {
        resourceAttributes,
      });
      if (!isTrueAt(recordAt(answer, "status"), "allowed")) return false;
    }
    return true;
  }
}
