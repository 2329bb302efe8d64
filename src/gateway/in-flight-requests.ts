import {
  type InFlightGroup,
  inFlightGroup,
  type InFlightKind,
  type InFlightLoad,
} from "../domain/gateway/in-flight-limits.ts";
import { type Cancel, type Clock, sleep } from "../runtime/clock.ts";
import type { Sharer } from "../runtime/fair-shares.ts";
import { ItemsByOwner } from "../runtime/items-by-owner.ts";
import type { Yielder } from "../runtime/yielder.ts";
import type { Decision } from "./credential.ts";

/** A request of a valid credential, from before the decision about it until its end. */
export interface InFlightRequest {
  readonly kind: InFlightKind;
  readonly sharer: Sharer;
  /** Decides about it once more, by what is known now. */
  decide(): Decision;
  /** The end of the credential's validity in milliseconds since the epoch, by what is known now. */
  endsAt(): number;
  /** Ends it as if the API server had, where the protocol allows it. */
  end(): void;
  /**
   * Ends it for one of another user; false if the client could not know whether it had an effect.
   */
  giveWay(): boolean;
  /** Ends it because its key or scope allows it no more. */
  cut(decision: Decision): void;
}

/** Why a request in progress is ended, for metrics. */
export const cutReasons = ["denied", "not-ready", "displaced"] as const;

/** What following requests needs. */
interface InFlightRequestsDeps {
  readonly clock: Clock;
  readonly yielder: Yielder;
  /** Whether what decides about requests is current. */
  readonly isFresh: () => boolean;
  readonly onCut: (reason: (typeof cutReasons)[number]) => void;
}

/** At most four times a second everything is decided again. */
const spacingMs = 250;
const freshnessEveryMs = 1_000;

/**
 * The requests under way. After each change of what decides, all of them are decided again: there
 * is no dependency that could be forgotten. What is not allowed any more is cut within 250 ms.
 */
export class InFlightRequests {
  readonly #deps: InFlightRequestsDeps;
  readonly #requests = new Set<InFlightRequest>();
  readonly #groups = { answers: new Group(), streams: new Group() };
  readonly #byKind: Record<InFlightKind, number> = { answer: 0, stream: 0, upgrade: 0 };
  #checkedAt = -Infinity;
  /** Whether a check is under way: it yields between requests. */
  #isChecking = false;
  /** Whether a check became due while another was under way. */
  #isDueAgain = false;
  #due: { readonly at: number; readonly cancel: Cancel } | undefined;
  #hasStopped = false;

  constructor(deps: InFlightRequestsDeps) {
    this.#deps = deps;
  }

  /** How many there are, by kind. */
  counts(): Readonly<Record<InFlightKind, number>> {
    return { ...this.#byKind };
  }

  /** How many of a kind there are. */
  count(kind: InFlightKind): number {
    return this.#byKind[kind];
  }

  /** How many there are of a group, of a user and with a key. */
  loadOf(group: InFlightGroup, sharer: Sharer): InFlightLoad {
    return this.#groups[group].of(sharer);
  }

  /** Ends the newest request of the user who has the most of a group; false if none can end. */
  displace(group: InFlightGroup): boolean {
    const newestFirst = [...this.#groups[group].ofLargestUser()].reverse();
    const isDone = newestFirst.some((request) => request.giveWay());
    if (isDone) this.#deps.onCut("displaced");
    return isDone;
  }

  /** Follows a request until the returned function is called. */
  add(request: InFlightRequest): () => void {
    const group = this.#groups[inFlightGroup(request.kind)];
    this.#requests.add(request);
    this.#byKind[request.kind] += 1;
    group.add(request);
    const endsAt = request.endsAt();
    if (Number.isFinite(endsAt)) this.#checkAt(this.#monotonic(endsAt));
    return () => {
      if (!this.#requests.delete(request)) return;
      this.#byKind[request.kind] -= 1;
      group.remove(request);
    };
  }

  /** To be called after each change of what decides about requests. */
  changed(): void {
    if (this.#requests.size === 0) return;
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
    const streams = [...this.#requests].filter(({ kind }) => kind === "stream");
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
    const cancel = clock.wakeAfter(Math.max(0, at - clock.monotonic()), () => void this.#check());
    this.#due = { at, cancel };
  }

  async #check(): Promise<void> {
    this.#due = undefined;
    this.#isDueAgain = this.#isChecking;
    if (this.#isChecking) return;
    this.#isChecking = true;
    const next = await this.#checkAll();
    this.#isChecking = false;
    const soonest = this.#isDueAgain ? -Infinity : next;
    this.#isDueAgain = false;
    if (soonest < Infinity) this.#checkAt(Math.max(soonest, this.#checkedAt + spacingMs));
  }

  /** Decides about every request; returns when the next key ends. */
  async #checkAll(): Promise<number> {
    const { clock, onCut, yielder } = this.#deps;
    this.#checkedAt = clock.monotonic();
    let next = Infinity;
    await yielder.forEach([...this.#requests], (request) => {
      // It may have ended since the check began.
      if (!this.#requests.has(request)) return;
      const decision = request.decide();
      if (decision.kind === "no-opinion") next = Math.min(next, request.endsAt());
      else {
        onCut(decision.kind);
        request.cut(decision);
      }
    });
    return this.#monotonic(next);
  }

  #monotonic(instant: number): number {
    const { clock } = this.#deps;
    return clock.monotonic() + (instant - clock.now());
  }
}

/** The requests of a group. */
class Group {
  readonly #byUser = new ItemsByOwner<InFlightRequest>();
  readonly #byKey = new ItemsByOwner<InFlightRequest>();

  of({ user, key }: Sharer): InFlightLoad {
    const byUser = this.#byUser;
    return {
      all: byUser.size,
      user: byUser.countOf(user),
      key: this.#byKey.countOf(key),
      get mostOfUser() {
        return byUser.ofLargestOwner().size;
      },
    };
  }

  ofLargestUser(): ReadonlySet<InFlightRequest> {
    return this.#byUser.ofLargestOwner();
  }

  add(request: InFlightRequest): void {
    this.#byUser.add(request.sharer.user, request);
    this.#byKey.add(request.sharer.key, request);
  }

  remove(request: InFlightRequest): void {
    this.#byUser.remove(request.sharer.user, request);
    this.#byKey.remove(request.sharer.key, request);
  }
}
