import type { ObjectRef } from "../../api/object.ts";
import { listAt, recordAt, stringAt, stringMapAt } from "../../api/parse.ts";
import type { Clock } from "../../runtime/clock.ts";
import { bodyOf } from "../client/response-body.ts";
import { isKubeError, KubeError, networkError } from "../client/kube-error.ts";
import { watchGraceMs } from "./watch-times.ts";
import { acceptOf, type ListOptions, listPath, readPage } from "./list-options.ts";
import { objectPath } from "../client/paths.ts";
import type { ApiRequest, Transport } from "../client/transport.ts";
import {
  streamEvents,
  type WatchEvent,
  type WatchLimits,
  type WatchRequest,
} from "./watch-stream.ts";

/** The start and the limits of a watch. */
export interface WatchStart {
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  /** Maximum time until the API server opens the watch, in milliseconds. */
  readonly openMs: number;
  readonly signal: AbortSignal;
  /** Called when the API server has opened the watch. */
  readonly onOpen: () => void;
}

/** List, watch and read for an informer. All throw a KubeError; `Gone` requires a new list. */
export interface ListWatch {
  /**
   * Delivers every object as an event, in batches, each after the previous one is handled; resolves
   * to the resourceVersion of the list. Changes during the list may be delivered as events, too.
   */
  list(
    selection: ListOptions,
    signal: AbortSignal,
    onEvents: (events: readonly WatchEvent[]) => Promise<void>,
  ): Promise<string>;
  /** Delivers events in batches until the API server ends the watch or no data arrives. */
  watch(
    selection: ListOptions,
    from: WatchStart,
    onEvents: (events: readonly WatchEvent[]) => void,
  ): Promise<void>;
  /** Reads the current resourceVersion of the collection, in a list of at most one object. */
  version(selection: ListOptions): Promise<string>;
  /** Reads one object with the media type of the selection; undefined if it does not exist. */
  get(selection: ListOptions, ref: ObjectRef): Promise<unknown>;
}

/** A list without data for this long has lost its connection. */
const listSilenceMs = 30_000;
/** Maximum duration of a list; the API server ends it. */
const listSeconds = 3_600;

/** Objects per page: few at first, then as many as fit into about 2 MB. */
const pages = { first: 16, most: 500, bytes: 2_000_000 } as const;

/** Creates a ListWatch over a transport; `limits` are for an API server that others run. */
export function createListWatch(
  transport: Transport,
  clock: Clock,
  limits?: WatchLimits,
): ListWatch {
  return new TransportListWatch(transport, clock, limits);
}

class TransportListWatch implements ListWatch {
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #limits: WatchLimits | undefined;
  /** Whether lists are streamed; false after the API server rejected a streaming list. */
  #streamsLists = true;

  constructor(transport: Transport, clock: Clock, limits: WatchLimits | undefined) {
    this.#transport = transport;
    this.#clock = clock;
    this.#limits = limits;
  }

  async list(
    selection: ListOptions,
    signal: AbortSignal,
    onEvents: (events: readonly WatchEvent[]) => Promise<void>,
  ): Promise<string> {
    if (this.#streamsLists) {
      try {
        return await this.#listAsStream(selection, signal, onEvents);
      } catch (error) {
        // No event was delivered yet: the rejection is the complete response.
        if (!isKubeError(error, "Invalid", "BadRequest")) throw error;
        this.#streamsLists = false;
      }
    }
    return await this.#listInPages(selection, onEvents);
  }

  async watch(
    selection: ListOptions,
    { resourceVersion, timeoutSeconds, openMs, signal, onOpen }: WatchStart,
    onEvents: (events: readonly WatchEvent[]) => void,
  ): Promise<void> {
    if (signal.aborted) return;
    const parameters = {
      watch: "1",
      allowWatchBookmarks: "true",
      resourceVersion,
      timeoutSeconds: String(timeoutSeconds),
    };
    // A half-open connection receives no data, and a slow one may receive a little data forever.
    const longestMs = timeoutSeconds * 1000 + watchGraceMs;
    try {
      await this.#stream(
        { selection, parameters, signal, openMs, silentMs: longestMs, longestMs, onOpen },
        async (events) => {
          onEvents(events);
          return false;
        },
      );
    } catch (error) {
      if (error instanceof KubeError) throw error;
      // An aborted or broken stream ends the watch; the informer resumes at its last
      // resourceVersion.
    }
  }

  async version(selection: ListOptions): Promise<string> {
    const call: ApiRequest = {
      method: "GET",
      // A selector of labels would have the API server search for an object that it selects.
      path: listPath(selection, { limit: "1", labelSelector: undefined }),
      accept: acceptOf({ ...selection, metadataOnly: true }, "List"),
    };
    const page = bodyOf(call, await this.#transport.request(call));
    return stringAt(recordAt(page, "metadata"), "resourceVersion") ?? "";
  }

  async get(selection: ListOptions, ref: ObjectRef): Promise<unknown> {
    const call: ApiRequest = {
      method: "GET",
      path: objectPath(selection.resource, ref),
      accept: acceptOf(selection, ""),
    };
    try {
      return bodyOf(call, await this.#transport.request(call));
    } catch (error) {
      // A 404 without the name means that the resource is not served; it does not apply to the
      // object.
      if (isKubeError(error, "NotFound") && error.objectName === ref.name) return undefined;
      throw error;
    }
  }

  /**
   * Lists with a watch that starts with every object (Kubernetes API concepts, "Streaming lists"),
   * so that no single response is large.
   */
  async #listAsStream(
    selection: ListOptions,
    signal: AbortSignal,
    onEvents: (events: readonly WatchEvent[]) => Promise<void>,
  ): Promise<string> {
    const parameters = {
      watch: "1",
      sendInitialEvents: "true",
      resourceVersionMatch: "NotOlderThan",
      allowWatchBookmarks: "true",
      timeoutSeconds: String(listSeconds),
    };
    const request = {
      selection,
      parameters,
      signal,
      openMs: listSilenceMs,
      silentMs: listSilenceMs,
      longestMs: listSeconds * 1000,
    };
    let resourceVersion: string | undefined;
    const path = listPath(selection, {});
    try {
      await this.#stream(request, async (events) => {
        const end = events.findIndex(isInitialEventsEnd);
        await onEvents(
          (end === -1 ? events : events.slice(0, end)).filter(({ type }) => type !== "BOOKMARK"),
        );
        if (end !== -1)
          resourceVersion = stringAt(recordAt(events[end]?.object, "metadata"), "resourceVersion");
        return end !== -1;
      });
    } catch (error) {
      if (error instanceof KubeError) throw error;
    }
    if (resourceVersion === undefined)
      throw networkError({ method: "GET", path }, "list response ended early");
    return resourceVersion;
  }

  async #listInPages(
    selection: ListOptions,
    onEvents: (events: readonly WatchEvent[]) => Promise<void>,
  ): Promise<string> {
    let [limit, next]: [number, string | undefined] = [pages.first, undefined];
    for (;;) {
      const { page, bytes } = await readPage(limit, (count) =>
        this.#page(selection, { limit: String(count), continue: next }),
      );
      const [metadata, items] = [recordAt(page, "metadata"), listAt(page, "items")];
      await onEvents(items.map((object) => ({ type: "ADDED", object })));
      next = stringAt(metadata, "continue");
      if (next === undefined || next === "") return stringAt(metadata, "resourceVersion") ?? "";
      limit = nextLimit(limit, items.length, bytes);
    }
  }

  async #page(
    selection: ListOptions,
    parameters: Readonly<Record<"limit" | "continue", string | undefined>>,
  ): Promise<{ readonly page: unknown; readonly bytes: number }> {
    const call: ApiRequest = {
      method: "GET",
      path: listPath(selection, parameters),
      accept: acceptOf(selection, "List"),
    };
    const answer = await this.#transport.request(call);
    return { page: bodyOf(call, answer), bytes: answer.text.length };
  }

  #stream(
    request: WatchRequest,
    onEvents: (events: readonly WatchEvent[]) => Promise<boolean>,
  ): Promise<void> {
    return streamEvents(request, onEvents, {
      transport: this.#transport,
      clock: this.#clock,
      limits: this.#limits,
    });
  }
}

/** The bookmark after the last object of a list (Kubernetes API concepts, "Streaming lists"). */
function isInitialEventsEnd({ type, object }: WatchEvent): boolean {
  return (
    type === "BOOKMARK" &&
    stringMapAt(recordAt(object, "metadata"), "annotations")["k8s.io/initial-events-end"] === "true"
  );
}

/** Adapts the page size to the size of the objects; it grows at most eightfold at a time. */
function nextLimit(limit: number, items: number, bytes: number): number {
  const fitting = Math.floor((pages.bytes * items) / Math.max(bytes, 1));
  return Math.max(1, Math.min(fitting, limit * 8, pages.most));
}
