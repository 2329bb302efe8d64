import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { Exchange } from "../../src/runtime/exchange.ts";
import {
  answerOk,
  type FrontFixture,
  type FrontFixtureOptions,
  startFront,
} from "./front-fixture.ts";
import { type RawConnection, rawConnection } from "../support/raw-client.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function started(
  options: FrontFixtureOptions = {},
): Promise<{ readonly front: FrontFixture; readonly connection: RawConnection }> {
  const front = await startFront(options);
  const connection = await rawConnection(front);
  closing.push(
    () => front.close(),
    () => connection.destroy(),
  );
  return { front, connection };
}

const get = "GET / HTTP/1.1\r\nHost: gateway\r\n\r\n";
const upgrade =
  "GET / HTTP/1.1\r\nHost: gateway\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

describe("a connection", () => {
  it.each([
    ["no handshake", Buffer.alloc(0)],
    ["half a handshake", Buffer.from("1603010200010001fc0303", "hex")],
  ])("with %s ends after the time for a handshake", async (_what, sent) => {
    const front = await startFront({ limits: { handshakeMs: 200 } });
    closing.push(() => front.close());
    const socket = connect(front.port, "127.0.0.1");
    const began = performance.now();
    socket.on("error", () => {}).resume();
    socket.write(sent);
    await new Promise((resolve) => socket.once("close", resolve));
    expect(performance.now() - began).toBeGreaterThan(150);
  });

  it.each([
    ["without a request", ""],
    ["with half a head", "GET / HTTP/1.1\r\nHost: gateway\r\n"],
  ])("%s ends with 408 after the time for a head", async (_what, sent) => {
    const { connection } = await started({ limits: { headMs: 200 } });
    connection.write(sent);
    const answer = await connection.until(({ isClosed }) => isClosed);
    expect([answer.statuses, answer.isClosed]).toEqual([[408], true]);
  });

  it("with a head that arrives byte by byte ends with 408, too", async () => {
    const { front, connection } = await started({ limits: { headMs: 200 } });
    for (let at = 0; at < 200 && !connection.answer().isClosed; at += 1) {
      connection.write(at === 0 ? "GET / HTTP/1.1\r\nHost: gateway\r\nX: " : "a");
      await pause(10);
    }
    expect([connection.answer().statuses, front.exchanges.length]).toEqual([[408], 0]);
  });

  it("that is idle ends", async () => {
    const { connection } = await started({ limits: { idleMs: 200 } });
    connection.write(get);
    const answer = await connection.until(({ isClosed }) => isClosed);
    expect([answer.statuses, answer.isClosed]).toEqual([[200], true]);
  });

  it("that was upgraded is never idle", async () => {
    const { front, connection } = await started({ limits: { idleMs: 100, headMs: 100 } });
    connection.write(get);
    await connection.until(({ statuses }) => statuses.length > 0);
    connection.write(upgrade);
    await connection.until(({ isClosed }) => isClosed, 2_500);
    expect([front.upgrades.length, connection.answer().isClosed]).toEqual([1, false]);
  });

  it("that was upgraded behind an answer that is still read is never idle", async () => {
    const answerMuch = (exchange: Exchange): void => {
      exchange.respond(200, ["content-length", "20000000"]);
      exchange.write(Buffer.alloc(20_000_000));
      exchange.end();
    };
    const options = { limits: { idleMs: 100 }, onExchange: answerMuch };
    const { front, connection } = await started(options);
    connection.socket.pause();
    connection.write(get + upgrade);
    await connection.until(() => front.upgrades.length > 0);
    connection.socket.resume();
    await connection.until(({ text }) => text.length > 20_000_000);
    await connection.until(({ isClosed }) => isClosed, 2_500);
    expect([front.upgrades.length, connection.answer().isClosed]).toEqual([1, false]);
  });
});

describe("the requests of a connection", () => {
  const inOrder = (): { readonly waiting: Exchange[]; readonly options: FrontFixtureOptions } => {
    const waiting: Exchange[] = [];
    return { waiting, options: { onExchange: (exchange) => void waiting.push(exchange) } };
  };

  it("are handled one after the other", async () => {
    const { waiting, options } = inOrder();
    const { connection } = await started(options);
    connection.write(get.repeat(3));
    for (let count = 1; count <= 3; count += 1) {
      await connection.until(() => waiting.length >= count);
      await connection.until(() => waiting.length > count, 20);
      expect(waiting).toHaveLength(count);
      const [exchange] = waiting.slice(-1);
      if (exchange !== undefined) answerOk(exchange);
    }
    const answer = await connection.until(({ statuses }) => statuses.length === 3);
    expect([answer.statuses, answer.isClosed]).toEqual([[200, 200, 200], false]);
  });

  it("are not handled behind one whose end is in doubt", async () => {
    const { front, connection } = await started({
      onExchange(exchange) {
        exchange.closeAfterResponse();
        answerOk(exchange);
      },
    });
    connection.write(get.repeat(3));
    const answer = await connection.until(({ isClosed }) => isClosed);
    expect([answer.statuses, answer.isClosed, front.exchanges.length]).toEqual([[200], true, 1]);
  });

  it("are not handled behind a body that was not read", async () => {
    const { front, connection } = await started();
    connection.write("POST / HTTP/1.1\r\nHost: gateway\r\nContent-Length: 9\r\n\r\nhello");
    const answer = await connection.until(({ isClosed }) => isClosed);
    connection.write(`rest${get}`);
    expect([answer.statuses, answer.isClosed, front.exchanges.length]).toEqual([[200], true, 1]);
    expect(answer.text).toMatch(/^connection: close/im);
  });

  it("end the connection when nine of them wait for an answer", async () => {
    const { waiting, options } = inOrder();
    const { connection } = await started(options);
    connection.write(get.repeat(9));
    await connection.until(({ isClosed }) => isClosed, 50);
    expect(connection.answer().isClosed).toBe(false);
    connection.write(get);
    await connection.until(({ isClosed }) => isClosed);
    expect([connection.answer().isClosed, waiting.length]).toEqual([true, 1]);
  });

  it("end the connection if one of them is an upgrade that waits for no answer", async () => {
    const { waiting, options } = inOrder();
    const { front, connection } = await started(options);
    connection.write(get + upgrade);
    await connection.until(({ isClosed }) => isClosed);
    expect([connection.answer().isClosed, waiting.length, front.upgrades.length]).toEqual([
      ...[true, 1, 0],
    ]);
  });
});
