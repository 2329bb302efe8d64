import type { Key } from "../../api/object.ts";
import { isOlder, type ObjectHead, rawKey, rawUid, rawVersion } from "./raw-object.ts";
import type { WatchEvent } from "./watch-stream.ts";

/** A version of an object. */
interface Version {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** What an own write, an own delete or a read has removed, although its events did not say so. */
export interface Removal {
  /** The version that was stored: events up to it tell nothing. */
  readonly resourceVersion: string;
  /** The uid of an object that is deleted; undefined if it is only not stored any more. */
  readonly deleted: string | undefined;
}

/**
 * What an informer knows of the API server: the newest version of each object that it has seen. The
 * functions of this file decide what an event, a list, a read and an own write change.
 */
export interface InformerState<E extends Version> {
  entry(key: Key): E | undefined;
  keys(): readonly Key[];
  /** Stores an entry, or removes what is stored, and reports the change. */
  set(key: Key, entry: E | undefined): void;
  /** Whether the selection of the informer matches an object; that of a list always does. */
  selects(raw: unknown): boolean;
  /** Parses an object; undefined if it is not stored. */
  parse(raw: unknown): E | undefined;
  /** What was removed before its events arrived: until a later one arrives, or a list. */
  readonly removals: Map<Key, Removal>;
}

/** Whether exactly this version of an object is stored. */
export function isStored<E extends Version>(
  state: Pick<InformerState<E>, "entry">,
  { key, uid, resourceVersion }: ObjectHead,
): boolean {
  const stored = state.entry(key);
  return stored?.uid === uid && stored.resourceVersion === resourceVersion;
}

/**
 * Takes the response of an own write before its event arrives, unless it is older than what the
 * watch has reached and than what is stored: the object may have been deleted since.
 */
export function takeWrite<E extends Version>(
  state: InformerState<E>,
  raw: unknown,
  reached: string | undefined,
): void {
  const [key, uid, resourceVersion] = [rawKey(raw), rawUid(raw) ?? "", rawVersion(raw) ?? ""];
  if (isRemoved(state, key, { uid, resourceVersion })) return;
  const stored = state.entry(key);
  if (isOlder(reached, resourceVersion) || isOlder(stored?.resourceVersion, resourceVersion))
    takeObject(state, raw);
  if (stored !== undefined && state.entry(key) === undefined)
    state.removals.set(key, { resourceVersion: stored.resourceVersion, deleted: undefined });
}

/** Removes an object after an own delete; its earlier events do not store it again. */
export function takeDelete<E extends Version>(
  state: InformerState<E>,
  key: Key,
  uid: string,
): void {
  const stored = state.entry(key);
  if (stored?.uid === uid) remove(state, key, stored);
}

/** Removes an object that does not exist any more. */
function remove<E extends Version>(
  state: InformerState<E>,
  key: Key,
  { uid, resourceVersion }: Version,
): void {
  state.removals.set(key, { resourceVersion, deleted: uid });
  put(state, key, undefined);
}

/** Takes a watch event that is not a bookmark. */
export function takeEvent<E extends Version>(
  state: InformerState<E>,
  { type, object }: WatchEvent,
): void {
  const [key, resourceVersion] = [rawKey(object), rawVersion(object) ?? ""];
  // Of a deleted object, the DELETED event alone still tells something.
  const uid = type === "DELETED" ? "" : (rawUid(object) ?? "");
  if (isRemoved(state, key, { uid, resourceVersion })) return;
  state.removals.delete(key);
  if (type !== "DELETED") takeObject(state, object);
  else if (!isOlder(resourceVersion, state.entry(key)?.resourceVersion)) put(state, key, undefined);
}

/** Takes the response of a read, also an older one: etcd may have lost its last writes. */
export function takeRead<E extends Version>(state: InformerState<E>, key: Key, raw: unknown): void {
  const stored = state.entry(key);
  if (raw === undefined) {
    if (stored !== undefined) remove(state, key, stored);
    return;
  }
  // A delete that etcd has lost.
  state.removals.delete(key);
  put(state, key, state.selects(raw) ? state.parse(raw) : undefined);
}

/** Stores an object, or removes one that is no longer selected, unless a newer one is stored. */
function takeObject<E extends Version>(state: InformerState<E>, raw: unknown): void {
  const [key, resourceVersion] = [rawKey(raw), rawVersion(raw)];
  const stored = state.entry(key);
  if (stored !== undefined && stored.resourceVersion === resourceVersion) return;
  if (isOlder(resourceVersion, stored?.resourceVersion)) return;
  put(state, key, state.selects(raw) ? state.parse(raw) : undefined);
}

/** Whether a version of an object was removed, or is older than what was. */
function isRemoved<E extends Version>(
  { removals }: InformerState<E>,
  key: Key,
  { uid, resourceVersion }: Version,
): boolean {
  const removal = removals.get(key);
  if (removal === undefined) return false;
  return removal.deleted === uid || !isOlder(removal.resourceVersion, resourceVersion);
}

/** Stores an entry, or removes what is stored; another object under an old name replaces it. */
function put<E extends Version>(state: InformerState<E>, key: Key, entry: E | undefined): void {
  const stored = state.entry(key);
  if (stored?.resourceVersion === entry?.resourceVersion && stored?.uid === entry?.uid) return;
  if (stored !== undefined && entry !== undefined && stored.uid !== entry.uid)
    state.set(key, undefined);
  state.set(key, entry);
}

/**
 * The objects of a list, collected apart from the state: the resourceVersion of a list is unknown
 * until it ends.
 */
export class ListedObjects<E extends Version> {
  readonly #state: InformerState<E>;
  readonly #present = new Set<Key>();
  readonly #changed = new Map<Key, E | undefined>();
  readonly #removedBefore: ReadonlyMap<Key, Removal>;

  constructor(state: InformerState<E>) {
    this.#state = state;
    this.#removedBefore = new Map(state.removals);
  }

  /** Collects an object; one whose version is stored is not parsed again. */
  take({ type, object }: WatchEvent): void {
    const key = rawKey(object);
    this.#changed.delete(key);
    if (type === "DELETED") this.#present.delete(key);
    else {
      this.#present.add(key);
      if (rawVersion(object) !== this.#state.entry(key)?.resourceVersion)
        this.#changed.set(key, this.#state.parse(object));
    }
  }

  /** Stores what was collected so far; only before anything else is stored. */
  storeFirst(): void {
    for (const [key, entry] of this.#drain()) put(this.#state, key, entry);
  }

  /**
   * The steps that store what the list contains and remove what it lacks, also where a newer
   * version is stored: etcd may have been restored. What was written after the `resourceVersion` of
   * the list stays, and so does what was removed during the list.
   */
  *replace(resourceVersion: string | undefined): Generator<void> {
    const state = this.#state;
    const isAfterList = (key: Key): boolean =>
      isOlder(resourceVersion, state.entry(key)?.resourceVersion);
    for (const [key, removal] of this.#removedBefore)
      if (state.removals.get(key) === removal) state.removals.delete(key);
    for (const [key, entry] of this.#drain()) {
      const isGone = entry !== undefined && isRemoved(state, key, entry);
      if (!isAfterList(key) && !isGone) put(state, key, entry);
      yield;
    }
    for (const key of state.keys()) {
      if (!this.#present.has(key) && !isAfterList(key)) put(state, key, undefined);
      yield;
    }
  }

  #drain(): readonly (readonly [Key, E | undefined])[] {
    const changed = [...this.#changed];
    this.#changed.clear();
    return changed;
  }
}
