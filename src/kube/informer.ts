import { type Key, refOf } from "../api/object.ts";
import type { Resource } from "../api/resources.ts";
import { ExpectedEvents } from "./expected-events.ts";
import { isKubeError } from "./errors.ts";
import { relaxedWatchTimes, watchGraceMs, type WatchState, type WatchTimes } from "./freshness.ts";
import type { InformerDeps } from "./informer-deps.ts";
import { ResourceVersionTracker } from "./resource-version-tracker.ts";
import type { WatchEvent } from "./watch-stream.ts";
import { type InformerOptions, InformerStore } from "./informer-store.ts";
import { ListedObjects } from "./listed-objects.ts";
import { isOlder, rawKey, rawVersion } from "./raw-object.ts";
import { Recovery } from "./recovery.ts";
import { RelistPace } from "./relist-pace.ts";
import { WatchBackoff, shortWatchMs } from "./watch-backoff.ts";
import { WatchProof } from "./watch-proof.ts";
import type { ReadStore } from "./store.ts";

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
  readonly #echoes: ExpectedEvents;
  readonly #history: ResourceVersionTracker;
  readonly #proof: WatchProof;
  readonly #relists = new RelistPace();
  #isSynced = false;
  #isFollowing = false;
  /** Whether the API server could not be reached, or returned 5xx or 429, at the last request. */
  #isCutOff = false;
  /** The count of {@link Recovery} after the last attempt. */
  #recoveries = 0;
  #openedAt: number | undefined;
  #heardAt = -Infinity;
  #opens = 0;
  #eventBatches = 0;
  #reopen: (() => void) | undefined;

  constructor(options: InformerOptions<T>, deps: InformerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#times = deps.watchTimes ?? relaxedWatchTimes;
    this.#recovery = deps.recovery ?? new Recovery();
    this.#store = new InformerStore(options, deps.log);
    this.#history = new ResourceVersionTracker(this.resource.plural);
    this.#proof = new WatchProof(deps.clock, this.#times.freshForMs);
    this.#echoes = new ExpectedEvents({
      clock: deps.clock,
      heardAt: () => this.#heardAt,
      onMissing: (key) => this.#missed(key),
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
    return this.#isFollowing;
  }

  /** The age of the store, by the monotonic clock. */
  get watchState(): WatchState {
    return {
      isSynced: this.#isSynced,
      openedAt: this.#proof.provenAt,
      freshForMs: this.#times.freshForMs,
    };
  }

  /** Lists and watches until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    const pace = new WatchBackoff(random);
    let [relist, isSilent] = [true, false];
    while (!signal.aborted) {
      const [opens, eventBatches] = [this.#opens, this.#eventBatches];
      let [isForgotten, leastMs, longestMs] = [false, 0, this.#times.longestBackoffMs];
      try {
        relist ||= isSilent && (await this.#isListDue());
        isSilent = false;
        if (relist) await this.#list(signal);
        relist = false;
        isSilent = await this.#watch(signal);
      } catch (error) {
        isForgotten = isKubeError(error, "Gone") && !relist;
        relist ||= isKubeError(error, "Gone", "NotFound");
        longestMs = this.#failed(error);
        leastMs = isKubeError(error) ? (error.retryAfterMs ?? 0) : 0;
      }
      if (this.#recoveries !== this.#recovery.count) pace.restart();
      this.#recoveries = this.#recovery.count;
      const now = clock.monotonic();
      const livedMs = this.#opens === opens ? 0 : now - (this.#openedAt ?? now);
      const isProgress = this.#eventBatches > eventBatches || livedMs >= shortWatchMs;
      const pauseMs = pace.pauseMs({ isProgress, isForgotten, longestMs, leastMs, now });
      if (pauseMs > 0) await this.#recovery.pause(pauseMs, { clock, signal });
    }
    this.#echoes.stop();
  }

  /**
   * Stores the response of an own write before its watch event arrives. Ignores an object that is
   * not stored and older than the last resourceVersion of the watch: it may have been deleted
   * since.
   */
  observe(raw: unknown): void {
    const [key, resourceVersion] = [rawKey(raw), rawVersion(raw)];
    const isAhead = isOlder(this.#history.resourceVersion, resourceVersion);
    if (isAhead || isOlder(this.#store.entry(key)?.resourceVersion, resourceVersion))
      this.#store.take(raw);
    if (isAhead && resourceVersion !== undefined) this.#echoes.expect(key, resourceVersion);
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
    const listed = new ListedObjects<T>({
      parse: (raw) => this.#store.parse(raw),
      storedVersion: (key) => this.#store.entry(key)?.resourceVersion,
    });
    const isFirst = this.#history.resourceVersion === undefined;
    const take = (event: WatchEvent): void => {
      listed.take(event);
      // No caller has acted on an empty store, so the first list fills it directly: no object is in
      // memory twice.
      if (isFirst) for (const [key, entry] of listed.drain()) this.#store.put(key, entry);
    };
    const resourceVersion = await listWatch.list(this.#options.listOptions, signal, (events) =>
      yielder.forEach(events, take),
    );
    this.#answered();
    const isReset = this.#history.listed(resourceVersion);
    await yielder.forEach(listed.drain(), ([key, entry]) => {
      if (isReset || !isOlder(entry?.resourceVersion, this.#store.entry(key)?.resourceVersion))
        this.#store.put(key, entry);
    });
    await yielder.forEach(this.#store.keys(), (key) => {
      const stays =
        listed.has(key) ||
        (!isReset && isOlder(resourceVersion, this.#store.entry(key)?.resourceVersion));
      if (!stays) this.#store.put(key, undefined);
    });
    this.#echoes.reached(resourceVersion);
    this.#proof.listed(startedAt);
    this.#relists.listed(startedAt, clock.monotonic());
    this.#markSynced();
  }

  /** Records a failure; returns the maximum pause after it. */
  #failed(error: unknown): number {
    this.#isCutOff = isKubeError(error, "Network", "ServerError", "TooManyRequests");
    if (isKubeError(error, "NotFound") && this.#options.optional === true) {
      this.#markEmpty();
      return this.#times.longestAbsenceMs;
    }
    this.#report(error);
    return this.#times.longestBackoffMs;
  }

  /** Ends the back-off of all informers at the first response after an outage. */
  #answered(): void {
    if (!this.#isCutOff) return;
    this.#isCutOff = false;
    this.#recovery.recovered();
    // A watch that opens and breaks repeatedly does not reset its own back-off.
    this.#recoveries = this.#recovery.count;
  }

  /** Empties the store: a 404 for the resource is a response, too. */
  #markEmpty(): void {
    this.#proof.answered();
    for (const key of this.#store.keys()) this.#store.put(key, undefined);
    this.#markSynced();
  }

  #markSynced(): void {
    this.#isSynced = true;
    this.#synced.resolve();
  }

  /** Whether to list again after a silent watch: etcd was restored, or the last list is old. */
  async #isListDue(): Promise<boolean> {
    const { clock, listWatch } = this.#deps;
    if (this.#relists.isDue(clock.monotonic())) return true;
    const current = await listWatch.version(this.#options.listOptions);
    return isOlder(current, this.#history.resourceVersion);
  }

  /**
   * Returns whether the watch was silent to its end: nothing changed, or etcd was restored, because
   * a watch from a later resourceVersion is opened with status 200 and receives nothing.
   */
  async #watch(signal: AbortSignal): Promise<boolean> {
    const { watchSeconds, openMs } = this.#times;
    const timeoutSeconds =
      watchSeconds.least +
      Math.floor(this.#deps.random() * (watchSeconds.most - watchSeconds.least));
    const { clock } = this.#deps;
    const startedAt = clock.monotonic();
    let isSilent = true;
    const onOpen = (): void => {
      this.#isFollowing = true;
      this.#openedAt = clock.monotonic();
      this.#proof.opened();
      this.#opens += 1;
      this.#answered();
    };
    const reopening = new AbortController();
    this.#reopen = () => reopening.abort();
    const from = {
      resourceVersion: this.#history.resourceVersion ?? "",
      timeoutSeconds,
      openMs,
      signal: AbortSignal.any([signal, reopening.signal]),
      onOpen,
    };
    try {
      await this.#deps.listWatch.watch(this.#options.listOptions, from, (events) => {
        isSilent &&= events.length === 0;
        this.#heardAt = clock.monotonic();
        this.#eventBatches += 1;
        for (const event of events) this.#handle(event);
        this.#proof.heard();
      });
    } finally {
      this.#proof.ended();
      this.#isFollowing = false;
      this.#reopen = undefined;
    }
    const livedMs = clock.monotonic() - startedAt;
    return (
      isSilent && livedMs >= timeoutSeconds * 1000 && livedMs < timeoutSeconds * 1000 + watchGraceMs
    );
  }

  #handle(event: WatchEvent): void {
    const isBookmark = event.head === undefined && event.type === "BOOKMARK";
    const resourceVersion = isBookmark ? rawVersion(event.object) : this.#store.handle(event);
    if (isBookmark) this.#history.bookmarked(resourceVersion);
    else this.#history.reached(resourceVersion);
    this.#echoes.reached(resourceVersion);
  }

  /** An own write has no watch event: the connection may be dead, or the write lost. */
  #missed(key: Key): void {
    void this.refresh(key);
    this.#reopen?.();
  }

  #report(error: unknown): void {
    const cause = isKubeError(error) ? { code: error.code, why: error.message } : { error };
    this.#deps.log.warn({ resource: this.resource.plural, ...cause }, "watch interrupted");
  }
}
