import { BoundedWaits } from "../runtime/bounded-waits.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import { networkOf, type Peer } from "../runtime/peer.ts";
import { type HttpRequest, plain } from "../runtime/routes.ts";
import type { ObservedSigningKeys } from "../tokens/signing-keys.ts";
import type { Published } from "./published-kinds.ts";

/** A list that every replica signs and serves. */
export interface ServedList {
  /** In messages, such as `list of revoked tokens`. */
  readonly noun: string;
  /** The version of now, in text; undefined until everything that it is made of is listed. */
  version(keys: ObservedSigningKeys): string | undefined;
  /** Whether a version is one that this replica has not seen yet. */
  isAhead(version: string, current: string): boolean;
  /** Signs the list of now, with its version; `now` in milliseconds since the epoch. */
  sign(
    keys: ObservedSigningKeys,
    { version, now }: { readonly version: string; readonly now: number },
  ): Promise<string>;
}

/** Dependencies of {@link ListPolls}. */
interface ListPollsDeps {
  readonly keys: () => ObservedSigningKeys | undefined;
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

interface SignedText {
  readonly version: string;
  readonly text: string;
  /** Monotonic milliseconds. */
  readonly signedAt: number;
}

/** A signed list, and the requests that wait for the next one. */
export class ListPolls {
  readonly #list: ServedList;
  readonly #deps: ListPollsDeps;
  readonly #polls = new BoundedWaits(mostPolls);
  readonly #waiting = new Set<() => void>();
  #signed: SignedText | undefined;
  #signing: Promise<SignedText | undefined> | undefined;
  #hasEnded = false;

  constructor(list: ServedList, deps: ListPollsDeps) {
    this.#list = list;
    this.#deps = deps;
    deps.published.onChange(() => this.#changed());
  }

  /** Number of requests that wait. */
  get waiting(): number {
    return this.#polls.size;
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
  async respond(
    { query = "", onClose }: Pick<HttpRequest, "query" | "onClose">,
    { address }: Pick<Peer, "address">,
  ) {
    const { published } = this.#deps;
    if (!published.isFresh()) return staleResponse;
    const version = this.#version();
    const after = new URLSearchParams(query).get("after") ?? "";
    const waitMs = this.#waitMsAfter(after, version);
    if (version !== undefined && waitMs > 0) {
      const done = new AbortController();
      onClose?.(() => done.abort());
      const leave = this.#polls.begin(networkOf(address), () => done.abort());
      await this.#change(version, waitMs, done).finally(leave);
      if (!published.isFresh()) return staleResponse;
      if (this.#version() === after) return { status: 304, headers: noStore, body: "" };
    }
    const list = await this.#current();
    return list === undefined
      ? plain(503, `no ${this.#list.noun} yet`, retryLater)
      : {
          status: 200,
          headers: { ...noStore, "content-type": "application/jwt" },
          body: list.text,
        };
  }

  /**
   * How long a request waits, in milliseconds: for a newer list if the client has this one, and for
   * this replica to catch up if the client has a newer one of another replica. After a restore of
   * etcd it never catches up.
   */
  #waitMsAfter(after: string, version: string | undefined): number {
    if (version === undefined) return 0;
    if (after === version) return pollMs;
    return this.#list.isAhead(after, version) ? behindMs : 0;
  }

  /** Resolves when the version changes, after the wait, or when this replica is not current. */
  async #change(version: string, waitMs: number, done: AbortController): Promise<void> {
    if (this.#hasEnded) return;
    const end = (): void => {
      if (this.#hasEnded || this.#version() !== version) done.abort();
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

  #version(): string | undefined {
    const { keys, published } = this.#deps;
    const known = keys();
    return known === undefined || !published.isListed() ? undefined : this.#list.version(known);
  }

  /** The current list; signed once for all requests, and at most every 250 ms. */
  #current(): Promise<SignedText | undefined> {
    const age = this.#deps.clock.monotonic() - (this.#signed?.signedAt ?? -Infinity);
    if (this.#signed !== undefined && this.#signed.version === this.#version() && age < freshMs)
      return Promise.resolve(this.#signed);
    this.#signing ??= this.#sign(signIntervalMs - age).finally(() => (this.#signing = undefined));
    return this.#signing;
  }

  async #sign(waitMs: number): Promise<SignedText | undefined> {
    const { clock } = this.#deps;
    if (waitMs > 0) await sleep(waitMs, { clock });
    const [keys, version] = [this.#deps.keys(), this.#version()];
    if (keys === undefined || version === undefined) return undefined;
    const signedAt = clock.monotonic();
    const text = await this.#list.sign(keys, { version, now: clock.now() });
    this.#signed = { version, text, signedAt };
    return this.#signed;
  }
}

const retryLater = { "retry-after": "1" } as const;
const staleResponse = plain(503, "this replica is cut off from its API server; retry", {
  ...retryLater,
  connection: "close",
});
const noStore = { "cache-control": "no-store" } as const;
