import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { Exchange } from "../../src/runtime/exchange.ts";
import { answerOk, type FrontFixture, startFront } from "./front-fixture.ts";
import { type RawConnection, rawConnection } from "../support/raw-client.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface Setup {
  readonly front: FrontFixture;
  readonly connection: RawConnection;
  readonly exchange: Exchange;
}

/** Sends bytes, and hands over the exchange that they begin. */
async function received(bytes: string): Promise<Setup> {
  const front = await startFront({ onExchange() {} });
  const connection = await rawConnection(front);
  closing.push(
    () => front.close(),
    () => connection.destroy(),
  );
  connection.write(bytes);
  await connection.until(() => front.exchanges.length > 0);
  const [exchange] = front.exchanges;
  if (exchange === undefined) throw new Error("nothing arrived");
  return { front, connection, exchange };
}

const get = "GET /a?b HTTP/1.1\r\nHost: gateway\r\nX-A: 1\r\nx-a: \u00fc\r\n\r\n";
const post = (fields = "") =>
  `POST /a HTTP/1.1\r\nHost: gateway\r\nContent-Length: 5\r\n${fields}\r\n`;

describe("an exchange over HTTP/1.1", () => {
  it("has the head that was sent, with values as bytes", async () => {
    const { exchange } = await received(get);
    expect(exchange.head).toEqual({
      method: "GET",
      target: "/a?b",
      httpVersion: "1.1",
      isUpgrade: false,
      rawHeaders: ["host", "gateway", "x-a", "1", "x-a", "\u00fc"],
      peerAddress: "127.0.0.1",
    });
  });

  it("answers with exactly the fields that it is given", async () => {
    const { connection, exchange } = await received(get);
    exchange.respond(200, ["content-length", "3", "x-a", "1", "x-a", "\u00fc"]);
    exchange.write("ok\n");
    exchange.end();
    const { text } = await connection.until((answer) => answer.text.endsWith("ok\n"));
    expect(text).toBe(
      "HTTP/1.1 200 OK\r\ncontent-length: 3\r\nx-a: 1\r\nx-a: \u00fc\r\nConnection: keep-alive\r\nKeep-Alive: timeout=120\r\n\r\nok\n",
    );
  });

  it("sends head and body in one piece if it has both", async () => {
    const { connection, exchange } = await received(get);
    const pieces: string[] = [];
    connection.socket.on("data", (piece) => pieces.push(piece.toString()));
    answerOk(exchange);
    await connection.until(({ text }) => text.endsWith("ok\n"));
    expect(pieces).toHaveLength(1);
  });

  it("sends the head of its answer at once, before any of its body", async () => {
    const { connection, exchange } = await received(get);
    exchange.respond(200, []);
    const { statuses } = await connection.until((answer) => answer.statuses.length > 0);
    expect(statuses).toEqual([200]);
  });

  it("asks for a body once it is accepted, if its client waits for that", async () => {
    const { connection, exchange } = await received(post("Expect: 100-continue\r\n"));
    await pause(30);
    expect([connection.answer().statuses, exchange.isBodyCut()]).toEqual([[], true]);
    exchange.acceptBody();
    await connection.until(({ statuses }) => statuses.length > 0);
    connection.write("hello");
    const body = await new Promise<string>((resolve) =>
      exchange.body.once("data", (bytes: Buffer) => resolve(bytes.toString())),
    );
    await pause(20);
    expect([connection.answer().statuses, body, exchange.isBodyCut()]).toEqual([
      ...[[100], "hello", false],
    ]);
  });

  it("asks for nothing that its client does not wait for", async () => {
    const { connection, exchange } = await received(post());
    exchange.acceptBody();
    answerOk(exchange);
    const { statuses } = await connection.until(({ isClosed }) => isClosed);
    expect(statuses).toEqual([200]);
  });

  it("keeps the connection when the body has arrived, and closes it otherwise", async () => {
    const whole = await received(`${post()}hello`);
    await pause(10);
    answerOk(whole.exchange);
    const kept = await whole.connection.until(({ statuses }) => statuses.length > 0);
    expect(kept.text).toMatch(/connection: keep-alive/i);
    const part = await received(`${post()}he`);
    answerOk(part.exchange);
    const closed = await part.connection.until(({ isClosed }) => isClosed);
    expect([closed.isClosed, /connection: close/i.test(closed.text)]).toEqual([true, true]);
  });

  it("does not look whole when it is aborted", async () => {
    const { connection, exchange } = await received(get);
    exchange.respond(200, []);
    exchange.write("{");
    await connection.until(({ text }) => text.includes("{"));
    exchange.abort();
    const { text } = await connection.until(({ isClosed }) => isClosed);
    expect(text).toMatch(/Transfer-Encoding: chunked\r\n\r\n1\r\n\{\r\n$/);
  });

  it("says when its client is slow, and when it is ready again", async () => {
    const { connection, exchange } = await received(get);
    connection.socket.pause();
    let drains = 0;
    exchange.onDrain(() => (drains += 1));
    exchange.respond(200, []);
    let written = 0;
    while (exchange.write(Buffer.alloc(65_536)) || written < 20_000_000) written += 65_536;
    expect(drains).toBe(0);
    connection.socket.resume();
    await connection.until(() => drains > 0);
    expect(drains).toBe(1);
  });

  it("is over when its answer was sent, or its client left, and says so at once to a late listener", async () => {
    const [answered, left] = [await received(get), await received(get)];
    const over: string[] = [];
    answered.exchange.onClose(() => over.push("answered"));
    left.exchange.onClose(() => over.push("left"));
    answerOk(answered.exchange);
    await answered.connection.until(() => over.length === 1);
    left.connection.destroy();
    await left.connection.until(() => over.length === 2);
    expect(over).toEqual(["answered", "left"]);
    left.exchange.onClose(() => over.push("late"));
    expect(over).toEqual(["answered", "left", "late"]);
  });

  it("bears what is written behind its end", async () => {
    const { connection, exchange } = await received(get);
    answerOk(exchange);
    exchange.write("more");
    exchange.end();
    const { text } = await connection.until((answer) => answer.text.endsWith("ok\n"));
    await pause(30);
    expect([text.endsWith("\r\n\r\nok\n"), connection.answer().isClosed]).toEqual([true, false]);
  });

  it("bears all that comes too late", async () => {
    const { connection, exchange } = await received(`${post()}he`);
    answerOk(exchange);
    exchange.write("more");
    exchange.end();
    connection.destroy();
    await pause(30);
    exchange.acceptBody();
    exchange.write("more");
    exchange.end();
    exchange.abort();
    await pause(30);
    expect([exchange.hasResponded, exchange.isBodyCut()]).toEqual([true, true]);
  });
});
