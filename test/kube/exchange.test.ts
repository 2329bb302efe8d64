import { afterEach, expect, test } from "vitest";
import { Pool } from "undici";
import { exchange } from "../../src/kube/exchange.ts";
import { settled, TestClock } from "../support/test-clock.ts";
import { type ReceivedRequest, startPeer } from "./socket-peer.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A peer with a single connection to it. */
async function over(onRequest?: (arrival: ReceivedRequest) => void) {
  const peer = await startPeer(onRequest);
  const pool = new Pool(peer.url, { connections: 1, pipelining: 1 });
  const clock = new TestClock();
  closing.push(
    () => peer.close(),
    () => pool.destroy(),
  );
  const send = (path: string, onWrite = (): void => {}) =>
    exchange(
      pool,
      { method: "GET", path, headers: {}, body: null },
      { clock, allowedMs: 1_000, onWrite },
    );
  return { peer, clock, send };
}

test("collects a response that arrives in parts, cut within a character", async () => {
  const text = Buffer.from("a€b");
  const { send } = await over(({ answer }) => {
    answer.writeHead(429, { "retry-after": "7" });
    answer.write(text.subarray(0, 2));
    setImmediate(() => answer.end(text.subarray(2)));
  });
  expect(await send("/")).toEqual({ status: 429, retryAfter: "7", text: "a€b" });
});

test("has an empty text without a body", async () => {
  const { send } = await over(({ answer }) => void answer.writeHead(204).end());
  expect(await send("/")).toEqual({ status: 204, retryAfter: undefined, text: "" });
});

test("that is late while it waits for a connection is never sent, and the next one is", async () => {
  const { peer, clock, send } = await over();
  const [first, second] = [send("/first"), send("/second")];
  const ends = Promise.allSettled([first, second]);
  await peer.arrived(1);
  clock.advance(1_000);
  expect(await ends).toMatchObject([
    { status: "rejected", reason: { message: "the response is late" } },
    { status: "rejected", reason: { message: "the response is late" } },
  ]);
  const third = send("/third");
  await peer.arrived(2);
  peer.arrivals[1]?.answer.end("ok");
  expect(await third).toMatchObject({ status: 200, text: "ok" });
  expect(peer.arrivals.map(({ url }) => url)).toEqual(["/first", "/third"]);
});

test("that may not be written when it gets a connection is not sent", async () => {
  const { peer, clock, send } = await over();
  const first = send("/first");
  let isAllowed = true;
  const second = send("/second", () => {
    if (!isAllowed) throw new Error("not the leader");
  });
  const ends = Promise.allSettled([first, second]);
  await peer.arrived(1);
  isAllowed = false;
  peer.arrivals[0]?.answer.end("ok");
  expect(await ends).toMatchObject([
    { status: "fulfilled" },
    { status: "rejected", reason: { message: "not the leader" } },
  ]);
  await settled();
  expect(peer.arrivals).toHaveLength(1);
  clock.advance(10_000);
});
