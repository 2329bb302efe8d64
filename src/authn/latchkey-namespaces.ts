import { recordAt, stringAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import {
  connectedPolicies,
  type PolicyProblem,
  problemText,
  unknownPolicy,
  unreadablePolicy,
} from "../domain/gateway/connected-policy.ts";
import { accountNamespaces, namespacesInPolicy } from "../domain/policies/latchkey-namespaces.ts";
import type { RequestLocation } from "../domain/scope/scoped-request.ts";
import type { Client } from "../kube/client/client.ts";
import { isKubeError } from "../kube/client/kube-error.ts";
import type { PassiveClock } from "../runtime/clock.ts";
import { SharedWait } from "../runtime/shared-wait.ts";
import type { RequestLocations } from "./request-locations.ts";

/** What asking a cluster where Latchkey runs needs; the client is that of the cluster. */
export interface LatchkeyNamespacesDeps {
  readonly client: Pick<Client, "get" | "review">;
  readonly clock: PassiveClock;
  /** Called when the answer has changed. */
  readonly onChange: () => void;
}

const everyMs = 60_000;
const retryMs = 1_000;
const policy = connectedPolicies.ownSecrets;

/**
 * Where Latchkey runs in a cluster that is not the central one: the namespaces of the accounts that
 * its policy names, and that of the account of this program. Asked for with the first request of a
 * credential with a scope, and then each minute.
 */
class LatchkeyNamespaces {
  readonly #deps: LatchkeyNamespacesDeps;
  #asked: SharedWait<void> | undefined;
  #askAt = -Infinity;
  #problem: PolicyProblem | undefined;
  #known: ReadonlySet<string> | undefined;

  constructor(deps: LatchkeyNamespacesDeps) {
    this.#deps = deps;
  }

  get current(): NonNullable<RequestLocation["latchkeyNamespaces"]> {
    return this.#known ?? "unknown";
  }

  /** Why the policy could not be read, one sentence; undefined if it could, or is not there. */
  get problem(): string | undefined {
    return this.#problem && problemText(this.#problem);
  }

  /** Asks again when it is time; waits only until there is an answer. */
  async known(left?: AbortSignal): Promise<void> {
    if (this.#deps.clock.monotonic() >= this.#askAt) {
      this.#askAt = Infinity;
      this.#asked = new SharedWait(this.#ask());
    }
    if (this.#known === undefined) await this.#asked?.wait(left);
  }

  async #ask(): Promise<void> {
    const { client, clock, onChange } = this.#deps;
    let countsFor = retryMs;
    try {
      const [found, review] = await Promise.all([
        answerTo(client.get(resources.validatingPolicies, policy)),
        answerTo(client.review(resources.selfReviews, {})),
      ]);
      this.#problem = problemOf(found);
      const names = [...namespacesInPolicy(found), ...accountNamespaces(usernameIn(review))];
      if (this.#problem !== undefined && names.length === 0) return;
      // A cluster that does not answer for a moment runs Latchkey where it did.
      const isWhole = [found, review].every((answer) => !isSilent(answer));
      const former = this.#known;
      this.#known = new Set([...(isWhole ? [] : (former ?? [])), ...names]);
      if (former === undefined || String([...former]) !== String([...this.#known])) onChange();
      if (isWhole) countsFor = everyMs;
    } finally {
      this.#askAt = clock.monotonic() + countsFor;
    }
  }
}

/** The answer, or the error of the cluster. */
async function answerTo(request: Promise<unknown>): Promise<unknown> {
  try {
    return await request;
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return error;
  }
}

function isSilent(answer: unknown): boolean {
  return isKubeError(answer) && !isKubeError(answer, "NotFound", "Forbidden");
}

function problemOf(answer: unknown): PolicyProblem | undefined {
  if (isSilent(answer)) return unknownPolicy(policy);
  return isKubeError(answer, "Forbidden") ? unreadablePolicy(policy) : undefined;
}

function usernameIn(review: unknown): string {
  return stringAt(recordAt(recordAt(review, "status"), "userInfo"), "username") ?? "";
}

/** The same locations, with where Latchkey runs in their cluster. */
export function withLatchkeyNamespaces(
  locations: RequestLocations,
  deps: LatchkeyNamespacesDeps,
): RequestLocations {
  const latchkey = new LatchkeyNamespaces(deps);
  const { cluster, project, virtualCluster } = locations.locationOf("");
  const name = cluster ?? `${project}/${virtualCluster}`;
  const unknown = (): string | undefined =>
    latchkey.problem && `it is not certain where Latchkey runs in ${name}: ${latchkey.problem}`;
  return {
    get areTrusted() {
      return locations.areTrusted;
    },
    locationOf: (namespace) => ({
      ...locations.locationOf(namespace),
      latchkeyNamespaces: latchkey.current,
    }),
    async decided(scopes, left) {
      const isLimited = scopes.some((limit) => limit !== "none");
      await Promise.all([
        locations.decided(scopes, left),
        isLimited && latchkey.known(left?.signal),
      ]);
    },
    denialOf(reason, scopes) {
      const denial = locations.denialOf(reason, scopes);
      const why = latchkey.current === "unknown" ? unknown() : undefined;
      return why === undefined ? denial : `${denial}; every namespace is protected, because ${why}`;
    },
    warnings() {
      const why = unknown();
      return why === undefined ? locations.warnings() : [...locations.warnings(), why];
    },
    close: () => locations.close(),
  };
}
