import type { IncomingMessage, ServerResponse } from "node:http";
import { isRecord, listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import type { WatchLine } from "./open-watch.ts";

/** A complete response to the controller. */
export interface ProxyAnswer {
  readonly status: number;
  readonly text: string;
  readonly retryAfter?: number;
}

/** The annotation of the bookmark that ends the initial events of a streamed list. */
export const initialEventsEnd = "k8s.io/initial-events-end";

/** A list in the form of a streaming list. */
export function streamOf(list: unknown): string {
  const { resourceVersion } = recordAt(list, "metadata");
  const end = {
    type: "BOOKMARK",
    object: { metadata: { resourceVersion, annotations: { [initialEventsEnd]: "true" } } },
  };
  const lines = [...listAt(list, "items").map((object) => ({ type: "ADDED", object })), end];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

/** Whether undici supports the method. */
export function isMethod(method: string): method is (typeof methods)[number] {
  return methods.some((known) => known === method);
}

const passed = ["authorization", "accept", "content-type", "user-agent"];

/** The request headers that are forwarded to the API server; those of impersonation are. */
export function passedHeaders({ headersDistinct }: IncomingMessage): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(headersDistinct).filter(
      (entry): entry is [string, string[]] =>
        entry[1] !== undefined &&
        (passed.includes(entry[0]) || entry[0].startsWith("impersonate-")),
    ),
  );
}

/** The body of a request. */
export async function textOf(incoming: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString("utf8");
}

/** Sends a complete response. */
export function reply(outgoing: ServerResponse, { status, text, retryAfter }: ProxyAnswer): void {
  outgoing.writeHead(status, {
    "content-type": "application/json",
    ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }),
  });
  outgoing.end(text);
}

/** Reads one line of a watch. */
export function parseLine(line: string): WatchLine {
  const parsed: unknown = JSON.parse(line);
  return {
    type: stringAt(parsed, "type") ?? "",
    object: isRecord(parsed) ? parsed.object : undefined,
  };
}
