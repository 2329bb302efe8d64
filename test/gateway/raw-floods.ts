import { setTimeout as pause } from "node:timers/promises";
import type { FrontWay } from "../support/front-ways.ts";
import {
  frame,
  headers,
  type RawSession,
  rawSession,
  reset,
  windowUpdate,
} from "../support/raw-http2.ts";
import { requestFieldsOf } from "./raw-frames.ts";

/** What a client of HTTP/2 sends to keep a server busy, instead of requests. */
export interface FloodRow {
  readonly name: string;
  /** The same bytes, or those of one stream. */
  readonly part: (stream: number) => Buffer;
}

const most = 5_000;

/** Floods that end their session. */
export function floodRows(way: Pick<FrontWay, "prefix" | "alice">): readonly FloodRow[] {
  const request = requestFieldsOf(way)();
  return [
    { name: "PING", part: () => frame("ping", { payload: Buffer.alloc(8) }) },
    { name: "SETTINGS", part: () => frame("settings", {}) },
    {
      name: "requests that the client resets (CVE-2023-44487)",
      part: (stream) => Buffer.concat([headers(stream, request), reset(stream)]),
    },
    {
      name: "requests that the client makes the server reset (CVE-2025-8671)",
      part: (stream) => Buffer.concat([headers(stream, request), windowUpdate(stream, 0)]),
    },
  ];
}

/** Sends at most 5,000 parts, and returns the session once it is closed or after 10 seconds. */
export async function flooded(
  server: Parameters<typeof rawSession>[0],
  { part }: FloodRow,
): Promise<RawSession> {
  const session = await rawSession(server);
  for (let count = 0; count < most && !session.isClosed(); count += 1) {
    session.write(part(2 * count + 1));
    if (count % 50 === 0) await pause(1);
  }
  await session.until(() => session.isClosed());
  return session;
}
