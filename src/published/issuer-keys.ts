import { recordAt, stringAt } from "../api/parse.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import { type HttpsDocument, HttpsDocumentError } from "../kube/client/https-document.ts";
import type { Logger } from "../runtime/log.ts";
import type { VerificationKeys } from "../tokens/compact-jws.ts";
import { parseVerificationKeys } from "../tokens/verification-keys.ts";
import type { PersistedState } from "./persisted-state.ts";

/** Dependencies of {@link IssuerKeys}. */
export interface IssuerKeysDeps {
  readonly document: Pick<HttpsDocument, "fetch">;
  /** Where the keys are persisted. */
  readonly state: PersistedState;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called for each new set of keys. */
  readonly onKeys: (keys: VerificationKeys) => void;
}

/** As long as the issuer allows to cache its keys. */
const everyMs = 60_000;
/** While there are no keys, and after a failure. */
const retryMs = 5_000;
/** Anybody can send a token with an unknown kid, so it fetches the keys at most this often. */
const unknownKidMs = 10_000;
const dataKey = "jwks.json";

/**
 * The public keys of the issuer: fetched every minute, and at once for an unknown kid. The last
 * ones are persisted, so that a restart needs no issuer. A document that is invalid changes
 * nothing.
 */
export class IssuerKeys {
  readonly #deps: IssuerKeysDeps;
  readonly #url: string;
  #keys: VerificationKeys | undefined;
  #etag: string | undefined;
  /** The document in the persisted state, in base64. */
  #persisted: string | undefined;
  #fetching: Promise<void> | undefined;
  #fetchedAt = -Infinity;
  #problem: string | undefined = "not fetched yet";

  /** `url` is that of the JWK Set, for messages. */
  constructor(deps: IssuerKeysDeps, url: string) {
    this.#deps = deps;
    this.#url = url;
  }

  /** The keys of now, by kid; none while none are known. */
  current(): VerificationKeys {
    return this.#keys ?? new Map();
  }

  /** Whether a key with this kid is published. */
  has(kid: string): boolean {
    return this.#keys?.has(kid) ?? false;
  }

  /** Why no token can be verified, in one sentence; empty if tokens can. */
  problems(): readonly string[] {
    return this.#keys === undefined
      ? [`no signing keys from ${this.#url}: ${this.#problem}; check the connection`]
      : [];
  }

  /** What fails while the last keys are used, in one sentence. */
  warnings(): readonly string[] {
    return this.#keys === undefined || this.#problem === undefined
      ? []
      : [`the signing keys at ${this.#url} cannot be read: ${this.#problem}`];
  }

  /** Reads the persisted keys, then fetches them until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#restore();
    while (!signal.aborted) {
      await this.#fetch();
      const isGood = this.#problem === undefined && this.#keys !== undefined;
      await sleep(isGood ? everyMs : retryMs, { clock: this.#deps.clock, signal });
    }
  }

  /** Fetches the keys for an unknown kid; false if they were fetched a moment ago. */
  async refresh(): Promise<boolean> {
    const isDue = this.#deps.clock.monotonic() - this.#fetchedAt >= unknownKidMs;
    if (this.#fetching === undefined && !isDue) return false;
    await this.#fetch();
    return true;
  }

  #fetch(): Promise<void> {
    this.#fetching ??= this.#fetchOnce().finally(() => (this.#fetching = undefined));
    return this.#fetching;
  }

  async #fetchOnce(): Promise<void> {
    this.#fetchedAt = this.#deps.clock.monotonic();
    try {
      const { bytes, etag } = await this.#deps.document.fetch({ etag: this.#etag });
      const problem = bytes === undefined ? undefined : this.#use(bytes);
      this.#report(problem);
      if (bytes === undefined || problem !== undefined) return;
      this.#etag = etag;
      await this.#persist(bytes);
    } catch (error) {
      if (!(error instanceof HttpsDocumentError)) throw error;
      this.#report(error.message);
    }
  }

  /** Uses the keys in a document; returns why it has none. */
  #use(bytes: Uint8Array): string | undefined {
    const result = parseVerificationKeys(bytes);
    if (!result.ok) return `the document is not a set of keys (${result.reason})`;
    this.#keys = result.keys;
    this.#deps.onKeys(result.keys);
    return undefined;
  }

  #report(problem: string | undefined): void {
    const { log } = this.#deps;
    const url = this.#url;
    if (problem !== undefined && problem !== this.#problem)
      log.warn({ url, why: problem }, "signing keys of the issuer cannot be read");
    if (problem === undefined && this.#problem !== undefined)
      log.info({ url, count: this.#keys?.size }, "signing keys of the issuer read");
    this.#problem = problem;
  }

  async #restore(): Promise<void> {
    const { log, state } = this.#deps;
    const raw = await state.read();
    const encoded = stringAt(recordAt(raw, "data"), dataKey);
    if (encoded === undefined) return;
    this.#persisted = encoded;
    const problem = this.#use(Buffer.from(encoded, "base64"));
    if (problem !== undefined)
      log.warn({ kind: "Secret", object: state.name, why: problem }, "kept keys are invalid");
  }

  /** Persists the keys for the next start; without the Secret, a restart needs the issuer. */
  async #persist(bytes: Uint8Array): Promise<void> {
    const encoded = Buffer.from(bytes).toString("base64");
    if (encoded === this.#persisted) return;
    const isDone = await this.#deps.state.update(() => ({ [dataKey]: encoded }));
    if (isDone) this.#persisted = encoded;
    // The next fetch tries again.
    else this.#etag = undefined;
  }
}
