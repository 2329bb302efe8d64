import type { ObjectRef } from "../api/object.ts";
import { resources } from "../api/resources.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import type { Client } from "./client/client.ts";
import { isKubeError } from "./client/kube-error.ts";
import { isOlder } from "./informer/raw-object.ts";
import {
  heldSpec,
  newLease,
  nextLease,
  parseLease,
  type LeaseRecord,
  type LeaseSpec,
} from "./lease-record.ts";
import { microTime } from "./micro-time.ts";

/**
 * Milliseconds of leader election; `renewDeadline` is shorter than `leaseDuration`, `retryPeriod`
 * shorter than both.
 */
export interface LeaseTimes {
  /** Other candidates take the Lease after observing no renewal for this long. */
  readonly leaseDuration: number;
  /** The holder stops leading this long after it sent its last successful renewal. */
  readonly renewDeadline: number;
  readonly retryPeriod: number;
}

/** client-go's defaults. */
const defaultLeaseTimes: LeaseTimes = {
  leaseDuration: 15_000,
  renewDeadline: 10_000,
  retryPeriod: 2_000,
};

/** The annotations of the next write of a Lease, of those that it has. */
export type LeaseNotes = (
  observed: Readonly<Record<string, string>>,
) => Readonly<Record<string, string>>;

/** Dependencies of leader election; `client` must not be fenced by the same Lease. */
interface LeaseOptions {
  readonly client: Pick<Client, "get" | "create" | "replace">;
  readonly clock: Clock;
  /** Returns numbers in [0, 1); spreads the attempts of candidates. */
  readonly random: () => number;
  readonly log: Logger;
  /** 1 while this process leads, else 0. */
  readonly leading?: { set(value: 0 | 1): void };
  readonly lease: ObjectRef;
  /** Identity of this process; must be unique among running processes. */
  readonly identity: string;
  readonly times?: LeaseTimes;
  /** Default: annotations stay as they are. */
  readonly notes?: LeaseNotes;
  /** Called when the Lease is older than this process has written it: etcd was restored. */
  readonly onRestored?: () => void;
}

/**
 * `onLeading` runs while leading: its signal aborts when leadership ends, and the Lease is renewed
 * until its promise settles. `signal` stops the election.
 */
interface LeaderCallbacks {
  readonly signal: AbortSignal;
  readonly onLeading: (leading: AbortSignal) => Promise<void>;
}

/**
 * The end of leader election: the Lease was released or never acquired, or it was lost and the
 * process should exit.
 */
export type ElectionEnd = "released" | "lost";

type Attempt =
  /** `sentAt` is the monotonic time before the request that took or renewed the Lease. */
  | { readonly kind: "ours"; readonly sentAt: number; readonly record: LeaseRecord }
  | { readonly kind: "theirs" }
  /** The request failed, so the holder is unknown. */
  | { readonly kind: "unknown" };

/**
 * Leader election over one coordination.k8s.io/v1 Lease, by the rules of client-go's
 * leaderelection.
 */
export class LeaderElection {
  readonly #options: LeaseOptions;
  readonly #times: LeaseTimes;
  /** The Lease as this process last wrote it; undefined if that is not known. */
  #written: LeaseRecord | undefined;
  /** The last renewal of another holder, and when it was first observed (monotonic). */
  #observed: { readonly spec: string; readonly at: number } | undefined;
  #renewedAt: number | undefined;
  /** The resourceVersion of the last own write. */
  #lastVersion: string | undefined;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#times = options.times ?? defaultLeaseTimes;
  }

  /**
   * Milliseconds until the renew deadline of the last renewal, in which no other process can hold
   * the Lease; 0 when not leading.
   */
  remainingMs(): number {
    if (this.#renewedAt === undefined) return 0;
    return Math.max(
      0,
      this.#renewedAt + this.#times.renewDeadline - this.#options.clock.monotonic(),
    );
  }

  /**
   * Waits for the Lease, and leads until `signal` aborts or the Lease is lost; rejects with the
   * error of `onLeading`.
   */
  async run({ signal, onLeading }: LeaderCallbacks): Promise<ElectionEnd> {
    this.#notify(false);
    if (!(await this.#acquire(signal))) return "released";
    if (signal.aborted) return await this.#release();
    this.#notify(true);
    return await this.#lead({ signal, onLeading });
  }

  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, random } = this.#options;
    while (!signal.aborted) {
      const attempt = await this.#attempt();
      if (attempt.kind === "ours" && this.#renewed(attempt)) return true;
      this.#renewedAt = undefined;
      await sleep(this.#times.retryPeriod * (1 + 0.2 * random()), { clock, signal });
    }
    return false;
  }

  async #lead({ signal, onLeading }: LeaderCallbacks): Promise<ElectionEnd> {
    const leading = new AbortController();
    const ended = new AbortController();
    const stop = (): void => leading.abort();
    signal.addEventListener("abort", stop, { once: true });
    const work = onLeading(leading.signal).finally(() => ended.abort());
    // Awaited below, except when the Lease is lost: then the process is about to exit.
    work.catch(() => {});
    try {
      if ((await this.#keep(ended.signal)) === "lost") return "lost";
      await this.#release();
      await work;
      return "released";
    } finally {
      this.#end();
      stop();
      signal.removeEventListener("abort", stop);
    }
  }

  /**
   * Renews until `ended` aborts ("kept"), or until the deadline passes or another process holds the
   * Lease ("lost").
   */
  async #keep(ended: AbortSignal): Promise<"kept" | "lost"> {
    const { clock, log, lease } = this.#options;
    for (;;) {
      await sleep(Math.min(this.#times.retryPeriod, this.remainingMs()), { clock, signal: ended });
      if (ended.aborted) return "kept";
      const attempt = await this.#attemptInTime();
      if (attempt.kind === "ours" && this.#renewed(attempt)) continue;
      if (attempt.kind === "unknown" && this.remainingMs() > 0) continue;
      const takenByAnother = attempt.kind === "theirs";
      log.error({ kind: "Lease", object: lease.name, takenByAnother }, "Lease lost");
      return "lost";
    }
  }

  /** Makes an attempt; returns "unknown" if the renew deadline passes first. */
  async #attemptInTime(): Promise<Attempt> {
    const left = this.remainingMs();
    if (left === 0) return { kind: "unknown" };
    const done = new AbortController();
    const late = sleep(left, { clock: this.#options.clock, signal: done.signal });
    try {
      return await Promise.race([this.#attempt(), late.then((): Attempt => ({ kind: "unknown" }))]);
    } finally {
      done.abort();
    }
  }

  async #attempt(): Promise<Attempt> {
    try {
      return await (this.#written === undefined ? this.#tryToTake() : this.#write(this.#written));
    } catch (error) {
      if (!isKubeError(error)) throw error;
      this.#written = undefined;
      const object = this.#options.lease.name;
      const fields = { kind: "Lease", object, code: error.code };
      if (error.code === "Conflict" || error.code === "AlreadyExists")
        this.#options.log.info(fields, "Lease was updated by another process");
      else this.#options.log.warn(fields, "Lease request failed, retrying");
      return { kind: "unknown" };
    }
  }

  async #tryToTake(): Promise<Attempt> {
    const observed = await this.#read();
    this.#compare(observed);
    if (observed === undefined) return await this.#write(undefined);
    const { holderIdentity } = observed.spec;
    const isFree = holderIdentity === "" || holderIdentity === this.#options.identity;
    if (this.#renewedAt !== undefined && holderIdentity !== this.#options.identity)
      return { kind: "theirs" };
    return isFree || this.#isOver(observed.spec) ? await this.#write(observed) : { kind: "theirs" };
  }

  async #read(): Promise<LeaseRecord | undefined> {
    try {
      return parseLease(await this.#options.client.get(resources.leases, this.#options.lease));
    } catch (error) {
      if (isKubeError(error, "NotFound")) return undefined;
      throw error;
    }
  }

  #compare(observed: LeaseRecord | undefined): void {
    if (this.#lastVersion === undefined) return;
    if (observed === undefined || isOlder(observed.metadata.resourceVersion, this.#lastVersion)) {
      this.#lastVersion = undefined;
      this.#options.onRestored?.();
    }
  }

  /**
   * Whether the Lease of another holder was observed unchanged for its duration, by the local
   * clock.
   */
  #isOver(spec: LeaseSpec): boolean {
    const now = this.#options.clock.monotonic();
    const text = JSON.stringify(spec);
    if (this.#observed?.spec !== text) this.#observed = { spec: text, at: now };
    const duration =
      spec.leaseDurationSeconds > 0 ? spec.leaseDurationSeconds * 1000 : this.#times.leaseDuration;
    return now - this.#observed.at >= duration;
  }

  async #write(observed: LeaseRecord | undefined): Promise<Attempt> {
    const { client, clock, lease, identity, notes = (kept) => kept } = this.#options;
    const sentAt = clock.monotonic();
    const { leaseDuration } = this.#times;
    const spec = heldSpec(observed?.spec, { identity, leaseDuration, now: clock.now() });
    const answer = await (observed === undefined
      ? client.create(resources.leases, newLease(lease, spec, notes({})))
      : client.replace(resources.leases, nextLease(observed, spec, notes)));
    return { kind: "ours", sentAt, record: parseLease(answer) };
  }

  /** Releases the Lease, so that another candidate takes it at once; after a failure it expires. */
  async #release(): Promise<"released"> {
    const { client, clock, lease, log } = this.#options;
    try {
      const observed = this.#written ?? (await this.#read());
      const isOurs = observed?.spec.holderIdentity === this.#options.identity;
      const spec = {
        holderIdentity: "",
        leaseDurationSeconds: 1,
        renewTime: microTime(clock.now()),
      };
      if (isOurs)
        await client.replace(resources.leases, nextLease(observed, { ...observed.spec, ...spec }));
    } catch (error) {
      if (!isKubeError(error)) throw error;
      log.warn(
        { kind: "Lease", object: lease.name, code: error.code },
        "releasing the Lease failed, it expires without a renewal",
      );
    } finally {
      this.#end();
    }
    return "released";
  }

  /**
   * Records a renewal; the renew deadline starts when it was sent. False if the response arrived
   * after the deadline.
   */
  #renewed({ sentAt, record }: { readonly sentAt: number; readonly record: LeaseRecord }): boolean {
    this.#written = record;
    this.#lastVersion = record.metadata.resourceVersion;
    this.#renewedAt = sentAt;
    return this.remainingMs() > 0;
  }

  #end(): void {
    this.#renewedAt = undefined;
    this.#written = undefined;
    this.#notify(false);
  }

  #notify(isLeading: boolean): void {
    this.#options.leading?.set(isLeading ? 1 : 0);
  }
}
