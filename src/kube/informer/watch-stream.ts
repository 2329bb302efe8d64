import { excessIn, type JsonBounds } from "../../api/bounded-json.ts";
import { keyOf } from "../../api/object.ts";
import { recordAt, stringAt } from "../../api/parse.ts";
import { ByteCollector } from "../../runtime/byte-collector.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { TimeShare } from "../../runtime/time-share.ts";
import { KubeError } from "../client/kube-error.ts";
import { acceptOf, type ListOptions, listPath } from "./list-options.ts";
import type { ObjectHead } from "./raw-object.ts";
import { parseJson, statusError, watchError } from "../client/response-body.ts";
import type { ApiRequest, StreamingResponse, Transport } from "../client/transport.ts";

/** One line of a watch (Kubernetes API concepts, "Efficient detection of changes"). */
export interface WatchEvent {
  readonly type: string;
  readonly object: unknown;
  /** Of an added or modified object, if the line shows it without being parsed. */
  readonly head?: ObjectHead | undefined;
}

/** Dependencies of {@link streamEvents}. */
interface WatchStreamDeps {
  readonly transport: Pick<Transport, "stream">;
  readonly clock: Clock;
  /** For an API server that others run. */
  readonly limits?: WatchLimits | undefined;
}

/** Limits for the events of an API server that others run. */
export interface WatchLimits {
  /** Of one event. */
  readonly event: JsonBounds & { readonly bytes: number };
  /** For the time that reading and parsing them takes; the watch waits when it is used up. */
  readonly share: TimeShare;
}

/** Parameters of a watch, and the signal that ends it. */
export interface WatchRequest {
  readonly selection: ListOptions;
  readonly parameters: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Maximum time until the API server opens the watch, in milliseconds. */
  readonly openMs: number;
  /** Maximum time without data, in milliseconds. */
  readonly silentMs: number;
  /** Maximum time from the request to the end, in milliseconds. */
  readonly longestMs: number;
  /** Called when the API server has opened the watch. */
  readonly onOpen?: () => void;
}

/** Delivers the events of a watch until `onEvents` returns true or the watch ends. */
export async function streamEvents(
  { selection, parameters, signal, openMs, silentMs, longestMs, onOpen }: WatchRequest,
  onEvents: (events: readonly WatchEvent[]) => Promise<boolean>,
  { transport, clock, limits }: WatchStreamDeps,
): Promise<void> {
  const ended = new AbortController();
  const stop = (): void => ended.abort(new Error("the response is late"));
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
    if (!("chunks" in answer)) throw statusError(call, answer);
    heard();
    onOpen?.();
    const parse = parserOf(call, limits);
    const pace = limits && { share: limits.share, signal: ended.signal };
    for await (const lines of splitLines(answer.chunks, limits?.event.bytes, pace)) {
      if (await onEvents(lines.map((line) => eventOf(line, parse)))) return;
      heard();
    }
  } finally {
    cancelSilence();
    cancelEnd();
    signal.removeEventListener("abort", stop);
    ended.abort();
  }
}

/**
 * Maximum size of one event. etcd takes at most 1.5 MiB of an object (`--max-request-bytes`), and
 * JSON has six bytes for a character such as `<`.
 */
const mostLineBytes = 16 * 1024 * 1024;

/**
 * Splits a byte stream into whole lines, in the batches in which they arrive. Throws a KubeError
 * `Network` for a line that has not ended after the maximum of bytes.
 */
export async function* splitLines(
  chunks: StreamingResponse["chunks"],
  mostBytes = mostLineBytes,
  pace?: ReadingPace,
): AsyncGenerator<readonly string[]> {
  const begun = new ByteCollector(mostBytes);
  for await (const chunk of chunks) {
    const split = (): readonly string[] => linesOf(begun, chunk);
    const lines = pace === undefined ? split() : pace.share.timed(split);
    if (lines.length > 0) yield lines;
    pace?.share.spend(chunkMs);
    await pace?.share.caughtUp(pace.signal);
    if (!begun.add(chunk.subarray(chunk.lastIndexOf(lineEnd) + 1)))
      throw badEvent(`is larger than ${mostBytes} bytes`);
  }
}

/** How fast a stream is read. */
interface ReadingPace {
  readonly share: TimeShare;
  /** Ends a pause. */
  readonly signal: AbortSignal;
}

/** What undici and the stream take for a chunk, which may have a single byte. */
const chunkMs = 0.02;
const lineEnd = 0x0a;

function linesOf(begun: ByteCollector, chunk: Uint8Array): readonly string[] {
  const end = chunk.lastIndexOf(lineEnd);
  if (end === -1) return [];
  const bytes = Buffer.concat([begun.take(), chunk.subarray(0, end)]);
  return bytes.toString("utf8").split("\n");
}

function badEvent(problem: string): KubeError {
  return new KubeError(`an event of the watch ${problem}`, { code: "Network", status: 0 });
}

type Parse = (line: string) => WatchEvent;

function parserOf(call: ApiRequest, limits: WatchLimits | undefined): Parse {
  if (limits === undefined) return (line) => parseEvent(call, line);
  return (line) =>
    limits.share.timed(() => {
      const excess = excessIn(line, limits.event);
      if (excess !== undefined) throw badEvent(`has ${excess}`);
      return parseEvent(call, line);
    });
}

/** Parses a line; one that shows the head of its object only when its object is read. */
function eventOf(line: string, parse: Parse): WatchEvent {
  const head = headOf(line);
  if (head === undefined) return parse(line);
  let parsed: WatchEvent | undefined;
  const event = (): WatchEvent => (parsed ??= parse(line));
  return {
    head,
    get type() {
      return event().type;
    },
    get object() {
      return event().object;
    },
  };
}

/**
 * Kinds that are compiled into the API server have these fields in this order, and none of these
 * values can need an escape in JSON.
 */
const lineStart = new RegExp(
  [
    /^\{"type":"(?:ADDED|MODIFIED)","object":\{"kind":"\w+","apiVersion":"[\w./]+",/,
    /"metadata":\{"name":"([\w.:-]+)",(?:"namespace":"([\w-]+)",)?/,
    /"uid":"([\w-]+)","resourceVersion":"(\d+)"[,}]/,
  ]
    .map(({ source }) => source)
    .join(""),
);

function headOf(line: string): ObjectHead | undefined {
  const [, name, namespace, uid, resourceVersion] = lineStart.exec(line) ?? [];
  if (name === undefined || uid === undefined || resourceVersion === undefined) return undefined;
  const key = keyOf(namespace === undefined ? { name } : { namespace, name });
  return { key, uid, resourceVersion };
}

function parseEvent(call: ApiRequest, line: string): WatchEvent {
  const event = parseJson(call, line, "watch event");
  const type = stringAt(event, "type");
  if (type === undefined) throw badEvent("has no type");
  const object = recordAt(event, "object");
  if (type === "ERROR") throw watchError(call, object);
  return { type, object };
}
