import { afterEach, describe, expect, it } from "vitest";
import { type FrontFixture, type FrontFixtureOptions, startFront } from "./front-fixture.ts";
import {
  data,
  flags,
  frame,
  headerBlock,
  headers,
  type RawSession,
  type RawSessionOptions,
  rawSession,
  reset,
  windowUpdate,
} from "../support/raw-http2.ts";
import { settled, TestClock } from "../support/test-clock.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function started(
  options: FrontFixtureOptions = {},
  sessionOptions: RawSessionOptions = {},
): Promise<{ readonly front: FrontFixture; readonly session: RawSession }> {
  const front = await startFront(options);
  const session = await rawSession(front, sessionOptions);
  closing.push(
    () => front.close(),
    () => session.destroy(),
  );
  await session.until(() => session.frames().length > 1);
  return { front, session };
}

const get = [
  [":method", "GET"],
  [":scheme", "https"],
  [":authority", "gateway"],
  [":path", "/"],
] as const;

const ping = frame("ping", { payload: Buffer.alloc(8) });
const settings = frame("settings", {});
const waits = { onExchange() {} };

describe("an HTTP/2 session", () => {
  it.each([
    ["without a request", []],
    ["with half a head", [frame("headers", { stream: 1, payload: headerBlock(get) })]],
    ["that only pings", [ping, ping]],
  ])("%s ends after 30 seconds", async (_what, frames) => {
    const clock = new TestClock();
    const { session } = await started({ clock });
    session.write(...frames);
    await settled();
    await clock.run(29_999);
    await session.until(() => session.isClosed(), 50);
    expect(session.isClosed()).toBe(false);
    await clock.run(1);
    await session.until(() => session.isClosed());
    expect(session.isClosed()).toBe(true);
  });

  it("ends 120 seconds after its last answer, although its client pings", async () => {
    const clock = new TestClock();
    const { session } = await started({ clock });
    session.write(headers(1, get));
    await session.until(() => session.stream(1).isWhole);
    await clock.run(119_000);
    session.write(ping);
    await session.until(() => session.frames().some(({ type }) => type === 6));
    expect(session.isClosed()).toBe(false);
    await clock.run(1_000);
    await session.until(() => session.goawayCode() !== undefined);
    await clock.run(2_000);
    await session.until(() => session.isClosed());
    expect([session.goawayCode(), session.isClosed()]).toEqual([0, true]);
  });

  it("that ended is closed, although its client keeps the connection", async () => {
    const clock = new TestClock();
    const { front, session } = await started({ clock });
    session.write(headers(1, get));
    await session.until(() => session.stream(1).isWhole);
    await clock.run(122_000);
    await session.until(() => session.isClosed());
    await session.until(() => clock.pending > 0);
    expect(front.server.load().all).toBe(1);
    await clock.run(2_000);
    await session.until(() => front.server.load().all === 0);
    expect([front.server.load().all, clock.pending]).toEqual([0, 0]);
  });

  it("with a request under way stays, however long it takes", async () => {
    const clock = new TestClock();
    const { front, session } = await started({ clock, ...waits });
    session.write(headers(1, get));
    await session.until(() => front.exchanges.length > 0);
    await clock.run(86_400_000);
    expect([clock.pending, session.isClosed()]).toEqual([0, false]);
  });

  it("leaves no timer behind", async () => {
    const clock = new TestClock();
    const { session } = await started({ clock });
    session.write(headers(1, get), ping);
    await session.until(() => session.stream(1).isWhole);
    session.destroy();
    await session.until(() => clock.pending === 0);
    expect(clock.pending).toBe(0);
  });

  it("has at most 250 requests at a time, and ends with one more", async () => {
    const { front, session } = await started(waits);
    for (let stream = 1; stream <= 501; stream += 2) session.write(headers(stream, get));
    await session.until(() => session.isClosed());
    expect([front.exchanges.length, session.goawayCode()]).toEqual([250, 1]);
  });

  it("refuses the 251st request of a client that may not know the limit", async () => {
    const { front, session } = await started(waits, { acknowledges: false });
    for (let stream = 1; stream <= 501; stream += 2) session.write(headers(stream, get));
    await session.until(() => session.stream(501).resetCode !== undefined);
    expect([front.exchanges.length, session.stream(501).resetCode]).toEqual([250, 7]);
    front.exchanges[0]?.respond(204, []);
    await session.until(() => session.stream(1).isWhole);
    session.write(headers(503, get));
    await session.until(() => front.exchanges.length > 250);
    expect(front.exchanges).toHaveLength(251);
  });

  it.each([
    ["PING", ping],
    ["SETTINGS", settings],
  ])("ends with the 101st %s in 10 seconds", async (_what, sent) => {
    const clock = new TestClock();
    const { session } = await started({ clock });
    session.write(...Array.from({ length: 90 }, () => sent));
    await session.until(() => session.frames().length > 91);
    await clock.run(10_000);
    session.write(...Array.from({ length: 90 }, () => sent));
    await session.until(() => session.frames().length > 181);
    expect([session.frames().length > 181, session.isClosed()]).toEqual([true, false]);
    session.write(...Array.from({ length: 11 }, () => sent));
    await session.until(() => session.isClosed());
    expect(session.isClosed()).toBe(true);
  });

  it("ends when its client resets more than 250 requests at once (CVE-2023-44487)", async () => {
    const { front, session } = await started();
    // All at once: the limit recovers by the second, and a machine may be slow.
    for (let stream = 1; stream < 600; stream += 2)
      session.write(headers(stream, get), reset(stream));
    await session.until(() => session.isClosed());
    expect(session.isClosed()).toBe(true);
    expect(front.exchanges.length).toBeGreaterThanOrEqual(249);
  });

  it("ends when its client makes the server reset its requests (CVE-2025-8671)", async () => {
    const { front, session } = await started(waits);
    for (let stream = 1; stream < 8_000; stream += 2)
      session.write(headers(stream, get), windowUpdate(stream, 0));
    await session.until(() => session.isClosed());
    expect(session.isClosed()).toBe(true);
    expect(front.exchanges.length).toBeLessThan(1_500);
  });

  it("knows its client's address, also when it breaks with the request", async () => {
    const { front, session } = await started(waits);
    session.write(headers(1, get), windowUpdate(0, 0));
    await session.until(() => session.isClosed());
    await settled();
    expect(front.exchanges.map(({ head }) => head.peerAddress)).toEqual(
      front.exchanges.map(() => "127.0.0.1"),
    );
  });
});

describe("a request over HTTP/2", () => {
  it.each([true, false])(
    "has at most 32 KiB of fields, also if its client acknowledges settings: %s",
    async (acknowledges) => {
      const { front, session } = await started({}, { acknowledges });
      const [big, more] = ["a".repeat(16_000), "a".repeat(1_000)];
      session.write(
        frame("headers", { stream: 1, flags: 1, payload: headerBlock(get) }),
        frame("continuation", { stream: 1, payload: headerBlock([["x-big", big]]) }),
        frame("continuation", { stream: 1, payload: headerBlock([["x-bigger", big]]) }),
        frame("continuation", {
          stream: 1,
          flags: flags.endHeaders,
          payload: headerBlock([["x-more", more]]),
        }),
      );
      await session.until(() => session.stream(1).resetCode !== undefined);
      expect([session.stream(1).resetCode, front.exchanges.length]).toEqual([11, 0]);
    },
  );

  it.each([
    [200, 200],
    [201, undefined],
  ])("with %i fields gets the status %s", async (count, status) => {
    const { session } = await started();
    const fields = Array.from({ length: count }, (_, index) => [`x-${index}`, "a"] as const);
    session.write(headers(1, [...get, ...fields]));
    await session.until(
      () => session.stream(1).isWhole || session.stream(1).resetCode !== undefined,
    );
    expect(session.stream(1).status).toBe(status);
  });

  it("whose body is not read to its end is over with its whole answer", async () => {
    const { front, session } = await started({
      onExchange(exchange) {
        exchange.body.once("data", () => {
          exchange.respond(408, []);
          exchange.write(Buffer.alloc(1_000_000));
          exchange.end();
        });
      },
    });
    session.write(headers(1, [...get.slice(1), [":method", "POST"]], flags.endHeaders));
    session.write(data(1, "a part", 0));
    await session.until(() => session.stream(1).body.length >= 65_535);
    let isOver = false;
    front.exchanges[0]?.onClose(() => (isOver = true));
    session.write(windowUpdate(0, 1_000_000), windowUpdate(1, 1_000_000));
    await session.until(() => isOver && session.stream(1).resetCode !== undefined);
    const { status, body, isWhole, resetCode } = session.stream(1);
    expect([isOver, status, body.length, isWhole, resetCode]).toEqual([
      ...[true, 408, 1_000_000, true, 0],
    ]);
  });

  it("that was sent whole is not reset with its answer", async () => {
    const { session } = await started();
    session.write(headers(1, get));
    session.write(headers(3, [...get.slice(1), [":method", "POST"]], flags.endHeaders));
    session.write(data(3, "body"));
    await session.until(() => session.stream(1).isWhole && session.stream(3).isWhole);
    await session.until(() => false, 20);
    expect([session.stream(1).resetCode, session.stream(1).isWhole]).toEqual([undefined, true]);
    expect([session.stream(3).isWhole]).toEqual([true]);
  });

  it("carries values as bytes, and any name of a field in its answer", async () => {
    const { front, session } = await started({
      onExchange(exchange) {
        exchange.respond(200, ["constructor", "a", "warning", "b", "warning", "c"]);
        exchange.end();
      },
    });
    session.write(headers(1, [...get, ["user-agent", "\u00fc\u00ff"]]));
    await session.until(() => session.stream(1).isWhole);
    expect(front.exchanges[0]?.head.rawHeaders).toEqual(["user-agent", "\u00fc\u00ff"]);
    const [head] = session.frames().filter(({ type }) => type === 1);
    expect(head?.payload.toString("latin1")).not.toContain("native code");
    expect(session.stream(1).status).toBe(200);
  });
});

it("an unread answer to a request whose body goes on is reset when it is displaced", async () => {
  const { session } = await started({ limits: { unread: 1 } }, { settings: [4, 0] });
  const post = get.map(([name, value]) => [name, name === ":method" ? "POST" : value] as const);
  for (const stream of [1, 3]) {
    session.write(headers(stream, post, flags.endHeaders), data(stream, "a", 0));
    await session.until(() => session.stream(stream).status !== undefined);
  }
  await session.until(() => session.stream(1).resetCode !== undefined);
  expect(session.stream(1).resetCode).toBeDefined();
  // The server would be busy with empty frames of the stream for ever.
  session.write(windowUpdate(3, 1_000), windowUpdate(0, 1_000), ping);
  await session.until(() => session.stream(3).isWhole);
  expect(session.stream(3).isWhole).toBe(true);
});
