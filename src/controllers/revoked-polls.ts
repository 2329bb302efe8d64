import {
  parseRevocationSeq,
  type RevocationSeq,
  revocationSeqText,
} from "../domain/endpoint-token/revocation-seq.ts";
import { highestVersion, keptAfterExpiryMs } from "../domain/endpoint-token/revoked-tokens.ts";
import { BoundedWaits } from "../runtime/bounded-waits.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { type HttpRequest, type Peer, plain } from "../runtime/routes.ts";
import { type RevokedToken, revokedToken, signRevokedList } from "../tokens/revoked-list.ts";
import type { ObservedSigningKeys } from "../tokens/signing-keys.ts";
import type { Published } from "./published-kinds.ts";
import type { Stores } from "./stores.ts";

/** Dependencies of {@link RevokedPolls}. */
interface RevokedPollsDeps {
  readonly stores: Stores;
  readonly published: Published;
  readonly clock: Clock;
}

/** How long a request waits for a newer list, in milliseconds; proxies often end it after 60 s. */
const pollMs = 50_000;
/** How often a request that waits asks whether this replica is still current. */
const checkMs = 5_000;
/** How long a replica that observes changes later than another one may take to catch up. */
const behindMs = 5_000;
/** Minimum time between two signatures, in milliseconds. */
const signIntervalMs = 250;
/** A list is signed again without a change when it is older, so that clients see its age. */
const freshMs = 60_000;
const mostPolls = 1_000;

interface SignedList {
  /** In text. */
  readonly seq: string;
  readonly text: string;
  /** Monotonic milliseconds. */
  readonly signedAt: number;
}

/** The signed list of revoked tokens, and the requests that wait for the next one. */
export class RevokedPolls {
  readonly #issuer: string;
  readonly #keys: () => ObservedSigningKeys | undefined;
  readonly #deps: RevokedPollsDeps;
  readonly #polls = new BoundedWaits(mostPolls);
  readonly #waiting = new Set<() => void>();
  #signed: SignedList | undefined;
  #signing: Promise<SignedList | undefined> | undefined;
  #known = new Map<string, RevokedToken>();
  #hasEnded = false;

  constructor(issuer: string, keys: () => ObservedSigningKeys | undefined, deps: RevokedPollsDeps) {
    this.#issuer = issuer;
    this.#keys = keys;
    this.#deps = deps;
    deps.published.onChange(() => this.#changed());
  }

  /** Number of requests that wait. */
  get waiting(): number {
    return this.#polls.size;
  }

  /** Number of stored entries. */
  get tokens(): number {
    let count = 0;
    for (const { entries } of this.#deps.stores.revokedTokens.values()) count += entries.size;
    return count;
  }

  /** Answers the requests that wait, and lets no other wait. */
  end(): void {
    this.#hasEnded = true;
    this.#changed();
  }

  /**
   * Responds with the list, at once unless the client has it already. A request without a newer
   * list ends with 304: after its wait, or, if too many wait, when it is the oldest one of the
   * address that has the most. A replica that is cut off from the API server confirms nothing, and
   * closes the connection: the next request of the client may reach another replica.
   */
  async respond({ query = "", onClose }: HttpRequest, { address }: Peer) {
    const { published } = this.#deps;
    if (!published.isFresh()) return staleResponse;
    const seq = this.#seq();
    const after = new URLSearchParams(query).get("after") ?? "";
    const waitMs = waitMsAfter(after, this.#current());
    if (seq !== undefined && waitMs > 0) {
      const done = new AbortController();
      onClose?.(() => done.abort());
      const leave = this.#polls.begin(address, () => done.abort());
      await this.#change(seq, waitMs, done).finally(leave);
      if (!published.isFresh()) return staleResponse;
      if (this.#seq() === after) return { status: 304, headers: noStore, body: "" };
    }
    const list = await this.#list();
    return list === undefined
      ? plain(503, "no list of revoked tokens yet", retryLater)
      : {
          status: 200,
          headers: { ...noStore, "content-type": "application/jwt" },
          body: list.text,
        };
  }

  /** Resolves when the seq is another one, after the wait, or when this replica is not current. */
  async #change(seq: string, waitMs: number, done: AbortController): Promise<void> {
    if (this.#hasEnded) return;
    const end = (): void => {
      if (this.#hasEnded || this.#seq() !== seq) done.abort();
    };
    this.#waiting.add(end);
    const { clock, published } = this.#deps;
    const until = clock.monotonic() + waitMs;
    const isOver = () => done.signal.aborted || !published.isFresh() || clock.monotonic() >= until;
    while (!isOver())
      await sleep(Math.min(checkMs, until - clock.monotonic()), { clock, signal: done.signal });
    this.#waiting.delete(end);
  }

  #changed(): void {
    for (const check of this.#waiting) check();
  }

  /**
   * The sum of the highest resourceVersion of the ConfigMaps and that of the signing keys: each
   * change raises it, in whatever order their two watches report changes. Undefined until all of
   * them are listed.
   */
  #current(): RevocationSeq | undefined {
    const { stores, published } = this.#deps;
    const keys = this.#keys();
    if (!published.isListed() || keys === undefined || stores.revokedTokens.size === 0)
      return undefined;
    const n = highestVersion(stores.revokedTokens.values()) + Number(keys.metadata.resourceVersion);
    return Number.isSafeInteger(n) ? { epoch: keys.epoch, n } : undefined;
  }

  #seq(): string | undefined {
    const current = this.#current();
    return current === undefined ? undefined : revocationSeqText(current);
  }

  /** The current list; signed once for all requests, and at most every 250 ms. */
  #list(): Promise<SignedList | undefined> {
    const age = this.#deps.clock.monotonic() - (this.#signed?.signedAt ?? -Infinity);
    if (this.#signed !== undefined && this.#signed.seq === this.#seq() && age < freshMs)
      return Promise.resolve(this.#signed);
    this.#signing ??= this.#sign(signIntervalMs - age).finally(() => (this.#signing = undefined));
    return this.#signing;
  }

  async #sign(waitMs: number): Promise<SignedList | undefined> {
    const { clock, stores } = this.#deps;
    if (waitMs > 0) await sleep(waitMs, { clock });
    const [keys, seq] = [this.#keys(), this.#current()];
    if (keys === undefined || seq === undefined) return undefined;
    const known = new Map<string, RevokedToken>();
    for (const { entries } of stores.revokedTokens.values()) {
      for (const [jti, { expiresAt }] of entries) {
        const end = expiresAt + keptAfterExpiryMs;
        const before = this.#known.get(jti);
        known.set(jti, before?.expiresAt === end ? before : revokedToken(jti, end));
      }
    }
    this.#known = known;
    const revoked = [...known.values()];
    const signedAt = clock.monotonic();
    const terms = { issuer: this.#issuer, now: clock.now(), seq, revoked };
    this.#signed = {
      seq: revocationSeqText(seq),
      text: await signRevokedList(terms, keys),
      signedAt,
    };
    return this.#signed;
  }
}

/**
 * How long a request waits, in milliseconds: for a newer list if the client has this one, and for
 * this replica to catch up if the client has a newer one of another replica. After a restore of
 * etcd it never catches up.
 */
function waitMsAfter(after: string, current: RevocationSeq | undefined): number {
  const known = parseRevocationSeq(after);
  if (known === undefined || current === undefined || known.epoch !== current.epoch) return 0;
  return known.n === current.n ? pollMs : known.n > current.n ? behindMs : 0;
}

const retryLater = { "retry-after": "1" } as const;
const staleResponse = plain(503, "this replica is cut off from its API server; retry", {
  ...retryLater,
  connection: "close",
});
const noStore = { "cache-control": "no-store" } as const;

/** Shows the revoked tokens, and the requests that wait for them. */
export function exposePolls(polls: RevokedPolls, metrics: Metrics): void {
  metrics.onScrape("polls", () => {
    metrics.gauge("latchkey_revoked_tokens", {}).set(polls.tokens);
    metrics.gauge("latchkey_revoked_polls", {}).set(polls.waiting);
  });
}
