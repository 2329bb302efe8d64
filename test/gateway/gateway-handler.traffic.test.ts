import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { frontWays, requestTextOf, type WayFixture } from "../support/front-ways.ts";
import {
  aliceKey,
  type GatewayFixture,
  managementPath,
  startGateway,
} from "../support/gateway-fixture.ts";
import { rawConnection, requestText as gatewayText } from "../support/raw-client.ts";
import {
  data,
  flags,
  frame,
  headers,
  rawSession,
  type RawSession,
  type StreamEnd,
  reset,
  windowUpdate,
} from "../support/raw-http2.ts";
import { TestClock } from "../support/test-clock.ts";
import { answerText, respondOk } from "../support/upstream-recorder.ts";
import { flooded, floodRows } from "./raw-floods.ts";
import { requestFieldsOf } from "./raw-frames.ts";
import { bodyBytes } from "./gateway-deps.ts";

const sharedSecrets = `/apis/${apiVersion}/namespaces/web/sharedsecrets`;
const big = Buffer.alloc(4 * 1024 * 1024, " ");

describe.each(frontWays)("through the $name", (way) => {
  const requestText = requestTextOf(way);
  const requestFields = requestFieldsOf(way);
  let gateway: WayFixture;
  beforeAll(async () => {
    gateway = await way.start();
  });
  beforeEach(() => {
    gateway.recorder.forget();
    gateway.recorder.respond = respondOk;
    gateway.recorder.onHead = () => {};
    gateway.restore();
  });
  afterAll(() => gateway.close());

  const inFlight = () =>
    Object.values(gateway.inFlight.counts()).reduce((sum, count) => sum + count, 0);
  const watchPath = "/api/v1/pods?watch=1";
  const begun =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
  const event = '{"type":"ADDED"}\n';

  function ask(session: RawSession, path: string, stream = 1): void {
    session.write(headers(stream, requestFields([], { path: way.prefix + path })));
  }

  describe("an answer that the API server breaks off", () => {
    it.each([
      ["its length", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"],
      ["its last chunk", begun + chunk("{")],
    ])("before %s does not look whole over HTTP/1.1", async (_what, bytes) => {
      gateway.recorder.respond = (_request, socket) => void socket.end(bytes);
      const connection = await rawConnection(gateway);
      connection.write(requestText("GET /api"));
      const answer = await connection.until(({ isClosed }) => isClosed);
      expect([answer.statuses, answer.isClosed]).toEqual([[200], true]);
      expect(answer.text).toMatch(/content-length: 100|transfer-encoding: chunked/i);
      expect(answer.text).not.toContain("\r\n0\r\n\r\n");
      expect(inFlight()).toBe(0);
    });

    it.each([
      ["its length", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"],
      ["its last chunk", begun + chunk("{")],
    ])("before %s does not look whole over HTTP/2", async (_what, bytes) => {
      gateway.recorder.respond = (_request, socket) => void socket.end(bytes);
      const session = await rawSession(gateway);
      ask(session, "/api");
      await session.until(() => session.stream(1).resetCode !== undefined);
      const { status, isWhole, resetCode } = session.stream(1);
      expect([status, isWhole, resetCode]).toEqual([200, false, 8]);
      expect([inFlight(), session.isClosed()]).toEqual([0, false]);
      session.destroy();
    });
  });

  describe("a watch without events", () => {
    it("has the head of its answer at once, over both protocols", async () => {
      gateway.recorder.respond = (_request, socket) => void socket.write(begun);
      const [connection, session] = [await rawConnection(gateway), await rawSession(gateway)];
      connection.write(requestText(`GET ${watchPath}`));
      ask(session, watchPath);
      const { statuses } = await connection.until((answer) => answer.statuses.length > 0);
      await session.until(() => session.stream(1).status !== undefined);
      expect([statuses, session.stream(1).status]).toEqual([[200], 200]);
      connection.destroy();
      session.destroy();
      await session.until(() => inFlight() === 0);
    });
  });

  describe("a request that is cut over HTTP/2", () => {
    const cut = async (text: string): Promise<RawSession> => {
      gateway.recorder.respond = (_request, socket) => void socket.write(begun + chunk(text));
      const session = await rawSession(gateway);
      ask(session, watchPath);
      await session.until(() => session.stream(1).body.length === text.length);
      gateway.revoke();
      await session.until(() => inFlight() === 0);
      const isOver = ({ isWhole, resetCode }: StreamEnd) => isWhole || resetCode !== undefined;
      await session.until(() => isOver(session.stream(1)));
      session.destroy();
      return session;
    };

    it("ends a watch between two lines with an ERROR event", async () => {
      const { body, isWhole } = (await cut(event)).stream(1);
      expect([isWhole, body.toString().split("\n")[1]]).toEqual([
        ...[true, expect.stringContaining('"code":401')],
      ]);
    });

    it("resets a watch inside a line, which does not look whole", async () => {
      const { body, isWhole, resetCode } = (await cut('{"type":')).stream(1);
      expect([isWhole, body.toString(), resetCode]).toEqual([false, '{"type":', 8]);
    });

    it("ends for a client that reads nothing, too", async () => {
      gateway.recorder.respond = (_request, socket) =>
        void socket.write(begun + chunk(`${"a".repeat(1_000_000)}\n`));
      const session = await rawSession(gateway, { settings: [4, 0] });
      ask(session, watchPath);
      await session.until(() => inFlight() === 1 && gateway.recorder.requests.length === 1);
      await pause(50);
      gateway.revoke();
      await session.until(() => inFlight() === 0);
      const [connection] = gateway.recorder.requests.map((request) => request.connection);
      await session.until(() => connection?.isClosed() === true);
      expect([inFlight(), connection?.isClosed()]).toEqual([0, true]);
      session.destroy();
    });
  });

  describe("a body", () => {
    it("of a kind that the way does not complete passes as it is, and nothing of it is kept", async () => {
      const connection = await rawConnection(gateway);
      const fields = ["Content-Type: application/json", `Content-Length: ${big.length}`];
      let kept = 0;
      gateway.recorder.onHead = () => void (kept = Math.max(kept, bodyBytes(gateway.bodies)));
      connection.write(requestText("POST /api/v1/namespaces/web/configmaps", fields));
      connection.write(big);
      const { statuses } = await connection.until((answer) => answer.statuses.length > 0);
      const [request] = gateway.recorder.requests;
      expect([statuses, kept, request?.body.equals(big)]).toEqual([[200], 0, true]);
      connection.destroy();
    });

    it("that the API server refuses in its middle has its answer, over both protocols", async () => {
      gateway.recorder.onHead = ({ target }, socket) =>
        void (target === "/early" && socket.end(answerText(403, "{}\n", ["Connection: close"])));
      const connection = await rawConnection(gateway);
      connection.write(requestText("POST /early", ["Content-Length: 100"], "{"));
      const answer = await connection.until(({ isClosed }) => isClosed);
      const session = await rawSession(gateway);
      session.write(
        headers(1, requestFields([], { method: "POST", path: `${way.prefix}/early` }), 4),
        data(1, "{", 0),
      );
      await session.until(() => session.stream(1).isWhole && inFlight() === 0);
      expect([answer.statuses, session.stream(1).status, inFlight()]).toEqual([[403], 403, 0]);
      session.destroy();
    });
  });

  describe("an answer that its client resets while it waits for the client's window", () => {
    it.each([
      ["CANCEL", 8],
      ["NO_ERROR", 0],
    ])("with %s is over at once, and so is its request to the API server", async (_code, code) => {
      // No time passes here: a limit must not be what ends it.
      const still = await way.start({ clock: new TestClock() });
      still.recorder.respond = (_request, socket) =>
        void socket.write(answerText(200, "x".repeat(10_000_000)));
      const session = await rawSession(still);
      ask(session, "/api");
      await session.until(() => session.stream(1).body.length >= 65_535);
      session.write(reset(1, code));
      await session.until(() => still.inFlight.count("answer") === 0);
      await session.until(() => still.recorder.connections.every((each) => each.isClosed()));
      expect([still.inFlight.count("answer"), session.isClosed()]).toEqual([0, false]);
      session.destroy();
      await still.close();
    });
  });

  describe("a flood", () => {
    it("of requests that are reset at once leaves nothing under way", async () => {
      gateway.recorder.respond = () => {};
      const sessions = await Promise.all([1, 2, 3, 4].map(() => rawSession(gateway)));
      for (const session of sessions)
        for (let stream = 1; stream < 400; stream += 2) {
          ask(session, watchPath, stream);
          session.write(reset(stream));
        }
      const [first] = sessions;
      await first?.until(() => gateway.inFlight.counts().stream > 0, 100);
      await first?.until(() => inFlight() === 0);
      for (const session of sessions) session.destroy();
      await first?.until(() => gateway.recorder.connections.every((each) => each.isClosed()));
      expect([inFlight(), gateway.recorder.connections.filter((each) => !each.isClosed())]).toEqual(
        [...[0, []]],
      );
    });

    it.each(floodRows(way))("of $name ends its session, and no other", async (row) => {
      const other = await rawSession(gateway);
      ask(other, "/api");
      const session = await flooded(gateway, row);
      ask(other, "/api", 3);
      await other.until(() => other.stream(3).isWhole);
      expect([session.isClosed(), other.isClosed(), other.stream(3).status]).toEqual([
        ...[true, false, 200],
      ]);
      other.destroy();
    });

    it.each([
      ["PING", frame("ping", { payload: Buffer.alloc(8) })],
      ["SETTINGS", frame("settings", {})],
      ["PRIORITY", frame("priority", { stream: 1, payload: Buffer.alloc(5) })],
      ["empty DATA", data(1, "", 0)],
      ["WINDOW_UPDATE", windowUpdate(0, 1)],
      ["unknown frames", Buffer.from("000000ff0000000001", "hex")],
    ])("of %s keeps memory bounded, and others are served", async (_what, sent) => {
      const before = process.memoryUsage();
      const session = await rawSession(gateway);
      const path = { method: "POST", path: `${way.prefix}/api` };
      session.write(headers(1, requestFields([], path), flags.endHeaders));
      const many = Buffer.concat(Array.from({ length: 1_000 }, () => sent));
      for (let round = 0; round < 100 && !session.isClosed(); round += 1) {
        session.write(many);
        await pause(0);
      }
      const connection = await rawConnection(gateway);
      connection.write(requestText("GET /api"));
      const answer = await connection.until(({ statuses }) => statuses.length > 0);
      session.destroy();
      connection.destroy();
      const after = process.memoryUsage();
      expect(answer.statuses).toEqual([200]);
      expect(after.rss - before.rss).toBeLessThan(150_000_000);
    });
  });
});

describe("an object of Latchkey that is larger than 3 MiB, through the gateway,", () => {
  const requestFields = requestFieldsOf({ prefix: managementPath, alice: aliceKey });
  let gateway: GatewayFixture;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());
  const inFlight = () => gateway.inFlight.count("answer");

  it("is 413 over HTTP/1.1, and ends the connection", async () => {
    const connection = await rawConnection(gateway);
    const fields = ["Content-Type: application/json", `Content-Length: ${big.length + 2}`];
    connection.write(gatewayText(`POST ${sharedSecrets}`, fields, "{"));
    connection.write(big);
    const answer = await connection.until(({ isClosed }) => isClosed);
    expect([answer.statuses, answer.isClosed]).toEqual([[413], true]);
    expect([gateway.recorder.requests, inFlight(), bodyBytes(gateway.bodies)]).toEqual([[], 0, 0]);
  });

  it("is 413 over HTTP/2, and ends the stream alone", async () => {
    const session = await rawSession(gateway);
    const post = { method: "POST", path: managementPath + sharedSecrets };
    session.write(headers(1, requestFields([["content-type", "application/json"]], post), 4));
    await session.until(() => inFlight() === 1);
    const granted = () =>
      65_535 +
      session
        .frames()
        .filter(({ type, stream }) => type === 8 && stream === 0)
        .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
    for (let sent = 0; sent < 4_000_000 && session.stream(1).status === undefined;) {
      await session.until(() => sent + 16_000 <= granted());
      session.write(data(1, big.subarray(0, 16_000), 0));
      sent += 16_000;
    }
    await session.until(() => inFlight() === 0);
    const { status, isWhole, resetCode } = session.stream(1);
    expect([status, isWhole, resetCode, inFlight(), bodyBytes(gateway.bodies)]).toEqual([
      ...[413, true, 0, 0, 0],
    ]);
    session.write(headers(3, requestFields()));
    await session.until(() => session.stream(3).isWhole);
    expect([session.stream(3).isWhole, session.isClosed()]).toEqual([true, false]);
    session.destroy();
  });
});
