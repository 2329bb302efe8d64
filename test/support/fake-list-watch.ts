import { isRecord, stringAt } from "../../src/api/parse.ts";
import type { ObjectRef } from "../../src/api/object.ts";
import type { ListWatch, WatchStart } from "../../src/kube/informer/list-watch.ts";
import type { ListOptions } from "../../src/kube/informer/list-options.ts";
import type { WatchEvent } from "../../src/kube/informer/watch-stream.ts";
import { selects } from "../../src/kube/informer/raw-object.ts";

/** An object as the API server returns it. */
export interface RawObject {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/**
 * Fakes the lists and watches of the API server: a list returns the objects given to the
 * constructor, a watch delivers the events that the test emits. It stores nothing.
 */
export class FakeListWatch implements ListWatch {
  readonly #listed: Readonly<Record<string, readonly RawObject[]>>;
  readonly #watches: {
    readonly selection: ListOptions;
    readonly onEvents: (events: readonly WatchEvent[]) => void;
  }[] = [];

  /** `listed` contains the objects by plural. */
  constructor(listed: Readonly<Record<string, readonly RawObject[]>>) {
    this.#listed = listed;
  }

  async list(
    selection: ListOptions,
    _signal: AbortSignal,
    onEvents: (events: readonly WatchEvent[]) => Promise<void>,
  ): Promise<string> {
    const objects = (this.#listed[selection.resource.plural] ?? []).filter((object) =>
      selects(selection, object),
    );
    await onEvents(objects.map((object) => ({ type: "ADDED", object })));
    return "100";
  }

  async version(): Promise<string> {
    return "100";
  }

  /** The reads of single objects, such as `secrets metadata pay/db`. */
  readonly reads: string[] = [];

  async get(
    { resource, metadataOnly }: ListOptions,
    { namespace, name }: ObjectRef,
  ): Promise<unknown> {
    this.reads.push(
      `${resource.plural} ${metadataOnly === true ? "metadata" : "whole"} ${namespace === undefined ? name : `${namespace}/${name}`}`,
    );
    return this.#listed[resource.plural]?.find(
      ({ metadata }) => metadata["namespace"] === namespace && metadata["name"] === name,
    );
  }

  watch(
    selection: ListOptions,
    { signal, onOpen }: Pick<WatchStart, "signal" | "onOpen">,
    onEvents: (events: readonly WatchEvent[]) => void,
  ): Promise<void> {
    this.#watches.push({ selection, onEvents });
    onOpen();
    return new Promise((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true }),
    );
  }

  /** Delivers an event to every watch that selects the object. */
  emit(plural: string, type: "ADDED" | "MODIFIED" | "DELETED", object: RawObject): void {
    const concerned = this.#watches.filter(
      ({ selection }) => selection.resource.plural === plural && selects(selection, object),
    );
    for (const { onEvents } of concerned) onEvents([{ type, object }]);
  }
}

let version = 0;

/** An object with all fields that a server adds; newer than every earlier one. */
export function rawObject(
  metadata: Readonly<Record<string, unknown>>,
  rest: Readonly<Record<string, unknown>> = {},
): RawObject {
  version += 1;
  const name = stringAt(metadata, "name") ?? "";
  const server = {
    uid: `uid-${name}`,
    resourceVersion: String(1000 + version),
    creationTimestamp: "2026-01-01T00:00:00Z",
  };
  return { ...(isRecord(rest) ? rest : {}), metadata: { ...server, ...metadata } };
}
