import type { ObjectRef } from "../api/object.ts";
import { listAt, recordAt, stringAt, stringMapAt } from "../api/parse.ts";
import type { Resource } from "../api/resources.ts";
import type { Clock } from "../runtime/clock.ts";
import { bodyOf, watchError } from "./responses.ts";
import { isKubeError, KubeError } from "./errors.ts";
import { watchGraceMs } from "./freshness.ts";
import { collectionPath, objectPath, withQuery } from "./paths.ts";
import type { ApiRequest, StreamingResponse, Transport } from "./transport.ts";

/** Which objects an informer follows. */
export interface ListOptions {
  readonly resource: Resource;
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Asks for metadata alone (`as=PartialObjectMetadata`). */
  readonly metadataOnly?: boolean;
}

/** One line of a watch (Kubernetes API concepts, "Efficient detection of changes"). */
export interface WatchEvent {
  readonly type: string;
  readonly object: unknown;
}

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

/**
 * What the API server offers to an informer. Everything throws a KubeError; `Gone` asks for a new
 * list.
 */
export interface ListWatch {
  /**
   * Hands over every object as an event, batch after batch, the next one when the last is done
   * with; resolves to the list's resourceVersion. What changes meanwhile may follow as events of
   * its own.
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
  /** Unknown until the API server has refused or answered. */
  let streamsLists = true;
  return {
    async list(selection, signal, onEvents) {
      if (streamsLists) {
        try {
          return await listAsStream(selection, signal, onEvents);
        } catch (error) {
          // Nothing was handed over: the refusal is the whole answer.
          if (!isKubeError(error, "Invalid", "BadRequest")) throw error;
          streamsLists = false;
        }
      }
      return await listInPages(selection, onEvents);
    },
    async watch(selection, { resourceVersion, timeoutSeconds, openMs, signal, onOpen }, onEvents) {
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
        await stream(
          selection,
          parameters,
          { signal, openMs, silentMs: longestMs, longestMs, onOpen },
          async (events) => {
            onEvents(events);
            return false;
          },
        );
      } catch (error) {
        if (error instanceof KubeError) throw error;
        // An aborted or broken stream ends the watch; the informer resumes where it was.
      }
    },
    async get(selection, ref) {
      const call: ApiRequest = {
        method: "GET",
        path: objectPath(selection.resource, ref),
        accept: acceptOf(selection, ""),
      };
      try {
        return bodyOf(call, await transport.request(call));
      } catch (error) {
        // A 404 without the name comes while the resource is not served, and says nothing about any
        // object.
        if (isKubeError(error, "NotFound") && error.objectName === ref.name) return undefined;
        throw error;
      }
    },
  };

  /**
   * A watch that begins with every object (Kubernetes API concepts, "Streaming lists"): no answer
   * is larger than one object.
   */
  async function listAsStream(
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
    const limits = {
      signal,
      openMs: listSilenceMs,
      silentMs: listSilenceMs,
      longestMs: listSeconds * 1000,
    };
    let resourceVersion: string | undefined;
    const path = listPath(selection, {});
    try {
      await stream(selection, parameters, limits, async (events) => {
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

  async function listInPages(
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
      const answer = await transport.request(call);
      const page = bodyOf(call, answer);
      const [metadata, items] = [recordAt(page, "metadata"), listAt(page, "items")];
      await onEvents(items.map((object) => ({ type: "ADDED", object })));
      next = stringAt(metadata, "continue");
      if (next === undefined || next === "") return stringAt(metadata, "resourceVersion") ?? "";
      limit = nextLimit(limit, items.length, answer.text.length);
    }
  }

  /** Hands over the events of a watch until `onEvents` answers true or the watch ends. */
  async function stream(
    selection: ListOptions,
    parameters: Readonly<Record<string, string>>,
    limits: StreamLimits,
    onEvents: (events: readonly WatchEvent[]) => Promise<boolean>,
  ): Promise<void> {
    const { signal, openMs, silentMs, longestMs, onOpen } = limits;
    const ended = new AbortController();
    const stop = (): void => ended.abort();
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    const call: ApiRequest = {
      method: "GET",
      path: listPath(selection, parameters),
      accept: acceptOf(selection, ""),
      signal: ended.signal,
    };
    let cancelSilence = clock.wakeAfter(openMs, stop);
    const cancelEnd = clock.wakeAfter(longestMs, stop);
    const heard = (): void => {
      cancelSilence();
      cancelSilence = clock.wakeAfter(silentMs, stop);
    };
    try {
      const answer = await transport.stream(call);
      if (answer.status !== 200) throw await refusalOf(call, answer);
      heard();
      onOpen?.();
      for await (const lines of splitLines(answer.chunks)) {
        if (await onEvents(lines.map((line) => parseEvent(call, line)))) return;
        heard();
      }
    } finally {
      cancelSilence();
      cancelEnd();
      signal.removeEventListener("abort", stop);
      ended.abort();
    }
  }
}

/** What ends a stream that does not end by itself. */
interface StreamLimits {
  readonly signal: AbortSignal;
  readonly openMs: number;
  readonly silentMs: number;
  readonly longestMs: number;
  readonly onOpen?: () => void;
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

/**
 * Whole lines of a byte stream, in the batches in which they arrive; a long line is put together
 * once.
 */
export async function* splitLines(
  chunks: StreamingResponse["chunks"],
): AsyncGenerator<readonly string[]> {
  let parts: Uint8Array[] = [];
  for await (const chunk of chunks) {
    const end = chunk.lastIndexOf(0x0a);
    if (end === -1) {
      parts.push(chunk);
      continue;
    }
    const bytes = Buffer.concat([...parts, chunk.subarray(0, end)]);
    parts = end + 1 < chunk.length ? [chunk.subarray(end + 1)] : [];
    yield bytes.toString("utf8").split("\n");
  }
}

function parseEvent(call: ApiRequest, line: string): WatchEvent {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch {
    throw new KubeError(`${call.method} ${call.path}: watch event is not JSON`, {
      code: "Network",
      status: 0,
    });
  }
  const type = stringAt(event, "type") ?? "";
  const object = recordAt(event, "object");
  if (type === "ERROR") throw watchError(call, object);
  return { type, object };
}

async function refusalOf(
  call: ApiRequest,
  { status, chunks }: StreamingResponse,
): Promise<unknown> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  try {
    bodyOf(call, { status, text: Buffer.concat(parts).toString("utf8") });
  } catch (error) {
    return error;
  }
  return new KubeError(`${call.method} ${call.path}: status ${status} instead of a watch`, {
    code: "Network",
    status,
  });
}

function listPath(
  selection: ListOptions,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const { labelSelector, fieldSelector } = selection;
  return withQuery(collectionPath(selection.resource, selection.namespace), {
    labelSelector,
    fieldSelector,
    ...parameters,
  });
}

function acceptOf({ metadataOnly }: ListOptions, suffix: "List" | ""): string {
  return metadataOnly === true
    ? `application/json;as=PartialObjectMetadata${suffix};g=meta.k8s.io;v=v1`
    : "application/json";
}
