import { listAt, recordAt, stringAt } from "../api/parse.ts";
import type { Resource } from "../api/resources.ts";
import type { Clock } from "../runtime/clock.ts";
import { bodyOf, watchError } from "./answers.ts";
import { KubeError } from "./errors.ts";
import { watchGraceMs } from "./freshness.ts";
import { collectionPath, withQuery } from "./paths.ts";
import type { Call, StreamedAnswer, Transport } from "./transport.ts";

/** Which objects an informer follows. */
export interface Selection {
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

/** A part of a list; all parts are of one resourceVersion. */
export interface ListPage {
  readonly items: readonly unknown[];
  readonly resourceVersion: string;
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

/** What the API server offers to an informer. Both throw a KubeError; `Gone` asks for a new list. */
export interface ListWatch {
  /** Hands over page after page, the next one when the last is done with. */
  list(selection: Selection, onPage: (page: ListPage) => Promise<void>): Promise<void>;
  /** Hands over events in batches until the server ends the watch or it falls silent. */
  watch(selection: Selection, from: WatchStart, onEvents: (events: readonly WatchEvent[]) => void): Promise<void>;
}

const pageSize = "500";

/** Twice the interval of bookmarks and some: a watch this silent has lost its connection. */
const silenceMs = 150_000;

/** Lists page by page and watches with bookmarks over a transport. */
export function createListWatch(transport: Transport, clock: Clock): ListWatch {
  return {
    async list(selection, onPage) {
      let next: string | undefined;
      for (;;) {
        const call: Call = { method: "GET", path: listPath(selection, { limit: pageSize, continue: next }), accept: acceptOf(selection, "List") };
        const page = bodyOf(call, await transport.request(call));
        const metadata = recordAt(page, "metadata");
        await onPage({ items: listAt(page, "items"), resourceVersion: stringAt(metadata, "resourceVersion") ?? "" });
        next = stringAt(metadata, "continue");
        if (next === undefined || next === "") return;
      }
    },
    async watch(selection, { resourceVersion, timeoutSeconds, openMs, signal, onOpen }, onEvents) {
      if (signal.aborted) return;
      const ended = new AbortController();
      const stop = (): void => ended.abort();
      signal.addEventListener("abort", stop, { once: true });
      const parameters = { watch: "1", allowWatchBookmarks: "true", resourceVersion, timeoutSeconds: String(timeoutSeconds) };
      const call: Call = { method: "GET", path: listPath(selection, parameters), accept: acceptOf(selection, ""), signal: ended.signal };
      let cancelSilence = clock.wakeAfter(openMs, stop);
      // A half-open connection says nothing, and a slow one may say a little for ever.
      const cancelEnd = clock.wakeAfter(timeoutSeconds * 1000 + watchGraceMs, stop);
      const heard = (): void => {
        cancelSilence();
        cancelSilence = clock.wakeAfter(silenceMs, stop);
      };
      try {
        const answer = await transport.stream(call);
        if (answer.status !== 200) throw await refusalOf(call, answer);
        heard();
        onOpen();
        for await (const lines of splitLines(answer.chunks)) {
          heard();
          onEvents(lines.map((line) => parseEvent(call, line)));
        }
      } catch (error) {
        if (error instanceof KubeError) throw error;
        // An aborted or broken stream ends the watch; the informer resumes where it was.
      } finally {
        cancelSilence();
        cancelEnd();
        signal.removeEventListener("abort", stop);
        ended.abort();
      }
    },
  };
}

/** Whole lines of a byte stream, in the batches in which they arrive. */
export async function* splitLines(chunks: StreamedAnswer["chunks"]): AsyncGenerator<readonly string[]> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    const end = bytes.lastIndexOf(0x0a);
    if (end === -1) {
      rest = bytes;
      continue;
    }
    rest = bytes.subarray(end + 1);
    yield bytes.toString("utf8", 0, end).split("\n");
  }
}

function parseEvent(call: Call, line: string): WatchEvent {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch {
    throw new KubeError(`${call.method} ${call.path}: a watch event is not JSON`, { code: "Network", status: 0 });
  }
  const type = stringAt(event, "type") ?? "";
  const object = recordAt(event, "object");
  if (type === "ERROR") throw watchError(call, object);
  return { type, object };
}

async function refusalOf(call: Call, { status, chunks }: StreamedAnswer): Promise<unknown> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  try {
    bodyOf(call, { status, text: Buffer.concat(parts).toString("utf8") });
  } catch (error) {
    return error;
  }
  return new KubeError(`${call.method} ${call.path}: ${status} is no watch`, { code: "Network", status });
}

function listPath(selection: Selection, parameters: Readonly<Record<string, string | undefined>>): string {
  const { labelSelector, fieldSelector } = selection;
  return withQuery(collectionPath(selection.resource, selection.namespace), { labelSelector, fieldSelector, ...parameters });
}

function acceptOf({ metadataOnly }: Selection, suffix: "List" | ""): string {
  return metadataOnly === true ? `application/json;as=PartialObjectMetadata${suffix};g=meta.k8s.io;v=v1` : "application/json";
}
