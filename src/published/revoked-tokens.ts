import {
  type RevocationSeq,
  revocationSeqText,
  seqOrder,
} from "../domain/endpoint-token/revocation-seq.ts";
import { type HttpsDocument, HttpsDocumentError } from "../kube/client/https-document.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { VerificationKeys } from "../tokens/compact-jws.ts";
import {
  isRevoked,
  listProblems,
  type ListVerification,
  type RevokedList,
  verifyRevokedList,
} from "../tokens/revoked-list.ts";
import type { IssuerKeys } from "./issuer-keys.ts";
import type { PersistedRevokedList } from "./persisted-revoked-list.ts";

/** Why a list of the issuer is refused; a closed set for metrics. */
export const listRefusals = [...listProblems, "older"] as const;

/** One of these reasons. */
type ListRefusal = (typeof listRefusals)[number];

/** Dependencies of {@link RevokedTokens}. */
interface RevokedTokensDeps {
  readonly document: Pick<HttpsDocument, "fetch">;
  readonly keys: IssuerKeys;
  readonly persisted: PersistedRevokedList;
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** Called for each list that is taken. */
  readonly onChange: () => void;
  readonly onRefused: (reason: ListRefusal) => void;
}

/** Whose list it is, and how long it holds. */
interface RevokedTokensOptions {
  readonly issuer: string;
  /** The URL of the list, for messages. */
  readonly url: string;
  /** Milliseconds since the issuer confirmed the list; undefined: it holds without end. */
  readonly maximumAge: number | undefined;
}

/** The URL of the list of revoked tokens, which is published beside the JWK Set. */
export function revokedListUrl(jwksUrl: string): string {
  return new URL("revoked", jwksUrl).href;
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
 * The revoked tokens of the issuer, by long poll: the issuer answers as soon as it has another list
 * than the one that the request names. Only a newer list replaces the list in use. The last one
 * holds while the issuer does not answer, and is persisted, so that a restart needs no issuer.
 *
 * The first request, and the first after a failure, name no list: the issuer answers these at once,
 * which confirms the list in use.
 */
export class RevokedTokens {
  readonly #deps: RevokedTokensDeps;
  readonly #options: RevokedTokensOptions;
  #list: RevokedList | undefined;
  /** The newest list that was ever taken; its entries are unknown if it could not be persisted. */
  #seq: RevocationSeq | undefined;
  /** Monotonic time. */
  #confirmedAt = -Infinity;
  #isConfirmed = false;
  #retryMs = firstRetryMs;
  #problem: string | undefined = "not fetched yet";

  constructor(deps: RevokedTokensDeps, options: RevokedTokensOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Whether the token with this jti is revoked, by the last list. */
  has(jti: string): boolean {
    return this.#list !== undefined && isRevoked(this.#list, jti);
  }

  /** Whether it is known which tokens are revoked. */
  isKnown(): boolean {
    return this.#list !== undefined && !this.#isOutdated();
  }

  /** When the issuer last confirmed the list, in milliseconds since the epoch; 0 if never. */
  confirmedAt(): number {
    const { clock } = this.#deps;
    return Math.max(0, clock.now() - (clock.monotonic() - this.#confirmedAt));
  }

  /** Why it is not known which tokens are revoked, in one sentence; empty if it is. */
  problems(): readonly string[] {
    const { url } = this.#options;
    const why = this.#problem === undefined ? "" : `: ${this.#problem}`;
    const what =
      this.#list === undefined
        ? `no list of revoked tokens from ${url}`
        : `the list of revoked tokens from ${url} is older than --maximum-list-age`;
    return this.isKnown() ? [] : [`${what}${why}; check the connection`];
  }

  /** What fails while the last list is used, in one sentence each. */
  warnings(): readonly string[] {
    const isFailing = this.#list !== undefined && this.#problem !== undefined;
    const failing =
      `the list of revoked tokens at ${this.#options.url} cannot be used: ${this.#problem}; ` +
      "the last list is used";
    return [...(isFailing ? [failing] : []), ...this.#deps.persisted.warnings()];
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
    const { clock, persisted, log, onChange } = this.#deps;
    const restored = await persisted.restore();
    if (restored === undefined) return;
    const { list, seq } = restored;
    this.#seq = seq;
    if (list === undefined) {
      log.warn({ seq: revocationSeqText(seq) }, "no kept list of revoked tokens");
      return;
    }
    this.#list = list;
    this.#confirmedAt = clock.monotonic() - Math.max(0, clock.now() - list.issuedAt);
    this.#problem = undefined;
    onChange();
  }

  async #poll(signal: AbortSignal): Promise<Outcome> {
    const { document } = this.#deps;
    const after =
      this.#isConfirmed && this.#seq !== undefined ? revocationSeqText(this.#seq) : undefined;
    try {
      const query = after === undefined ? undefined : { after };
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
    const { keys, persisted, log, onChange } = this.#deps;
    let known = keys.current();
    let verified = await this.#verify(text, known);
    // The list of a new signing key may arrive before the key was fetched.
    if (!verified.ok && verified.reason === "unknown-kid" && (await keys.refresh())) {
      known = keys.current();
      verified = await this.#verify(text, known);
    }
    if (!verified.ok) return this.#refuse(verified.reason);
    const { list } = verified;
    const order = seqOrder(this.#seq, list.seq);
    if (order === "older") return this.#refuse("older", this.#olderProblem(list.seq));
    if (order === "same" && this.#list !== undefined) return this.#confirm("unchanged");
    this.#list = list;
    this.#seq = list.seq;
    log.info(
      { seq: revocationSeqText(list.seq), tokens: list.digests.size },
      "list of revoked tokens taken",
    );
    onChange();
    persisted.persist({ text, seq: list.seq, keys: known });
    return this.#confirm("newer");
  }

  #verify(text: string, keys: VerificationKeys): Promise<ListVerification> {
    const { issuer } = this.#options;
    return verifyRevokedList(text, { keys, issuer, now: this.#deps.clock.now() });
  }

  #confirm(outcome: "newer" | "unchanged"): Outcome {
    const { clock, log } = this.#deps;
    if (this.#problem !== undefined)
      log.info({ url: this.#options.url }, "list of revoked tokens read");
    this.#problem = undefined;
    this.#isConfirmed = true;
    this.#confirmedAt = clock.monotonic();
    return outcome;
  }

  #refuse(reason: ListRefusal, problem = `the list is refused (${reason})`): Outcome {
    this.#deps.onRefused(reason);
    return this.#fail(problem);
  }

  #fail(problem: string): Outcome {
    const { url } = this.#options;
    if (problem !== this.#problem)
      this.#deps.log.warn({ url, why: problem }, "list of revoked tokens cannot be used");
    this.#problem = problem;
    this.#isConfirmed = false;
    return "failed";
  }

  #olderProblem(seq: RevocationSeq): string {
    const newest = this.#seq === undefined ? "" : revocationSeqText(this.#seq);
    return (
      `its seq ${revocationSeqText(seq)} is older than ${newest}, the last that was used; ` +
      "if the management cluster was restored, " +
      "run kubectl latchkey rotate-signing-key --new-epoch there"
    );
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
