import type { ObjectRef } from "../api/object.ts";
import { listAt, recordAt, stringAt, stringMapAt } from "../api/parse.ts";
import type { Clock } from "../runtime/clock.ts";
import { bodyOf } from "./responses.ts";
import { isKubeError, KubeError } from "./errors.ts";
import { watchGraceMs } from "./freshness.ts";
import { acceptOf, type ListOptions, listPath } from "./list-request.ts";
import { objectPath } from "./paths.ts";
import type { ApiRequest, Transport } from "./transport.ts";
import { streamEvents, type WatchEvent, type WatchRequest } from "./watch-stream.ts";

/** Where a watch begins, and how long it may last. */
export interface WatchStart {
  readonly resourceVersion: string;
  readonly timeoutSeconds: number;
  /** Longest wait, in milliseconds, for the API server to begin to answer. */
  readonly openMs: number;
  readonly signal: AbortSignal;
  /** Told when the API server has begun to answer. */
  readonly onOpen: () => void;
}

/** List, watch and read for an informer. All throw a KubeError; `Gone` requires a new list. */
export interface ListWatch {
  /**
   * Delivers every object as an event, in batches, each after the previous one is handled; resolves
   * to the resourceVersion of the list. Changes meanwhile may follow as events.
   */
  list(
    selection: ListOptions,
    signal: AbortSignal,
    onEvents: (events: readonly WatchEvent[]) => Promise<void>,
  ): Promise<string>;
  /** Hands over events in batches until the server ends the watch or it falls silent. */
  watch(
    selection: ListOptions,
    from: WatchStart,
    onEvents: (events: readonly WatchEvent[]) => void,
  ): Promise<void>;
  /** Reads one object as the selection shows it; undefined when it does not exist. */
  get(selection: ListOptions, ref: ObjectRef): Promise<unknown>;
}

/** A list that brings nothing for so long has lost its connection. */
const listSilenceMs = 30_000;
/** No list takes longer; the API server ends it. */
const listSeconds = 3_600;

/** Objects of a page: few at first, then as many as make up some 2 MB. */
const pages = { first: 16, most: 500, bytes: 2_000_000 } as const;

/** Lists and watches over a transport. */
export function createListWatch(transport: Transport, clock: Clock): ListWatch {
  return new TransportListWatch(transport, clock);
}

class TransportListWatch implements ListWatch {
  readonly #transport: Transport;
  readonly #clock: Clock;
  /** Unknown until the API server has refused or answered. */
  #streamsLists = true;

  constructor(transport: Transport, clock: Clock) {
    this.#transport = transport;
    this.#clock = clock;
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
        // Nothing was handed over: the refusal is the whole answer.
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
    // A half-open connection says nothing, and a slow one may say a little for ever.
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
      // An aborted or broken stream ends the watch; the informer resumes where it was.
    }
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
      // A 404 without the name comes while the resource is not served, and says nothing about any
      // object.
      if (isKubeError(error, "NotFound") && error.objectName === ref.name) return undefined;
      throw error;
    }
  }

  /**
   * A watch that begins with every object (Kubernetes API concepts, "Streaming lists"): no answer
   * is larger than one object.
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
      throw new KubeError(`GET ${path}: list response ended early`, { code: "Network", status: 0 });
    return resourceVersion;
  }

  async #listInPages(
    selection: ListOptions,
    onEvents: (events: readonly WatchEvent[]) => Promise<void>,
  ): Promise<string> {
    let [limit, next]: [number, string | undefined] = [pages.first, undefined];
    for (;;) {
      const call: ApiRequest = {
        method: "GET",
        path: listPath(selection, { limit: String(limit), continue: next }),
        accept: acceptOf(selection, "List"),
      };
      const answer = await this.#transport.request(call);
      const page = bodyOf(call, answer);
      const [metadata, items] = [recordAt(page, "metadata"), listAt(page, "items")];
      await onEvents(items.map((object) => ({ type: "ADDED", object })));
      next = stringAt(metadata, "continue");
      if (next === undefined || next === "") return stringAt(metadata, "resourceVersion") ?? "";
      limit = nextLimit(limit, items.length, answer.text.length);
    }
  }

  #stream(
    request: WatchRequest,
    onEvents: (events: readonly WatchEvent[]) => Promise<boolean>,
  ): Promise<void> {
    return streamEvents(request, onEvents, { transport: this.#transport, clock: this.#clock });
  }
}

/** The bookmark after the last object of a list (Kubernetes API concepts, "Streaming lists"). */
function isInitialEventsEnd({ type, object }: WatchEvent): boolean {
  return (
    type === "BOOKMARK" &&
    stringMapAt(recordAt(object, "metadata"), "annotations")["k8s.io/initial-events-end"] === "true"
  );
}

/** Pages grow and shrink with what their objects weigh, at most eightfold at a time. */
function nextLimit(limit: number, items: number, bytes: number): number {
  const fitting = Math.floor((pages.bytes * items) / Math.max(bytes, 1));
  return Math.max(1, Math.min(fitting, limit * 8, pages.most));
}
