import { type HttpsDocument, HttpsDocumentError } from "../kube/client/https-document.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { VerificationKeys } from "../tokens/compact-jws.ts";
import type { IssuerKeys } from "./issuer-keys.ts";
import type { PersistedList } from "./persisted-list.ts";
import type { Issued, ListVerification, PublishedList } from "./published-list.ts";

/** Dependencies of a {@link FollowedList}. */
interface FollowedListDeps<T extends Issued> {
  readonly published: PublishedList<T>;
  readonly document: Pick<HttpsDocument, "fetch">;
  readonly keys: IssuerKeys;
  readonly persisted: PersistedList<T>;
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** Called for each list that is taken. */
  readonly onChange: () => void;
  readonly onRefused: (reason: string) => void;
}

/** Whose list it is, and how long it holds. */
interface FollowedListOptions {
  readonly issuer: string;
  /** The URL of the list, for messages. */
  readonly url: string;
  /** Milliseconds since the issuer confirmed the list; undefined: it holds without end. */
  readonly maximumAge: number | undefined;
}

type Outcome = "newer" | "unchanged" | "failed";

const firstRetryMs = 1_000;
const longestRetryMs = 15_000;
/** A cache between here and the issuer may answer at once what the issuer would wait with. */
const leastPollMs: Readonly<Record<Exclude<Outcome, "failed">, number>> = {
  newer: 250,
  unchanged: 1_000,
};

/**
 * A list that the issuer publishes, by long poll: the issuer answers as soon as it has another list
 * than the one that the request names. Only a newer list replaces the list in use. The last one
 * holds while the issuer does not answer, and is persisted, so that a restart needs no issuer.
 *
 * The first request, and the first after a failure, name no list: the issuer answers these at once,
 * which confirms the list in use.
 */
export class FollowedList<T extends Issued> {
  readonly #deps: FollowedListDeps<T>;
  readonly #options: FollowedListOptions;
  #list: T | undefined;
  /** That of the newest list that was ever taken; its entries are unknown if it was too large. */
  #version: string | undefined;
  /** Monotonic time. */
  #confirmedAt = -Infinity;
  #isConfirmed = false;
  #retryMs = firstRetryMs;
  #problem: string | undefined = "not fetched yet";

  constructor(deps: FollowedListDeps<T>, options: FollowedListOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** The last list, however old; undefined if there is none. */
  last(): T | undefined {
    return this.#list;
  }

  /** Whether there is a list that the issuer confirmed in time. */
  isKnown(): boolean {
    return this.#list !== undefined && !this.#isOutdated();
  }

  /** When the issuer last confirmed the list, in milliseconds since the epoch; 0 if never. */
  confirmedAt(): number {
    const { clock } = this.#deps;
    return Math.max(0, clock.now() - (clock.monotonic() - this.#confirmedAt));
  }

  /** Why the list is not known, in one sentence; empty if it is. */
  problems(): readonly string[] {
    const { url } = this.#options;
    const { noun } = this.#deps.published;
    const why = this.#problem === undefined ? "" : `: ${this.#problem}`;
    const what =
      this.#list === undefined
        ? `no ${noun} from ${url}`
        : `the ${noun} from ${url} is older than --maximum-list-age`;
    return this.isKnown() ? [] : [`${what}${why}; check the connection`];
  }

  /** What fails while the last list is used, in one sentence each. */
  warnings(): readonly string[] {
    const { published, persisted } = this.#deps;
    const isFailing = this.#list !== undefined && this.#problem !== undefined;
    const failing =
      `the ${published.noun} at ${this.#options.url} cannot be used: ${this.#problem}; ` +
      "the last list is used";
    return [...(isFailing ? [failing] : []), ...persisted.warnings()];
  }

  /** Reads the persisted list, then follows the issuer until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    await this.#restore();
    while (!signal.aborted) {
      const startedAt = clock.monotonic();
      const outcome = await this.#poll(signal);
      const pauseMs = this.#pauseMs(outcome, clock.monotonic() - startedAt);
      if (pauseMs > 0) await sleep(pauseMs, { clock, signal });
    }
  }

  async #restore(): Promise<void> {
    const { published, clock, persisted, log, onChange } = this.#deps;
    const restored = await persisted.restore();
    if (restored === undefined) return;
    const { list, version } = restored;
    this.#version = version;
    if (list === undefined) {
      log.warn({ list: published.noun, version }, "a list of the issuer was not kept");
      return;
    }
    this.#list = list;
    this.#confirmedAt = clock.monotonic() - Math.max(0, clock.now() - list.issuedAt);
    this.#problem = undefined;
    onChange();
  }

  async #poll(signal: AbortSignal): Promise<Outcome> {
    const { document } = this.#deps;
    const query =
      this.#isConfirmed && this.#version !== undefined ? { after: this.#version } : undefined;
    try {
      const { bytes } = await document.fetch({ query, signal });
      if (bytes === undefined) return this.#confirm("unchanged");
      return await this.#take(Buffer.from(bytes).toString("latin1"));
    } catch (error) {
      if (!(error instanceof HttpsDocumentError)) throw error;
      if (signal.aborted) return "failed";
      return error.isTooLarge ? this.#refuse("oversized") : this.#fail(error.message);
    }
  }

  /** Takes a list if it is newer than any before. */
  async #take(text: string): Promise<Outcome> {
    const { published, keys, persisted, log, onChange } = this.#deps;
    let known = keys.current();
    let verified = await this.#verify(text, known);
    // The list of a new signing key may arrive before the key was fetched.
    if (!verified.ok && verified.reason === "unknown-kid" && (await keys.refresh())) {
      known = keys.current();
      verified = await this.#verify(text, known);
    }
    if (!verified.ok) return this.#refuse(verified.reason);
    const { list } = verified;
    const isOld = this.#deps.clock.now() - list.issuedAt > published.mostAgeMs;
    const order = isOld ? "older" : published.order(this.#version, list);
    if (order === "older")
      return this.#refuse("older", published.olderProblem(list, this.#version));
    if (order === "same" && this.#list !== undefined) return this.#confirm("unchanged");
    this.#list = list;
    this.#version = published.versionOf(list);
    const facts = { list: published.noun, version: this.#version, count: published.sizeOf(list) };
    log.info(facts, "list of the issuer taken");
    onChange();
    persisted.persist({ text, list, keys: known });
    return this.#confirm("newer");
  }

  #verify(text: string, keys: VerificationKeys): Promise<ListVerification<T>> {
    const { published, clock } = this.#deps;
    const { issuer } = this.#options;
    return published.verify(text, { keys, issuer, now: clock.now() });
  }

  #confirm(outcome: "newer" | "unchanged"): Outcome {
    const { clock, log } = this.#deps;
    if (this.#problem !== undefined)
      log.info({ url: this.#options.url }, "list of the issuer read");
    this.#problem = undefined;
    this.#isConfirmed = true;
    this.#confirmedAt = clock.monotonic();
    return outcome;
  }

  #refuse(reason: string, problem = `the list is refused (${reason})`): Outcome {
    this.#deps.onRefused(reason);
    return this.#fail(problem);
  }

  #fail(problem: string): Outcome {
    const { url } = this.#options;
    if (problem !== this.#problem)
      this.#deps.log.warn({ url, why: problem }, "list of the issuer cannot be used");
    this.#problem = problem;
    this.#isConfirmed = false;
    return "failed";
  }

  #isOutdated(): boolean {
    const { maximumAge } = this.#options;
    return (
      maximumAge !== undefined && this.#deps.clock.monotonic() - this.#confirmedAt > maximumAge
    );
  }

  #pauseMs(outcome: Outcome, tookMs: number): number {
    if (outcome !== "failed") {
      this.#retryMs = firstRetryMs;
      return leastPollMs[outcome] - tookMs;
    }
    const pauseMs = (this.#retryMs * (1 + this.#deps.random())) / 2;
    this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs);
    return pauseMs;
  }
}
