import { connect, type ClientHttp2Session } from "node:http2";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { Exchange } from "../../src/runtime/exchange.ts";
import { answerOk, type FrontFixture, startFront } from "./front-fixture.ts";
import { data, headers, type RawSession, rawSession, windowUpdate } from "../support/raw-http2.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface Setup {
  readonly front: FrontFixture;
  readonly session: RawSession;
  readonly exchange: Exchange;
}

const head = (others: readonly (readonly [string, string])[] = [], method = "GET") =>
  [
    [":method", method],
    [":scheme", "https"],
    [":authority", "gateway"],
    [":path", "/a?b"],
    ...others,
  ] as const;

/** Sends frames, and hands over the exchange that they begin. */
async function received(
  frames: readonly Buffer[] = [headers(1, head())],
  settings: readonly number[] = [],
): Promise<Setup> {
  const front = await startFront({ onExchange() {} });
  const session = await rawSession(front, { settings });
  closing.push(
    () => front.close(),
    () => session.destroy(),
  );
  session.write(...frames);
  await session.until(() => front.exchanges.length > 0);
  const [exchange] = front.exchanges;
  if (exchange === undefined) throw new Error("nothing arrived");
  return { front, session, exchange };
}

const open = 4;

describe("an exchange over HTTP/2", () => {
  it("has the head that was sent, pseudo-headers apart", async () => {
    const fields = [
      ["x-a", "1"],
      ["x-a", "\u00fc"],
    ] as const;
    const { exchange } = await received([headers(1, head(fields))]);
    expect(exchange.head).toEqual({
      method: "GET",
      target: "/a?b",
      httpVersion: "2",
      authority: "gateway",
      isUpgrade: false,
      endsAfterHead: true,
      peerAddress: "127.0.0.1",
      rawHeaders: ["x-a", "1", "x-a", "\u00fc"],
    });
  });

  it("has no target and no method that was not sent", async () => {
    const connectHead = [
      [":method", "CONNECT"],
      [":authority", "api:6443"],
    ] as const;
    const { exchange } = await received([headers(1, connectHead, open)]);
    expect([exchange.head.method, exchange.head.target]).toEqual(["CONNECT", ""]);
    expect(exchange.head.endsAfterHead).toBe(false);
  });

  it("answers with exactly the fields that it is given, whatever their names", async () => {
    const { front, exchange } = await received();
    answerOk(exchange);
    const client: ClientHttp2Session = connect(`https://127.0.0.1:${front.port}`, { ca: front.ca });
    closing.push(() => client.destroy());
    const stream = client.request({ ":path": "/" });
    const found = new Promise<readonly string[]>((resolve) =>
      stream.on("response", (_headers, _flags, raw: readonly string[]) => resolve(raw)),
    );
    while (front.exchanges.length < 2) await pause(2);
    const sent = ["constructor", "1", "warning", "a", "warning", "b", "x-a", "\u00fc"];
    front.exchanges[1]?.respond(200, sent);
    front.exchanges[1]?.end();
    const raw = await found;
    expect(raw.slice(0, 10)).toEqual([":status", "200", ...sent]);
  });

  it("asks for a body once it is accepted, if its client waits for that", async () => {
    const { session, exchange } = await received([
      headers(1, head([["expect", "100-continue"]], "POST"), open),
    ]);
    await pause(20);
    expect(session.stream(1).statuses).toEqual([]);
    exchange.acceptBody();
    await session.until(() => session.stream(1).statuses.length > 0);
    session.write(data(1, "hello"));
    const body = await new Promise<string>((resolve) =>
      exchange.body.once("data", (bytes: Buffer) => resolve(bytes.toString())),
    );
    await pause(20);
    expect([session.stream(1).statuses[0], body, exchange.isBodyCut()]).toEqual([
      ...[100, "hello", false],
    ]);
  });

  it("asks for nothing that its client does not wait for", async () => {
    const { session, exchange } = await received([headers(1, head([], "POST"), open)]);
    exchange.acceptBody();
    answerOk(exchange);
    await session.until(() => session.stream(1).isWhole);
    expect(session.stream(1).statuses).toEqual([200]);
  });

  it.each([
    ["that reads", []],
    ["that reads nothing", [4, 0]],
  ])("does not look whole when it is aborted, to a client %s", async (_what, settings) => {
    const { session, exchange } = await received([headers(1, head())], settings);
    exchange.respond(200, []);
    exchange.write("{");
    await session.until(() => session.stream(1).status !== undefined);
    let isOver = false;
    exchange.onClose(() => (isOver = true));
    exchange.abort();
    await session.until(() => session.stream(1).resetCode !== undefined && isOver);
    expect([session.stream(1).isWhole, session.stream(1).resetCode, isOver]).toEqual([
      false,
      8,
      true,
    ]);
  });

  it("says when its client is slow, and when it is ready again", async () => {
    const { session, exchange } = await received();
    let drains = 0;
    exchange.onDrain(() => (drains += 1));
    exchange.respond(200, []);
    while (exchange.write(Buffer.alloc(65_536)));
    await pause(20);
    expect(drains).toBe(0);
    session.write(windowUpdate(0, 1_000_000), windowUpdate(1, 1_000_000));
    await session.until(() => drains > 0);
    expect(drains).toBe(1);
  });

  it("is over when its client has left, and says so at once to a late listener", async () => {
    const { session, exchange } = await received();
    const over: string[] = [];
    exchange.onClose(() => over.push("left"));
    session.destroy();
    await session.until(() => over.length > 0);
    exchange.onClose(() => over.push("late"));
    expect(over).toEqual(["left", "late"]);
  });

  it("bears all that comes too late", async () => {
    const { session, exchange } = await received([headers(1, head([], "POST"), open)]);
    session.destroy();
    let isOver = false;
    exchange.onClose(() => (isOver = true));
    await session.until(() => isOver);
    exchange.acceptBody();
    exchange.respond(200, []);
    exchange.write("more");
    exchange.end();
    exchange.abort();
    await pause(30);
    expect(isOver).toBe(true);
  });
});
