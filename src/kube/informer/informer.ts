import { type Key, refOf } from "../../api/object.ts";
import type { Resource } from "../../api/resources.ts";
import { isKubeError } from "../client/kube-error.ts";
import { type WatchState, CacheFreshness } from "./cache-freshness.ts";
import { ExpectedEvents } from "./expected-events.ts";
import type { InformerDeps, InformerOptions } from "./informer-options.ts";
import {
  type InformerEvent,
  type InformerPhase,
  newInformer,
  shortWatchMs,
  step,
} from "./informer-machine.ts";
import { ListedObjects, takeDelete, takeWrite } from "./informer-state.ts";
import { InformerStore } from "./informer-store.ts";
import { isOlder, rawKey, rawVersion } from "./raw-object.ts";
import { Outage, Recovery } from "./recovery.ts";
import { ResourceVersionTracker } from "./resource-version-tracker.ts";
import type { ReadStore } from "./store.ts";
import { RelistPace } from "./relist-pace.ts";
import type { WatchEvent } from "./watch-stream.ts";
import { pickedSeconds, relaxedWatchTimes, type WatchTimes } from "./watch-times.ts";

/** One request for a watch. */
interface OneWatch {
  /** When the API server opened it, in monotonic milliseconds. */
  openedAt: number | undefined;
  /** When it last delivered events, by the same clock. */
  heardAt: number | undefined;
  /** Aborts it, so that another one is opened. */
  readonly reopening: AbortController;
}

/**
 * Keeps a store in sync with the API server: resumes at the last resourceVersion after any failure
 * and lists again after 410 (Kubernetes API concepts, "Efficient detection of changes").
 */
export class Informer<T> {
  readonly #options: InformerOptions<T>;
  readonly #deps: InformerDeps;
  readonly #store: InformerStore<T>;
  readonly #times: WatchTimes;
  readonly #recovery: Recovery;
  readonly #ownWrites: ExpectedEvents;
  readonly #history: ResourceVersionTracker;
  readonly #freshness: CacheFreshness;
  readonly #relists = new RelistPace();
  readonly #outage: Outage;
  /** The count of {@link Recovery} at the last step. */
  #recoveries = 0;
  /** The watch that is open or being opened. */
  #watching: OneWatch | undefined;

  constructor(options: InformerOptions<T>, deps: InformerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#times = deps.watchTimes ?? relaxedWatchTimes;
    this.#recovery = deps.recovery ?? new Recovery();
    this.#store = new InformerStore(options, deps.log);
    this.#history = new ResourceVersionTracker(this.resource.plural);
    this.#freshness = new CacheFreshness(deps.clock, this.#times.freshForMs);
    this.#outage = new Outage(deps.clock);
    this.#ownWrites = new ExpectedEvents({
      clock: deps.clock,
      // A watch that is not open yet is not silent.
      heardAt: () => this.#watching?.heardAt ?? this.#watching?.openedAt ?? Infinity,
      // The connection may be dead, or the write lost.
      onMissing: (key) => {
        void this.refresh(key);
        this.#watching?.reopening.abort();
      },
    });
  }

  get resource(): Resource {
    return this.#options.listOptions.resource;
  }

  get store(): ReadStore<T> {
    return this.#store.objects;
  }

  /**
   * Resolves when the first list is in the store, or the API server does not serve an optional
   * resource.
   */
  get synced(): Promise<void> {
    return this.#freshness.synced;
  }

  /** Whether a watch is open, so that the store is up to date. */
  get isWatchOpen(): boolean {
    return this.#watching?.openedAt !== undefined;
  }

  /** The age of the store, by the monotonic clock. */
  get watchState(): WatchState {
    return {
      isSynced: this.#freshness.isSynced,
      openedAt: this.#freshness.provenAt,
      freshForMs: this.#times.freshForMs,
    };
  }

  /** Lists and watches until the signal aborts, as {@link step} decides; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    const cancel = this.#recovery.onRestarted(() => this.#doubt());
    let machine = newInformer;
    while (!signal.aborted) {
      const event = await this.#perform(machine.phase, signal);
      machine = step(machine, event, {
        needsList: this.#freshness.needsList,
        isRecovered: this.#recoveries !== this.#recovery.count,
        longestMs: this.#isAbsent(event)
          ? this.#times.longestAbsenceMs
          : this.#times.longestBackoffMs,
        now: clock.monotonic(),
        random: random(),
      });
      this.#recoveries = this.#recovery.count;
      if (machine.pauseMs > 0) await this.#recovery.pause(machine.pauseMs, { clock, signal });
    }
    cancel();
    this.#ownWrites.stop();
  }

  /**
   * Stores the response of an own write before its watch event arrives. Ignores an object that is
   * not stored and older than the last resourceVersion of the watch: it may have been deleted
   * since.
   */
  observe(raw: unknown): void {
    const [resourceVersion, reached] = [rawVersion(raw), this.#history.resourceVersion];
    takeWrite(this.#store, raw, reached);
    if (resourceVersion !== undefined && isOlder(reached, resourceVersion))
      this.#ownWrites.expect(rawKey(raw), resourceVersion);
  }

  /**
   * Removes an object after an own delete. Events of this uid that are still to arrive do not store
   * it again.
   */
  observeDelete(key: Key, uid: string): void {
    takeDelete(this.#store, key, uid);
  }

  /**
   * Reads an object from the API server. The response replaces a newer stored object, too (etcd may
   * have lost its last writes), unless a watch event arrives meanwhile. A failure changes nothing.
   */
  async refresh(key: Key): Promise<void> {
    if (!this.#freshness.isSynced) return;
    const { listOptions } = this.#options;
    await this.#store.refresh(key, () => this.#deps.listWatch.get(listOptions, refOf(key)));
  }

  /** Replaces what is stored of an object by what another object says about it. */
  amend(key: Key, value: T): void {
    this.#store.amend(key, value);
  }

  /** Sends the request of a phase. */
  async #perform(phase: InformerPhase, signal: AbortSignal): Promise<InformerEvent> {
    const sentAt = this.#deps.clock.monotonic();
    const watch: OneWatch = {
      openedAt: undefined,
      heardAt: undefined,
      reopening: new AbortController(),
    };
    try {
      switch (phase) {
        case "listing":
          await this.#list(signal);
          return { event: "listed" };
        case "doubting":
          return { event: "asked", isListDue: await this.#isListDue() };
        case "watching": {
          const isDoubtful = await this.#watch(watch, signal);
          return { event: "watch-ended", isDoubtful, isProgress: this.#isProgress(watch) };
        }
      }
    } catch (error) {
      // The end of an own request says nothing about the API server.
      if (watch.reopening.signal.aborted)
        return { event: "watch-ended", isDoubtful: false, isProgress: this.#isProgress(watch) };
      this.#outage.failed(error, watch.openedAt === undefined ? sentAt : undefined);
      const [code, leastMs] = isKubeError(error) ? [error.code, error.retryAfterMs ?? 0] : [];
      const isProgress = this.#isProgress(watch);
      const failed = { event: "failed", code, isProgress, leastMs: leastMs ?? 0 } as const;
      if (this.#isAbsent(failed)) this.#markEmpty();
      else this.#report(error, watch.openedAt !== undefined);
      return failed;
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { listWatch, yielder, clock } = this.#deps;
    const startedAt = clock.monotonic();
    let { discards } = this.#freshness;
    const listed = new ListedObjects(this.#store);
    const isFirst = this.#history.resourceVersion === undefined;
    const take = (event: WatchEvent): void => {
      listed.take(event);
      // No caller has acted on an empty store, so the first list fills it directly: no object is in
      // memory twice.
      if (isFirst) listed.storeFirst();
    };
    const resourceVersion = await listWatch.list(this.#options.listOptions, signal, (events) =>
      yielder.forEach(events, take),
    );
    this.#answered();
    const isReset = this.#history.listed(resourceVersion);
    // Informers that list because of a restart do not report it again.
    if (isReset && !this.#freshness.needsList) {
      this.#recovery.restarted();
      ({ discards } = this.#freshness);
    }
    const steps = listed.replace(isReset ? undefined : resourceVersion);
    await yielder.forEach(steps, () => {});
    this.#ownWrites.reached(resourceVersion);
    this.#freshness.listed(startedAt, discards);
    this.#relists.listed(startedAt, clock.monotonic());
  }

  /** Nothing is known of the API server until the next list. */
  #doubt(): void {
    this.#freshness.discard();
    this.#watching?.reopening.abort();
  }

  /** Whether the API server does not serve the resource, which is optional. */
  #isAbsent(event: InformerEvent): boolean {
    return event.event === "failed" && event.code === "NotFound" && this.#options.optional === true;
  }

  #report(error: unknown, wasOpen: boolean): void {
    const { plural } = this.resource;
    const cause = isKubeError(error) ? { code: error.code, why: error.message } : { error };
    // The next request tells whether anything is wrong with the API server.
    const level = wasOpen && isKubeError(error, "Network") ? "debug" : "warn";
    this.#deps.log[level]({ resource: plural, ...cause }, "watch interrupted");
    this.#deps.onInterrupted?.(plural, isKubeError(error) ? error.code : "Unexpected");
  }

  /** Ends the back-off of all informers at the first response after an outage. */
  #answered(): void {
    const awayMs = this.#outage.answered();
    if (awayMs === undefined) return;
    this.#recovery.recovered(awayMs);
    // A watch that opens and breaks repeatedly does not reset its own back-off.
    this.#recoveries = this.#recovery.count;
  }

  /** Empties the store: a 404 for the resource is a response, too. */
  #markEmpty(): void {
    this.#answered();
    for (const key of this.#store.keys()) this.#store.set(key, undefined);
    this.#freshness.answered();
  }

  /** Whether to list again after a doubtful watch: etcd was restored, or the last list is old. */
  async #isListDue(): Promise<boolean> {
    const { clock, listWatch } = this.#deps;
    if (this.#relists.isDue(clock.monotonic())) return true;
    const current = await listWatch.version(this.#options.listOptions);
    this.#answered();
    const isRestored = isOlder(current, this.#history.resourceVersion);
    if (isRestored) this.#recovery.restarted();
    return isRestored;
  }

  /**
   * Returns whether the end of the watch is doubtful: it was silent to its end (nothing changed, or
   * etcd was restored, because a watch from a later resourceVersion is opened with status 200 and
   * receives nothing), or it ended early (the API server may have been restarted).
   */
  async #watch(watch: OneWatch, signal: AbortSignal): Promise<boolean> {
    const { clock, random } = this.#deps;
    const timeoutSeconds = pickedSeconds(this.#times, random);
    const startedAt = clock.monotonic();
    const onOpen = (): void => {
      watch.openedAt = clock.monotonic();
      this.#freshness.opened();
      this.#answered();
    };
    const from = {
      resourceVersion: this.#history.resourceVersion ?? "",
      timeoutSeconds,
      openMs: this.#times.openMs,
      signal: AbortSignal.any([signal, watch.reopening.signal]),
      onOpen,
    };
    this.#watching = watch;
    try {
      await this.#deps.listWatch.watch(this.#options.listOptions, from, (events) => {
        if (events.length > 0) watch.heardAt = clock.monotonic();
        for (const event of events) this.#handle(event);
        this.#freshness.heard();
      });
    } finally {
      this.#freshness.ended();
      this.#watching = undefined;
    }
    const livedMs = clock.monotonic() - startedAt;
    return livedMs < timeoutSeconds * 1000 ? !from.signal.aborted : watch.heardAt === undefined;
  }

  #isProgress({ openedAt = Infinity, heardAt }: OneWatch): boolean {
    return heardAt !== undefined || this.#deps.clock.monotonic() - openedAt >= shortWatchMs;
  }

  #handle(event: WatchEvent): void {
    const isBookmark = event.head === undefined && event.type === "BOOKMARK";
    const resourceVersion = isBookmark ? rawVersion(event.object) : this.#store.handle(event);
    if (isBookmark) this.#history.bookmarked(resourceVersion);
    else this.#history.reached(resourceVersion);
    this.#ownWrites.reached(resourceVersion);
  }
}
