import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { afterEach, describe, expect, test } from "vitest";
import type { Exchange } from "../../src/runtime/exchange.ts";
import { type FrontServer, startFrontServer } from "../../src/runtime/front-server.ts";
import { newWebhookCertificates, tlsOf } from "../../src/tokens/webhook-certificates.ts";
import { eventually } from "../support/eventually.ts";
import { TestClock } from "../support/test-clock.ts";

const made = await newWebhookCertificates({
  dnsNames: ["localhost"],
  clientName: "unused",
  now: Date.now(),
});
const limits = { idleMs: 60_000, firstStreamMs: 30_000 };
const clock = new TestClock();
let server: FrontServer;
let session: ClientHttp2Session;
let exchanges: Exchange[] = [];

async function connected(): Promise<void> {
  exchanges = [];
  server = await startFrontServer({
    ...{ host: "127.0.0.1", port: 0, tls: tlsOf(made), clock, limits },
    onExchange: (exchange) => void exchanges.push(exchange),
    onUpgrade: () => {},
    isUpgrade: () => false,
  });
  session = connect(`https://localhost:${server.port}`, { ca: made.ca.certificate });
  session.on("error", () => {});
  await once(session, "remoteSettings");
}

async function requested(): Promise<Exchange> {
  const before = exchanges.length;
  session.request({ ":path": "/" }).resume();
  await eventually(() => exchanges.length > before, { what: "the request to arrive" });
  const [exchange] = exchanges.slice(before);
  if (exchange === undefined) throw new Error("no exchange");
  return exchange;
}

const closed = () =>
  eventually(() => session.destroyed && server.connections() === 0, {
    what: "the session to end",
  });

/** Answers a request, and waits until both sides know that it is over. */
async function answer(exchange: Exchange): Promise<void> {
  const over = Promise.withResolvers<void>();
  exchange.onClose(over.resolve);
  exchange.respond(200, []);
  exchange.end();
  await over.promise;
}

/** Waits for an answer to a ping: whatever the server sent before has arrived. */
async function isOpen(): Promise<boolean> {
  await new Promise((resolve) => session.ping(resolve));
  return !session.closed && !session.destroyed;
}

afterEach(async () => {
  session.destroy();
  const drained = server.drain(1);
  clock.advance(1);
  await drained;
});

describe("an HTTP/2 session", () => {
  test("ends when its first request does not come in time", async () => {
    await connected();
    clock.advance(limits.firstStreamMs - 1);
    expect(await isOpen()).toBe(true);
    clock.advance(1);
    expect(await closed()).toBe(true);
  });

  test("ends when no request follows for the idle time, whatever pings come", async () => {
    await connected();
    await answer(await requested());
    clock.advance(limits.idleMs - 1);
    expect(await isOpen()).toBe(true);
    clock.advance(1);
    expect(await closed()).toBe(true);
  });

  test("stays open while a request is in progress, however long that takes", async () => {
    await connected();
    const first = await requested();
    const second = await requested();
    await answer(first);
    clock.advance(10 * limits.idleMs);
    expect(await isOpen()).toBe(true);
    await answer(second);
    clock.advance(limits.idleMs);
    expect(await closed()).toBe(true);
  });
});

test("a session that ended before its requests leaves no timer behind", async () => {
  await connected();
  const over = Promise.withResolvers<void>();
  (await requested()).onClose(over.resolve);
  session.destroy();
  await over.promise;
  await eventually(() => server.connections() === 0, { what: "the session to end" });
  expect(clock.pending).toBe(0);
});
