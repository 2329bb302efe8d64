import { extras } from "../api/names.ts";
import { isTrueAt, recordAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import { minorOf, serverVersion } from "../kube/client/server-version.ts";
import type { RoundTripper } from "../kube/client/transport.ts";
import { sleep, type Timers } from "../runtime/clock.ts";

/** Dependencies of {@link ImpersonationRight}. */
interface ImpersonationRightDeps {
  readonly client: Pick<Client, "review">;
  readonly transport: RoundTripper;
  readonly clock: Timers;
  /** The directory of config with the rights of the program. */
  readonly directory: "gateway" | "direct-endpoint";
}

interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
}

/** The extra that is new to roles of an earlier version of Latchkey (config/connected-policies). */
const credential = {
  group: "authentication.k8s.io",
  resource: "userextras",
  subresource: extras.credentialId,
} as const;

/** Either all of constrained impersonation (Kubernetes 1.36), or `impersonate`. */
const constrained: readonly Right[] = [
  { verb: "impersonate:user-info", group: "authentication.k8s.io", resource: "users" },
  { verb: "impersonate:user-info", group: "authentication.k8s.io", resource: "groups" },
  { verb: "impersonate:user-info", ...credential },
  { verb: "impersonate-on:user-info:get", group: "*", resource: "*" },
];
const unconstrained: readonly Right[] = [
  { verb: "impersonate", group: "", resource: "users" },
  { verb: "impersonate", group: "", resource: "groups" },
  { verb: "impersonate", ...credential },
];

/** The first minor version with constrained impersonation (Kubernetes, "User Impersonation"). */
const constrainedSince = 36;

const retryMs = 5_000;

/**
 * Checks whether the gateway or the direct endpoint may act as users, so that a missing right is a
 * reason in /readyz instead of a 403 of every user. Nothing is checked again once the right is
 * there.
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
    const { directory } = this.#deps;
    try {
      if (await this.#mayAll(unconstrained)) return undefined;
      return (await this.#mayAll(constrained))
        ? await this.#unsupported()
        : `this program's ServiceAccount may not impersonate users and groups with ` +
            `${extras.credentialId}; apply config/${directory}, ` +
            `or config/${directory}-before-1.36 before Kubernetes 1.36`;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return "the right to impersonate users could not be checked";
    }
  }

  /** RBAC grants verbs that the API server does not know. */
  async #unsupported(): Promise<string | undefined> {
    const version = await serverVersion(this.#deps.transport).catch((error: unknown) => {
      if (isKubeError(error, "Forbidden")) return "";
      throw error;
    });
    return (minorOf(version) ?? constrainedSince) >= constrainedSince
      ? undefined
      : `Kubernetes ${version} has no constrained impersonation, ` +
          `and this program's ServiceAccount has no other; ` +
          `apply config/${this.#deps.directory}-before-1.36`;
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
