import { keyOf } from "../../api/object.ts";
import { labels } from "../../api/names.ts";
import { resources } from "../../api/resources.ts";
import { outboxEntryOf } from "../../domain/outbox/outbox-entry.ts";
import { outboxName, outboxNamespace } from "../../domain/outbox/outbox-names.ts";
import { marksAsRead, swappedSelector } from "../../domain/outbox/swapped-marks.ts";
import type { ListOptions } from "../../kube/informer/list-options.ts";
import type { ListWatch } from "../../kube/informer/list-watch.ts";
import { rawKey, rawVersion } from "../../kube/informer/raw-object.ts";
import type { WatchEvent } from "../../kube/informer/watch-stream.ts";

/** Maximum number of entries of an outbox: another administrator decides how many there are. */
export const mostEntries = 20_000;

/** Lists and watches a connected cluster, with the marks of Secrets as its agent has them. */
export function swappedListWatch(local: ListWatch, cluster: string): ListWatch {
  const selected = (selection: ListOptions): ListOptions =>
    selection.resource !== resources.secrets || selection.labelSelector === undefined
      ? selection
      : { ...selection, labelSelector: swappedSelector(selection.labelSelector) };
  const eventsOf =
    ({ resource }: ListOptions) =>
    (events: readonly WatchEvent[]): readonly WatchEvent[] =>
      resource === resources.secrets ? events.map((event) => swappedEvent(event, cluster)) : events;
  return {
    list(selection, signal, onEvents) {
      const swapped = eventsOf(selection);
      return local.list(selected(selection), signal, (events) => onEvents(swapped(events)));
    },
    watch(selection, from, onEvents) {
      const swapped = eventsOf(selection);
      return local.watch(selected(selection), from, (events) => onEvents(swapped(events)));
    },
    version: (selection) => local.version(selected(selection)),
    async get(selection, ref) {
      const found = await local.get(selected(selection), ref);
      return selection.resource === resources.secrets && found !== undefined
        ? marksAsRead(found, cluster)
        : found;
    },
  };
}

/** Swaps the marks when the object is read: that of an own write is not. */
function swappedEvent(event: WatchEvent, cluster: string): WatchEvent {
  let swapped: unknown;
  return {
    head: event.head,
    get type() {
      return event.type;
    },
    get object() {
      return (swapped ??= marksAsRead(event.object, cluster));
    },
  };
}

/**
 * Lists and watches the outbox of a cluster as if its Secrets were SharedSecrets; those that are no
 * entries are left out, and a list has at most {@link mostEntries}. `onExcess` is called after each
 * list, with whether it had more.
 */
export function outboxListWatch(
  central: ListWatch,
  { cluster, onExcess }: { readonly cluster: string; onExcess: (isExcessive: boolean) => void },
): ListWatch {
  const namespace = outboxNamespace(cluster);
  const outbox = { resource: resources.secrets, namespace, labelSelector: labels.outboxUid };
  return {
    async list(_, signal, onEvents) {
      let count = 0;
      const version = await central.list(outbox, signal, async (events) => {
        const entries = events.flatMap((event) => entryEvent(event) ?? []);
        const left = Math.max(0, mostEntries - count);
        count += entries.length;
        await onEvents(entries.slice(0, left));
      });
      onExcess(count > mostEntries);
      return version;
    },
    watch: (_, from, onEvents) =>
      central.watch(outbox, from, (events) =>
        onEvents(events.map((event) => entryEvent(event) ?? bookmarkOf(event))),
      ),
    version: () => central.version(outbox),
    async get(_, ref) {
      const found = await central.get(outbox, { namespace, name: outboxName(ref) });
      const entry = found === undefined ? undefined : outboxEntryOf(found);
      return entry === undefined || rawKey(entry) !== keyOf(ref) ? undefined : entry;
    },
  };
}

/** The event of an entry, without its head: that is of another name and uid. */
function entryEvent(event: WatchEvent): WatchEvent | undefined {
  const { type, object } = event;
  if (type === "BOOKMARK") return event;
  const entry = outboxEntryOf(object);
  return entry === undefined ? undefined : { type, object: entry };
}

/** Stands for a Secret that is no entry, so that the watch goes on after it. */
function bookmarkOf({ object }: WatchEvent): WatchEvent {
  return { type: "BOOKMARK", object: { metadata: { resourceVersion: rawVersion(object) } } };
}
