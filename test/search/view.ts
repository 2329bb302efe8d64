import type { SyncWorld } from "../../src/controllers/sync-world.ts";
import type { WatchedKind } from "../../src/controllers/kinds/watched-kind.ts";
import type { ListOptions } from "../../src/kube/informer/list-options.ts";
import {
  type InformerState,
  isStored as isVersionStored,
  ListedObjects,
  type Removal,
  takeDelete,
  takeEvent,
  takeRead,
  takeWrite,
} from "../../src/kube/informer/informer-state.ts";
import { type ReadStore, Store } from "../../src/kube/informer/store.ts";
import type { ReadSecret } from "../specification/followed.ts";
import { isJsonObject, isRaw, nameOf, type Raw, type Texts } from "../specification/raw.ts";
import { type Change as Commit, metadataOf } from "./server.ts";

/** An object in a view, as it was sent. */
export interface Seen {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly raw: Raw;
  /** What a SharedSecret has of the Secret that it follows, once that is read. */
  readonly followed?: SeenFollowed;
}

/** What was read of a Secret, and what src has made of it. */
interface SeenFollowed {
  readonly read: ReadSecret;
  readonly says: string;
}

/** What an informer knows, as an immutable value. */
export interface View {
  readonly entries: ReadonlyMap<string, Seen>;
  /** What own writes, own deletes and reads have removed, by key, as in src. */
  readonly removals: ReadonlyMap<string, Removal>;
  /** The last resourceVersion of the watch. */
  readonly version: number;
}

/** A change of a view. */
export interface SeenChange {
  readonly key: string;
  readonly before: Seen | undefined;
  readonly after: Seen | undefined;
}

/** A kind of src, over views. */
export interface ViewedKind<W extends SyncWorld = SyncWorld> {
  readonly listOptions: ListOptions;
  readonly isReadOnly: boolean;
  /** Whether it is listed after the other kinds, because what it stores depends on them. */
  readonly isLast: boolean;
  /** Undefined if the object is not stored; `stored` is what is stored in its place. */
  readonly seen: (raw: Raw, stored: Seen | undefined) => Seen | undefined;
  /** What is stored of an object, with another value. */
  amended(stored: Seen, value: unknown, followed: SeenFollowed): Seen;
  readonly enqueue: (change: SeenChange, enqueuer: W["enqueuer"]) => void;
  readonly enqueueAll: (enqueuer: W["enqueuer"]) => Promise<void>;
}

/** An event of a watch; `object` is the former one if it left the selection. */
export interface Event {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: Raw;
  readonly version: number;
}

/** The view of one kind while it changes; `changed` is called after each change. */
export interface Viewing {
  readonly kind: Omit<ViewedKind, "enqueue" | "enqueueAll">;
  view: View;
  readonly changed: (change: SeenChange) => void;
}

/**
 * A kind of src over views, and its store for a view. What it parses is kept by object, and a store
 * by its entries, because most actions change a single view.
 */
export function viewedKind<T, W extends SyncWorld>(
  kind: WatchedKind<T, W>,
): {
  readonly kind: ViewedKind<W>;
  readonly storeOf: (view: View) => ReadStore<T>;
} {
  const { listOptions, isReadOnly = false, indexers, enqueueAll } = kind;
  const values = new WeakMap<Seen, T>();
  const entries = new WeakMap<Raw, Seen>();
  const following = new WeakMap<SeenFollowed, WeakMap<Raw, Seen>>();
  const stores = new WeakMap<View["entries"], Store<T>>();
  const remembered = (raw: Raw, value: T, followed: SeenFollowed): Seen => {
    const { uid, resourceVersion } = raw.metadata;
    const entry = { uid, resourceVersion, raw, followed };
    values.set(entry, value);
    const known = following.get(followed) ?? new WeakMap<Raw, Seen>();
    following.set(followed, known.set(raw, entry));
    return entry;
  };
  return {
    kind: {
      listOptions,
      isReadOnly,
      isLast: kind.listedAfter !== undefined,
      seen(raw, stored) {
        if (stored?.followed !== undefined) {
          const former = following.get(stored.followed)?.get(raw);
          if (former !== undefined) return former;
          const value = kind.parse(raw);
          if (value !== undefined && isFollowing(value))
            return remembered(raw, value, stored.followed);
        }
        const known = entries.get(raw);
        // Where `parse` reads other stores, its result depends on them.
        if (known !== undefined && kind.listedAfter === undefined) return known;
        const value = kind.parse(raw);
        if (value === undefined || known !== undefined)
          return value === undefined ? undefined : known;
        const { uid, resourceVersion } = raw.metadata;
        const entry = { uid, resourceVersion, raw };
        values.set(entry, value);
        entries.set(raw, entry);
        return entry;
      },
      amended: ({ raw }, value: T, followed) => remembered(raw, value, followed),
      enqueue({ key, before, after }, enqueuer) {
        const [former, current] = [before, after].map((seen) => seen && values.get(seen));
        kind.enqueue({ key, before: former, after: current }, enqueuer);
      },
      enqueueAll: async (enqueuer) => enqueueAll?.(enqueuer),
    },
    storeOf(view) {
      const known = stores.get(view.entries);
      if (known !== undefined) return known;
      const store = new Store<T>(indexers, undefined, kind.sizeOf);
      for (const [key, seen] of view.entries) {
        const { uid, resourceVersion } = seen;
        const value = values.get(seen);
        if (value !== undefined) store.set(key, { uid, resourceVersion, value });
      }
      stores.set(view.entries, store);
      return store;
    },
  };
}

/** Whether a value has what was read of a Secret. */
function isFollowing(value: unknown): boolean {
  const followed = isJsonObject(value) ? value["followed"] : undefined;
  return isJsonObject(followed) && followed["state"] !== "unread";
}

/** A view without objects. */
export const emptyView: View = { entries: new Map(), removals: new Map(), version: 0 };

/** The event that a selection has of a committed change; undefined if there is none. */
export function eventOf(listOptions: ListOptions, commit: Commit): Event | undefined {
  if (commit.plural !== listOptions.resource.plural) return undefined;
  const [before, after] = [commit.before, commit.after].map((object) =>
    object !== undefined && isSelected(listOptions, object) ? object : undefined,
  );
  const { version } = commit;
  if (after !== undefined) {
    const type = before === undefined ? "ADDED" : "MODIFIED";
    return { type, object: sentOf(listOptions, after), version };
  }
  if (before === undefined) return undefined;
  const metadata = { ...before.metadata, resourceVersion: String(version) };
  return { type: "DELETED", object: sentOf(listOptions, { ...before, metadata }), version };
}

/** The objects that a list of a selection contains. */
export function listed(
  listOptions: ListOptions,
  objects: ReadonlyMap<string, Raw>,
): readonly Raw[] {
  const prefix = `${listOptions.resource.plural}/`;
  return [...objects]
    .filter(([id, object]) => id.startsWith(prefix) && isSelected(listOptions, object))
    .map(([, object]) => sentOf(listOptions, object));
}

/** Changes a view by the rules of src; each change of an entry makes another view. */
function change(viewing: Viewing, work: (state: InformerState<Seen>) => void): void {
  const removals = new Map(viewing.view.removals);
  work({
    entry: (key) => viewing.view.entries.get(key),
    keys: () => [...viewing.view.entries.keys()],
    set(key, after) {
      const entries = new Map(viewing.view.entries);
      const before = entries.get(key);
      if (after === undefined) entries.delete(key);
      else entries.set(key, after);
      viewing.view = { ...viewing.view, entries };
      viewing.changed({ key, before, after });
    },
    selects: (raw) => isRaw(raw) && isSelected(viewing.kind.listOptions, raw),
    parse: (raw) =>
      isRaw(raw)
        ? viewing.kind.seen(raw, viewing.view.entries.get(nameOf(raw.metadata)))
        : undefined,
    removals,
  });
  viewing.view = { ...viewing.view, removals };
}

/** Replaces the value of an object that is stored. */
export function amend(viewing: Viewing, key: string, after: Seen): void {
  change(viewing, (state) => state.set(key, after));
}

/** Takes the response of an own write before its event arrives. */
export function observe(viewing: Viewing, raw: Raw): void {
  change(viewing, (state) => takeWrite(state, raw, String(viewing.view.version)));
}

/** Removes an object after an own delete. */
export function observeDelete(viewing: Viewing, key: string, uid: string): void {
  change(viewing, (state) => takeDelete(state, key, uid));
}

/** Takes an event of the watch. */
export function deliver(viewing: Viewing, event: Event): void {
  const { type, object, version } = event;
  if (type === "DELETED" || !isStored(viewing.view, object))
    change(viewing, (state) => takeEvent(state, event));
  viewing.view = { ...viewing.view, version };
}

/** Whether an event tells the view nothing: it is of an own write whose response is stored. */
export function isEcho({ entries, removals }: View, { type, object }: Event): boolean {
  const key = nameOf(object.metadata);
  return type === "DELETED"
    ? removals.has(key) && !entries.has(key)
    : isStored({ entries }, object);
}

/** Takes a read of a single object: also an older one, or none. */
export function refresh(viewing: Viewing, key: string, raw: Raw | undefined): void {
  change(viewing, (state) => takeRead(state, key, raw));
}

/**
 * Takes a list, before which nothing newer can be in the view; after a restore, own writes that etcd
 * has lost may, which src reads again when their events are missing for two seconds.
 */
export function relist(viewing: Viewing, objects: readonly Raw[], version: number): void {
  change(viewing, (state) => {
    const list = new ListedObjects(state);
    for (const object of objects) list.take({ type: "ADDED", object });
    Array.from(list.replace(undefined));
  });
  viewing.view = { ...viewing.view, version };
}

/** Whether a view has exactly this version of an object. */
export function isStored({ entries }: Pick<View, "entries">, { metadata }: Raw): boolean {
  const { uid, resourceVersion } = metadata;
  const key = nameOf(metadata);
  return isVersionStored({ entry: () => entries.get(key) }, { key, uid, resourceVersion });
}

function sentOf({ metadataOnly }: ListOptions, object: Raw): Raw {
  return metadataOnly === true ? metadataOf(object) : object;
}

/** Selectors of `label`, `!label`, `label=value`, of the name and of the type (Kubernetes). */
export function isSelected(
  { namespace, labelSelector, fieldSelector }: ListOptions,
  { metadata, type }: Raw,
): boolean {
  if (namespace !== undefined && metadata.namespace !== namespace) return false;
  const fields = [undefined, `metadata.name=${metadata.name}`, `type=${type}`];
  if (!fields.includes(fieldSelector)) return false;
  return (labelSelector ?? "").split(",").every((part) => fulfils(metadata.labels ?? {}, part));
}

function fulfils(labels: Texts, requirement: string): boolean {
  if (requirement === "") return true;
  const [, not, name = "", value] = /^(!?)([^=]+)(?:=(.*))?$/.exec(requirement) ?? [];
  const given = labels[name];
  if (value !== undefined) return given === value;
  return (given !== undefined) === (not === "");
}
