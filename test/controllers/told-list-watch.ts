import { isRecord, recordAt, stringAt, stringMapAt } from "../../src/api/parse.ts";
import type { ListPage, ListWatch, Selection, WatchEvent, WatchStart } from "../../src/kube/list-watch.ts";

/** An object as the API server sends it. */
export interface RawObject {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** What informers are told: lists of what a test put in, and watches over which it tells of events. Nothing is remembered. */
export class ToldListWatch implements ListWatch {
  readonly #listed: Readonly<Record<string, readonly RawObject[]>>;
  readonly #watches: { readonly selection: Selection; readonly onEvents: (events: readonly WatchEvent[]) => void }[] = [];

  /** `listed` has the objects of each plural. */
  constructor(listed: Readonly<Record<string, readonly RawObject[]>>) {
    this.#listed = listed;
  }

  async list(selection: Selection, onPage: (page: ListPage) => Promise<void>): Promise<void> {
    const items = (this.#listed[selection.resource.plural] ?? []).filter((object) => selects(selection, object));
    await onPage({ items, resourceVersion: "100" });
  }

  watch(selection: Selection, { signal, onOpen }: Pick<WatchStart, "signal" | "onOpen">, onEvents: (events: readonly WatchEvent[]) => void): Promise<void> {
    this.#watches.push({ selection, onEvents });
    onOpen();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  }

  /** Tells every watch that selects the object. */
  tell(plural: string, type: "ADDED" | "MODIFIED" | "DELETED", object: RawObject): void {
    const concerned = this.#watches.filter(({ selection }) => selection.resource.plural === plural && selects(selection, object));
    for (const { onEvents } of concerned) onEvents([{ type, object }]);
  }
}

function selects({ namespace, labelSelector, fieldSelector }: Selection, object: RawObject): boolean {
  const metadata = recordAt(object, "metadata");
  const labels = stringMapAt(metadata, "labels");
  if (namespace !== undefined && stringAt(metadata, "namespace") !== namespace) return false;
  if (fieldSelector !== undefined && `metadata.name=${stringAt(metadata, "name") ?? ""}` !== fieldSelector) return false;
  if (labelSelector === undefined) return true;
  const [name = "", value] = labelSelector.replace(/^!/, "").split("=");
  if (labelSelector.startsWith("!")) return !(name in labels);
  return value === undefined ? name in labels : labels[name] === value;
}

let version = 0;

/** An object with all that a server adds; newer than every one before. */
export function raw(metadata: Readonly<Record<string, unknown>>, rest: Readonly<Record<string, unknown>> = {}): RawObject {
  version += 1;
  const name = stringAt(metadata, "name") ?? "";
  const server = { uid: `uid-${name}`, resourceVersion: String(1000 + version), creationTimestamp: "2026-01-01T00:00:00Z" };
  return { ...(isRecord(rest) ? rest : {}), metadata: { ...server, ...metadata } };
}
