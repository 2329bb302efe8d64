import { type Key, refOf } from "../../api/object.ts";
import type { Resource } from "../../api/resources.ts";
import { isKubeError } from "../client/kube-error.ts";
import { type WatchState, CacheFreshness } from "./cache-freshness.ts";
import { ExpectedEvents } from "./expected-events.ts";
import type { InformerDeps, InformerOptions } from "./informer-options.ts";
import { ListedObjects, takeDelete, takeWrite } from "./informer-state.ts";
import { InformerStore } from "./informer-store.ts";
import { isOlder, rawKey, rawVersion } from "./raw-object.ts";
import { Outage, Recovery } from "./recovery.ts";
import { ResourceVersionTracker } from "./resource-version-tracker.ts";
import type { ReadStore } from "./store.ts";
import { RelistPace, WatchActivity, WatchBackoff } from "./watch-backoff.ts";
import type { WatchEvent } from "./watch-stream.ts";
import { pickedSeconds, relaxedWatchTimes, type WatchTimes } from "./watch-times.ts";

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
  readonly #synced = Promise.withResolvers<void>();
  readonly #ownWrites: ExpectedEvents;
  readonly #history: ResourceVersionTracker;
  readonly #freshness: CacheFreshness;
  readonly #relists = new RelistPace();
  #isSynced = false;
  readonly #outage: Outage;
  /** The restarts of {@link Recovery} before the last list. */
  #listedRestarts = 0;
  /** The count of {@link Recovery} after the last attempt. */
  #recoveries = 0;
  readonly #activity: WatchActivity;
  #reopen: (() => void) | undefined;

  constructor(options: InformerOptions<T>, deps: InformerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#times = deps.watchTimes ?? relaxedWatchTimes;
    this.#recovery = deps.recovery ?? new Recovery();
    this.#store = new InformerStore(options, deps.log);
    this.#history = new ResourceVersionTracker(this.resource.plural);
    this.#freshness = new CacheFreshness(deps.clock, this.#times.freshForMs);
    this.#outage = new Outage(deps.clock);
    this.#activity = new WatchActivity(deps.clock);
    this.#ownWrites = new ExpectedEvents({
      clock: deps.clock,
      heardAt: () => this.#activity.heardAt,
      // The connection may be dead, or the write lost.
      onMissing: (key) => {
        void this.refresh(key);
        this.#reopen?.();
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
    return this.#synced.promise;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Whether a watch is open, so that the store is up to date. */
  get isWatchOpen(): boolean {
    return this.#activity.isOpen;
  }

  /** The age of the store, by the monotonic clock. */
  get watchState(): WatchState {
    return {
      isSynced: this.#isSynced,
      openedAt: this.#freshness.provenAt,
      freshForMs: this.#times.freshForMs,
    };
  }

  /** Lists and watches until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    const pace = new WatchBackoff(random);
    const cancel = this.#recovery.onRestarted(() => this.#doubt());
    let [relist, isDoubtful] = [true, false];
    while (!signal.aborted) {
      const [startedAt, attempt] = [clock.monotonic(), this.#activity.begin()];
      let [isForgotten, leastMs, longestMs] = [false, 0, this.#times.longestBackoffMs];
      try {
        relist ||= isDoubtful && (await this.#isListDue());
        isDoubtful = false;
        while (relist || this.#freshness.needsList) {
          relist = true;
          await this.#list(signal);
          relist = false;
        }
        isDoubtful = await this.#watch(signal);
        if (this.#freshness.needsList) continue;
      } catch (error) {
        isForgotten = isKubeError(error, "Gone") && !relist;
        relist ||= isKubeError(error, "Gone", "NotFound");
        longestMs = this.#failed(error, attempt().hasOpened ? undefined : startedAt);
        leastMs = isKubeError(error) ? (error.retryAfterMs ?? 0) : 0;
      }
      if (this.#recoveries !== this.#recovery.count) pace.restart();
      this.#recoveries = this.#recovery.count;
      const [now, { isProgress }] = [clock.monotonic(), attempt()];
      const pauseMs = pace.pauseMs({ isProgress, isForgotten, longestMs, leastMs, now });
      if (pauseMs > 0) await this.#recovery.pause(pauseMs, { clock, signal });
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
    if (!this.#isSynced) return;
    const { listOptions } = this.#options;
    await this.#store.refresh(key, () => this.#deps.listWatch.get(listOptions, refOf(key)));
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { listWatch, yielder, clock } = this.#deps;
    const startedAt = clock.monotonic();
    const { restarts } = this.#recovery;
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
    if (isReset && this.#listedRestarts === this.#recovery.restarts) {
      this.#recovery.restarted();
      ({ discards } = this.#freshness);
    }
    this.#listedRestarts = restarts;
    const steps = listed.replace(isReset ? undefined : resourceVersion);
    await yielder.forEach(steps, () => {});
    this.#ownWrites.reached(resourceVersion);
    this.#freshness.listed(startedAt, discards);
    this.#relists.listed(startedAt, clock.monotonic());
    this.#synced.resolve();
    this.#isSynced = true;
  }

  /** Nothing is known of the API server until the next list. */
  #doubt(): void {
    this.#freshness.discard();
    this.#reopen?.();
  }

  /** Records a failure, as {@link Outage} does; returns the maximum pause after it. */
  #failed(error: unknown, sentAt: number | undefined): number {
    this.#outage.failed(error, sentAt);
    if (isKubeError(error, "NotFound") && this.#options.optional === true) {
      this.#markEmpty();
      return this.#times.longestAbsenceMs;
    }
    const { plural } = this.resource;
    const cause = isKubeError(error) ? { code: error.code, why: error.message } : { error };
    this.#deps.log.warn({ resource: plural, ...cause }, "watch interrupted");
    this.#deps.onInterrupted?.(plural, isKubeError(error) ? error.code : "Unexpected");
    return this.#times.longestBackoffMs;
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
    this.#freshness.answered();
    for (const key of this.#store.keys()) this.#store.set(key, undefined);
    this.#synced.resolve();
    this.#isSynced = true;
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
  async #watch(signal: AbortSignal): Promise<boolean> {
    const { clock, random } = this.#deps;
    const timeoutSeconds = pickedSeconds(this.#times, random);
    const startedAt = clock.monotonic();
    let isSilent = true;
    const onOpen = (): void => {
      this.#activity.opened();
      this.#freshness.opened();
      this.#answered();
    };
    const reopening = new AbortController();
    this.#reopen = () => reopening.abort();
    const from = {
      resourceVersion: this.#history.resourceVersion ?? "",
      timeoutSeconds,
      openMs: this.#times.openMs,
      signal: AbortSignal.any([signal, reopening.signal]),
      onOpen,
    };
    try {
      await this.#deps.listWatch.watch(this.#options.listOptions, from, (events) => {
        isSilent &&= events.length === 0;
        this.#activity.heard();
        for (const event of events) this.#handle(event);
        this.#freshness.heard();
      });
    } finally {
      this.#freshness.ended();
      this.#activity.ended();
      this.#reopen = undefined;
    }
    const livedMs = clock.monotonic() - startedAt;
    return livedMs < timeoutSeconds * 1000 ? !from.signal.aborted : isSilent;
  }

  #handle(event: WatchEvent): void {
    const isBookmark = event.head === undefined && event.type === "BOOKMARK";
    const resourceVersion = isBookmark ? rawVersion(event.object) : this.#store.handle(event);
    if (isBookmark) this.#history.bookmarked(resourceVersion);
    else this.#history.reached(resourceVersion);
    this.#ownWrites.reached(resourceVersion);
  }
}
