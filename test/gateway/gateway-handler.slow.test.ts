import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { frontWays, requestTextOf } from "../support/front-ways.ts";
import {
  type GatewayFixture,
  type GatewayFixtureOptions,
  openConnection,
} from "../support/gateway-fixture.ts";
import { isAtLength } from "../support/property-runs.ts";
import { askRaw, rawConnection } from "../support/raw-client.ts";
import { headers, rawSession, windowUpdate } from "../support/raw-http2.ts";
import { TestClock } from "../support/test-clock.ts";
import { requestFieldsOf } from "./raw-frames.ts";

describe.each(frontWays)("through the $name", (way) => {
  const requestText = requestTextOf(way);
  const requestFields = requestFieldsOf(way);
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  async function started(options: GatewayFixtureOptions = {}): Promise<GatewayFixture> {
    const gateway = await way.start(options);
    closing.push(() => gateway.close());
    return gateway;
  }

  const answerBytes = 100_000_000;
  const piece = Buffer.alloc(65_536, "a");

  /** Sends 100 MB, as fast as they are taken. */
  function sendMuch(socket: Socket, onSent: (bytes: number) => void): void {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${answerBytes}\r\n\r\n`);
    let sent = 0;
    const more = (): void => {
      while (sent < answerBytes && !socket.destroyed) {
        const bytes = Math.min(piece.length, answerBytes - sent);
        sent += bytes;
        onSent(bytes);
        if (!socket.write(piece.subarray(0, bytes))) return void socket.once("drain", more);
      }
    };
    more();
  }

  /** Opens 100 requests, of whose answers nothing is read. */
  const clients: readonly (readonly [
    string,
    (gateway: GatewayFixture, path: string) => unknown,
  ])[] = [
    [
      "100 connections of HTTP/1.1",
      async (gateway, path) => {
        for (let index = 0; index < 100; index += 1) {
          const socket = await openConnection(gateway);
          socket.write(requestText(`GET ${path}`));
          closing.push(() => socket.destroy());
        }
      },
    ],
    [
      "100 sessions of HTTP/2",
      async (gateway, path) => {
        for (let index = 0; index < 100; index += 1) {
          const session = await rawSession(gateway);
          session.write(headers(1, requestFields([], { path: way.prefix + path })));
          closing.push(() => session.destroy());
        }
      },
    ],
    [
      "100 streams of a session of HTTP/2",
      async (gateway, path) => {
        const session = await rawSession(gateway, { settings: [4, 0] });
        for (let stream = 1; stream < 200; stream += 2)
          session.write(headers(stream, requestFields([], { path: way.prefix + path })));
        closing.push(() => session.destroy());
      },
    ],
  ];

  /** A user who is alone gets half of them. */
  const slotsForOneUser = (most: number): number => 2 * most;

  function memory(): number {
    const { heapUsed, external, arrayBuffers } = process.memoryUsage();
    return heapUsed + external + arrayBuffers;
  }

  // What carries these is the same for both ways, and takes minutes.
  const carried = isAtLength && way.name === "gateway" ? clients : clients.slice(-1);
  describe.each(carried)("%s that read nothing of 100 MB each", (_what, open) => {
    it.each(["/api", "/api/v1/pods?watch=1"])("of %s cost bounded memory", async (path) => {
      const gateway = await started({ connections: 300 });
      let sent = 0;
      gateway.recorder.respond = (request, socket) =>
        request.target === "/next"
          ? void socket.write("HTTP/1.1 204 No Content\r\n\r\n")
          : sendMuch(socket, (bytes) => (sent += bytes));
      const before = memory();
      await open(gateway, path);
      await gateway.recorder.arrived(100);
      for (let last = -1; last !== sent; await pause(300)) last = sent;
      expect(sent).toBeLessThan(0.25 * 100 * answerBytes);
      expect(memory() - before).toBeLessThan(250_000_000);
      expect((await askRaw(gateway, requestText("GET /next"))).statuses).toEqual([204]);
    });

    it("are cut after a minute, so that others get the connections", async () => {
      const clock = new TestClock();
      const gateway = await started({ clock, connections: slotsForOneUser(100) });
      gateway.recorder.respond = (request, socket) =>
        request.target === "/next"
          ? void socket.write("HTTP/1.1 204 No Content\r\n\r\n")
          : sendMuch(socket, () => {});
      await open(gateway, "/api");
      await gateway.recorder.arrived(100);
      await pause(1_000);
      await clock.run(45_000);
      const next = await rawConnection(gateway);
      next.write(requestText("GET /next"));
      await next.until(() => gateway.inFlight.count("answer") === 101);
      await clock.run(14_000);
      expect(next.answer().statuses).toEqual([]);
      await clock.run(1_500);
      await next.until(({ statuses }) => statuses.length > 0);
      expect(next.answer().statuses).toEqual([204]);
      // The buffers of the system may have taken a part later.
      await clock.run(60_000);
      await next.until(() => gateway.inFlight.count("answer") === 0);
      expect(gateway.inFlight.count("answer")).toBe(0);
      next.destroy();
    });
  });

  describe("a client that reads slowly", () => {
    it("gets its whole answer over HTTP/2, and nothing is kept for it", async () => {
      const gateway = await started();
      gateway.recorder.respond = (_request, socket) =>
        void socket.write(
          `HTTP/1.1 200 OK\r\nContent-Length: 2000000\r\n\r\n${"a".repeat(2_000_000)}`,
        );
      const session = await rawSession(gateway, { settings: [4, 0] });
      session.write(headers(1, requestFields()));
      for (let turn = 0; turn < 1_000 && !session.stream(1).isWhole; turn += 1) {
        session.write(windowUpdate(1, 10_000), windowUpdate(0, 10_000));
        await pause(1);
      }
      expect([session.stream(1).body.length, session.stream(1).isWhole]).toEqual([2_000_000, true]);
      await session.until(() => gateway.inFlight.count("answer") === 0);
      expect(gateway.inFlight.count("answer")).toBe(0);
      session.destroy();
    });
  });

  describe("a client whose window is as large as its answer", () => {
    it("gets the end of the answer over HTTP/2 when it opens the window", async () => {
      const gateway = await started();
      const body = "a".repeat(20_000);
      gateway.recorder.respond = (_request, socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4e20\r\n${body}\r\n`);
        setTimeout(() => socket.write("0\r\n\r\n"), 20);
      };
      const session = await rawSession(gateway, { settings: [4, body.length] });
      session.write(headers(1, requestFields()));
      await session.until(() => session.stream(1).body.length === body.length);
      await pause(200);
      expect(session.stream(1).resetCode).toBeUndefined();
      session.write(windowUpdate(1, 1), windowUpdate(0, 1));
      await session.until(() => session.stream(1).isWhole);
      expect(session.stream(1)).toMatchObject({ isWhole: true });
      expect(session.stream(1).resetCode).toBeUndefined();
      await session.until(() => gateway.inFlight.count("answer") === 0);
      session.destroy();
    });
  });

  describe("answers that were sent and are not read", () => {
    it.each<[string, string]>([
      ["refusals", "/%zz"],
      ["answers of the API server", "/api"],
    ])("end after a minute: %s", async (_what, path) => {
      const clock = new TestClock();
      const gateway = await started({ clock });
      const session = await rawSession(gateway, { settings: [4, 0] });
      for (let stream = 1; stream < 400; stream += 2)
        session.write(headers(stream, requestFields([], { path: way.prefix + path })));
      const streams = Array.from({ length: 200 }, (_, index) => 2 * index + 1);
      const have = (what: "status" | "resetCode") =>
        streams.filter((stream) => session.stream(stream)[what] !== undefined).length;
      await session.until(() => have("status") === 200);
      await pause(200);
      expect(have("resetCode")).toBe(0);
      await clock.run(60_000);
      await session.until(() => have("resetCode") === 200);
      expect(have("resetCode")).toBe(200);
      expect(gateway.inFlight.count("answer")).toBe(0);
      // The session is idle for two minutes, and its client may read for two seconds more.
      await clock.run(122_000);
      await session.until(() => session.isClosed());
      expect(session.isClosed()).toBe(true);
      session.destroy();
      await eventually(() => clock.pending === way.idleTimers, {
        what: "all timers to be cancelled",
        every: 5,
      });
    });

    it("are at most so many: the oldest ends first", async () => {
      const gateway = await started({ limits: { unread: 10 } });
      const session = await rawSession(gateway, { settings: [4, 0] });
      for (let stream = 1; stream < 40; stream += 2) {
        session.write(headers(stream, requestFields([], { path: `${way.prefix}/%zz` })));
        await session.until(() => session.stream(stream).status !== undefined);
      }
      const isReset = (stream: number) => session.stream(stream).resetCode !== undefined;
      await session.until(() => isReset(19));
      expect([1, 3, 17, 19, 21, 39].map(isReset)).toEqual([true, true, true, true, false, false]);
      expect((await askRaw(gateway, requestText("GET /api"))).statuses).toEqual([200]);
      session.destroy();
    });
  });
});
