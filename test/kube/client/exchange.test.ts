import { createServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { Pool } from "undici";
import { exchange, type LargeResponses } from "../../../src/kube/client/exchange.ts";
import { FairShares } from "../../../src/runtime/fair-shares.ts";
import { eventually } from "../../support/eventually.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { type EndlessBody, mostBuffered, writeEndlessly } from "../../support/endless-body.ts";
import { endServer, KeptSockets, listenLocally } from "../../support/local-server.ts";
import { settled, TestClock } from "../../support/test-clock.ts";
import { type ReceivedRequest, startPeer } from "../socket-peer.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A peer with a single connection to it. */
async function over(
  onRequest?: (arrival: ReceivedRequest) => void,
  { connections = 1, large }: { connections?: number; large?: LargeResponses } = {},
) {
  const peer = await startPeer(onRequest);
  const pool = new Pool(peer.url, { connections, pipelining: 1 });
  const clock = new TestClock();
  closing.push(
    () => peer.close(),
    () => pool.destroy(),
  );
  const send = (path: string, onWrite = (): void => {}) =>
    exchange(
      pool,
      { method: "GET", path, headers: {}, body: null },
      { clock, allowedMs: 1_000, mostBytes: 1_000, large, onWrite },
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

describe("a response", () => {
  const tooLarge = "the response is larger than 1000 bytes";

  test("without an end is not read beyond its bound, and its connection is closed", async () => {
    const bodies: EndlessBody[] = [];
    const { send } = await over(({ url, answer }) =>
      url === "/endless" ? void bodies.push(writeEndlessly(answer, "x")) : void answer.end("ok"),
    );
    await expect(send("/endless")).rejects.toThrow(tooLarge);
    await bodies[0]?.closed;
    expect(bodies[0]?.written()).toBeLessThan(mostBuffered);
    expect(await send("/next")).toMatchObject({ text: "ok" });
  });

  test("that says to be too long ends at its head", async () => {
    const { peer, send } = await over(({ answer }) =>
      answer.writeHead(200, { "content-length": "1000000000000" }).flushHeaders(),
    );
    await expect(send("/")).rejects.toThrow(tooLarge);
    await new Promise((resolve) => peer.arrivals[0]?.socket.once("close", resolve));
  });

  test.each([["with", { "content-length": "1000" }] as const, ["without", {}] as const])(
    "of exactly its bound is read %s a length",
    async (_what, headers) => {
      const { send } = await over(({ answer }) =>
        answer.writeHead(200, headers).end("x".repeat(1000)),
      );
      expect((await send("/")).text).toHaveLength(1000);
    },
  );

  test("that trickles ends when its time is over, whatever arrives", async () => {
    const { peer, clock, send } = await over();
    const end = send("/").catch((error: unknown) => error);
    await peer.arrived(1);
    const closed = new Promise((resolve) => peer.arrivals[0]?.socket.once("close", resolve));
    for (let part = 0; part < 10; part += 1) {
      peer.arrivals[0]?.answer.write("x");
      await clock.run(100);
    }
    expect(await end).toMatchObject({ message: "the response is late" });
    await closed;
  });

  test("takes no more memory than its bytes, whatever the framing around them", async () => {
    const sockets = new KeptSockets();
    const parts = 900;
    // Each byte of the body comes with 60 kB that are none of it (RFC 9112, section 7.1.1).
    const part = `1;${"x".repeat(60_000)}\r\na\r\n`;
    const { promise: allSent, resolve: onSent } = Promise.withResolvers<void>();
    const server = createServer((socket) => {
      sockets.keep(socket);
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        socket.write(part.repeat(parts), () => onSent());
      });
    });
    const pool = new Pool(`http://127.0.0.1:${await listenLocally(server)}`);
    closing.push(
      () => endServer(server, sockets),
      () => pool.destroy(),
    );
    const response = exchange(
      pool,
      { method: "GET", path: "/", headers: {}, body: null },
      { clock: new TestClock(), allowedMs: 1_000, mostBytes: 1_000, onWrite: () => {} },
    );
    await allSent;
    // What is still on its way is in memory, too.
    const isSmall = async (): Promise<boolean> => {
      await collectGarbage();
      return process.memoryUsage().arrayBuffers < 30_000_000;
    };
    await eventually(isSmall, { what: "the framing to be out of memory" });
    for (const socket of sockets) socket.write("0\r\n\r\n");
    expect((await response).text).toHaveLength(parts);
  });
});

describe("large responses", () => {
  const many = "x".repeat(200);

  /** Two large responses, of which the first one has not ended; the second one is all there. */
  async function two() {
    const shares = new FairShares({ all: 1 });
    const large = { fromBytes: 100, shares, sharer: { user: "peer", key: "" } };
    const setup = await over(undefined, { connections: 3, large });
    const { peer, send } = setup;
    const done: string[] = [];
    const note = (path: string) =>
      send(path).then(
        () => void done.push(path),
        () => void done.push(`${path} failed`),
      );
    const first = note("/first");
    await peer.arrived(1);
    peer.arrivals[0]?.answer.write(many);
    while (shares.used < 1) await settled();
    const second = note("/second");
    await peer.arrived(2);
    peer.arrivals[1]?.answer.end(many);
    while (shares.waiting < 1) await settled();
    return { ...setup, shares, done, first, second };
  }

  test("are read one after another, and a small one at once", async () => {
    const { peer, send, done, first, second } = await two();
    const small = send("/small");
    await peer.arrived(3);
    peer.arrivals[2]?.answer.end("x".repeat(100));
    expect(await small).toMatchObject({ status: 200 });
    expect(done).toEqual([]);
    peer.arrivals[0]?.answer.end();
    await Promise.all([first, second]);
    expect(done).toEqual(["/first", "/second"]);
  });

  test("that end while they wait give no slot back", async () => {
    const { peer, shares, send, done, first, second } = await two();
    const third = send("/third").catch(() => void done.push("/third failed"));
    await peer.arrived(3);
    peer.arrivals[2]?.answer.write(many);
    while (shares.waiting < 2) await settled();
    peer.arrivals[2]?.socket.resetAndDestroy();
    await third;
    await settled();
    expect([done, shares.waiting]).toEqual([["/third failed"], 1]);
    peer.arrivals[0]?.answer.end();
    await Promise.all([first, second]);
    expect(done).toEqual(["/third failed", "/first", "/second"]);
  });

  test("give their slot back when they are late", async () => {
    const { peer, send, clock, done, first, second } = await two();
    clock.advance(1_000);
    await Promise.all([first, second]);
    expect(done).toEqual(["/first failed", "/second failed"]);
    const third = send("/third");
    await peer.arrived(3);
    peer.arrivals[2]?.answer.end(many);
    expect(await third).toMatchObject({ text: many });
  });
});

test("that follows 16 informational responses arrives, and fails for more of them", async () => {
  const { send, peer } = await over(({ url, answer }) => {
    for (let sent = 0; sent < Number(url.slice(1)); sent += 1) answer.writeProcessing();
    answer.end("done");
  });
  expect(await send("/16")).toMatchObject({ status: 200, text: "done" });
  await expect(send("/17")).rejects.toThrow("more than 16 informational responses");
  expect(peer.arrivals).toHaveLength(2);
});
