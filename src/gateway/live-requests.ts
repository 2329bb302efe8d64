import type { KeyDecision } from "../authn/authorize-key.ts";
import type { Cancel, Clock } from "../runtime/clock.ts";
import { sleep } from "../runtime/sleep.ts";

/** What a request that is forwarded is, for limits and metrics. */
export type LiveKind = "answer" | "stream" | "upgrade";

/** A forwarded request, from before its first byte until its end. */
export interface LiveRequest {
  readonly kind: LiveKind;
  readonly keyId: string;
  readonly username: string;
  /** Decides about it once more, by what is known now. */
  decide(): KeyDecision;
  /** The end of the key's validity in milliseconds since the epoch, by what is known now. */
  endsAt(): number;
  /** Ends it as if the API server had, where the protocol allows it. */
  end(): void;
  /** Ends it because its key or scope allows it no more. */
  cut(decision: KeyDecision): void;
}

/** What following requests needs. */
export interface LiveRequestsDeps {
  readonly clock: Clock;
  /** Whether what decides about requests is current. */
  readonly isFresh: () => boolean;
  readonly onCut: (decision: KeyDecision["kind"]) => void;
}

/** At most four times a second everything is decided again. */
const spacingMs = 250;
const freshnessEveryMs = 1_000;

/**
 * The requests under way. After each change of what decides, all of them are decided again: there is
 * no dependency that could be forgotten. What is not allowed any more is cut within 250 ms.
 */
export class LiveRequests {
  readonly #deps: LiveRequestsDeps;
  readonly #live = new Set<LiveRequest>();
  readonly #byUser = new Map<string, number>();
  readonly #byKey = new Map<string, number>();
  readonly #byKind: Record<LiveKind, number> = { answer: 0, stream: 0, upgrade: 0 };
  #checkedAt = -Infinity;
  #due: { readonly at: number; readonly cancel: Cancel } | undefined;
  #hasStopped = false;

  constructor(deps: LiveRequestsDeps) {
    this.#deps = deps;
  }

  /** How many there are, by kind. */
  counts(): Readonly<Record<LiveKind, number>> {
    return { ...this.#byKind };
  }

  /** How many of a kind there are. */
  count(kind: LiveKind): number {
    return this.#byKind[kind];
  }

  /** Streams and upgrades, of everybody, of a user and of a key. */
  lasting({ username, keyId }: Pick<LiveRequest, "username" | "keyId">): {
    readonly all: number;
    readonly user: number;
    readonly key: number;
  } {
    return {
      all: this.#byKind.stream + this.#byKind.upgrade,
      user: this.#byUser.get(username) ?? 0,
      key: this.#byKey.get(keyId) ?? 0,
    };
  }

  /** Follows a request until the returned function is called. */
  add(request: LiveRequest): () => void {
    this.#live.add(request);
    this.#count(request, 1);
    const endsAt = request.endsAt();
    if (Number.isFinite(endsAt)) this.#checkAt(this.#monotonic(endsAt));
    return () => {
      if (this.#live.delete(request)) this.#count(request, -1);
    };
  }

  /** To be called after each change of what decides about requests. */
  changed(): void {
    if (this.#live.size === 0) return;
    this.#checkAt(Math.max(this.#deps.clock.monotonic(), this.#checkedAt + spacingMs));
  }

  /**
   * Cuts everything once what decides is not current, until the signal aborts. Then no timer is
   * left: one for the end of a key would keep the process.
   */
  watchFreshness(signal: AbortSignal): void {
    const { clock, isFresh } = this.#deps;
    let cancel: Cancel;
    const look = (): void => {
      if (!isFresh()) this.changed();
      cancel = clock.wakeAfter(freshnessEveryMs, look);
    };
    look();
    const stop = (): void => {
      this.#hasStopped = true;
      cancel();
      this.#due?.cancel();
    };
    signal.addEventListener("abort", stop, { once: true });
  }

  /** Ends the streams of a replica that stops, spread over `ms` milliseconds. */
  async endStreams(ms: number): Promise<void> {
    const { clock } = this.#deps;
    const streams = [...this.#live].filter(({ kind }) => kind === "stream");
    for (const stream of streams) {
      await sleep(ms / streams.length, { clock });
      stream.end();
    }
  }

  #checkAt(at: number): void {
    if (this.#hasStopped) return;
    if (this.#due !== undefined && this.#due.at <= at) return;
    this.#due?.cancel();
    const { clock } = this.#deps;
    const cancel = clock.wakeAfter(Math.max(0, at - clock.monotonic()), () => this.#check());
    this.#due = { at, cancel };
  }

  #check(): void {
    const { clock, onCut } = this.#deps;
    this.#due = undefined;
    this.#checkedAt = clock.monotonic();
    let next = Infinity;
    for (const request of [...this.#live]) {
      const decision = request.decide();
      if (decision.kind === "no-opinion") next = Math.min(next, request.endsAt());
      else {
        onCut(decision.kind);
        request.cut(decision);
      }
    }
    if (Number.isFinite(next))
      this.#checkAt(Math.max(this.#monotonic(next), this.#checkedAt + spacingMs));
  }

  #monotonic(instant: number): number {
    const { clock } = this.#deps;
    return clock.monotonic() + (instant - clock.now());
  }

  #count({ kind, username, keyId }: LiveRequest, change: 1 | -1): void {
    this.#byKind[kind] += change;
    if (kind === "answer") return;
    add(this.#byUser, username, change);
    add(this.#byKey, keyId, change);
  }
}

function add(counts: Map<string, number>, name: string, change: number): void {
  const count = (counts.get(name) ?? 0) + change;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
