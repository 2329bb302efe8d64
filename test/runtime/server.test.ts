import { frontLimits } from "../../src/runtime/server-options.ts";
import { connect as connectTcp, type Socket } from "node:net";
import { X509Certificate } from "node:crypto";
import { connect } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import { SecretText } from "../../src/api/secret-text.ts";
import type { Exchange, UpgradeExchange } from "../../src/runtime/exchange.ts";
import { issueCertificate, newCa } from "../../src/tokens/certificate-signing.ts";
import {
  answerOk,
  type FrontFixture,
  type FrontFixtureOptions,
  startFront,
} from "./front-fixture.ts";
import { openConnection } from "../support/gateway-fixture.ts";
import { rawConnection } from "../support/raw-client.ts";
import { headers, rawSession, windowUpdate } from "../support/raw-http2.ts";
import { probed } from "../support/tcp-timers.ts";
import { TestClock } from "../support/test-clock.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function started(options: FrontFixtureOptions = {}): Promise<FrontFixture> {
  const front = await startFront(options);
  closing.push(() => front.close());
  return front;
}

const get = "GET / HTTP/1.1\r\nHost: gateway\r\n\r\n";
const request = [
  [":method", "GET"],
  [":scheme", "https"],
  [":authority", "gateway"],
  [":path", "/"],
] as const;

describe("a front server", () => {
  it.each<[readonly string[], string]>([
    [["h2", "http/1.1"], "h2"],
    [["http/1.1", "h2"], "h2"],
    [["http/1.1"], "http/1.1"],
  ])("chooses of %j the protocol %s", async (protocols, chosen) => {
    const front = await started();
    const socket = await openConnection(front, protocols);
    expect(socket.alpnProtocol).toBe(chosen);
    socket.destroy();
  });

  it("speaks HTTP/1.1 with a client that names no protocol, and no other", async () => {
    const front = await started();
    const socket = connect({ host: "127.0.0.1", port: front.port, ca: front.ca });
    socket.on("error", () => {}).write(get);
    const text = await new Promise<string>((resolve) =>
      socket.once("data", (bytes) => resolve(`${bytes}`)),
    );
    expect([socket.alpnProtocol, text.slice(0, 15)]).toEqual([false, "HTTP/1.1 200 OK"]);
    socket.destroy();
    await expect(openConnection(front, ["http/0.9"])).rejects.toThrow(/alert/);
  });

  it("speaks TLS 1.2 and later, and no plain text", async () => {
    const front = await started();
    const old = connect({
      host: "127.0.0.1",
      port: front.port,
      ca: front.ca,
      minVersion: "TLSv1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    });
    const error = await new Promise<Error>((resolve) => old.once("error", resolve));
    expect(error.message).toMatch(/alert|version/);
    const plain = connectTcp(front.port, "127.0.0.1");
    plain.on("error", () => {}).on("data", () => {});
    plain.write(get);
    await new Promise((resolve) => plain.once("close", resolve));
    expect(front.exchanges).toEqual([]);
  });

  it("uses other certificates for the connections to come, and keeps those that are open", async () => {
    const front = await started();
    const before = await rawConnection(front);
    const terms = { dnsNames: ["127.0.0.1"], clientName: "none", now: Date.now() };
    const ca = await newCa(terms);
    const made = await issueCertificate("serving", ca, terms);
    const privateKey = SecretText.reveal(made.privateKey);
    front.server.useTls({
      certificate: made.certificate,
      privateKey,
      clientAuthority: ca.certificate,
    });
    const after = await openConnection({ port: front.port, ca: ca.certificate });
    expect(after.getPeerX509Certificate()?.serialNumber).toBe(
      new X509Certificate(made.certificate).serialNumber,
    );
    after.destroy();
    before.write(get);
    expect((await before.until(({ statuses }) => statuses.length > 0)).statuses).toEqual([200]);
    before.destroy();
  });

  it("probes idle connections every 30 seconds, for the sake of load balancers", async () => {
    const front = await started();
    const connections = [await openConnection(front), await openConnection(front, ["h2"])];
    await expect(probed(front.port, 2)).resolves.toBeUndefined();
    for (const connection of connections) connection.destroy();
  });

  it("rejects when its address is taken", async () => {
    const front = await started();
    const { startServer } = await import("../../src/runtime/server.ts");
    const taken = startServer({
      host: "127.0.0.1",
      port: front.port,
      clock: new TestClock(),
      tls: { certificate: "", privateKey: "", clientAuthority: "" },
      limits: frontLimits,
      onExchange: answerOk,
      onUpgrade() {},
      isUpgrade: () => false,
    });
    await expect(taken).rejects.toThrow(/EADDRINUSE|PEM|no start line/);
  });
});

describe("a front server that stops", () => {
  const collectingExchanges = () => {
    const exchanges: Exchange[] = [];
    return { exchanges, onExchange: (exchange: Exchange) => void exchanges.push(exchange) };
  };

  const times = { leastMs: 5_000, mostMs: 60_000 };

  it("ends idle sessions of HTTP/2, and closes no idle connection of HTTP/1.1 before its time", async () => {
    const clock = new TestClock();
    const front = await started({ clock });
    const [idle, session] = [await rawConnection(front), await rawSession(front)];
    idle.write(get);
    await idle.until(({ statuses }) => statuses.length > 0);
    await session.until(() => session.frames().length > 1);
    const drained = front.server.drain(times);
    await session.until(() => session.goawayCode() !== undefined);
    await clock.run(2_000);
    await session.until(() => session.isClosed());
    expect([session.goawayCode(), session.isClosed()]).toEqual([0, true]);
    await clock.run(57_999);
    expect(idle.answer().isClosed).toBe(false);
    await clock.run(1);
    await drained;
    expect((await idle.until(({ isClosed }) => isClosed)).isClosed).toBe(true);
    await expect(rawConnection(front)).rejects.toThrow("ECONNREFUSED");
  });

  it("answers a client that comes late, and tells it to leave", async () => {
    const clock = new TestClock();
    const front = await started({ clock });
    const drained = front.server.drain(times);
    const [late, session] = [await rawConnection(front), await rawSession(front)];
    late.write(get);
    session.write(headers(1, request));
    await session.until(() => session.goawayCode() !== undefined && session.stream(1).isWhole);
    expect([session.goawayCode(), session.stream(1).isWhole]).toEqual([0, true]);
    expect((await late.until(({ isClosed }) => isClosed)).statuses).toEqual([200]);
    await clock.run(2_000);
    await session.until(() => session.isClosed());
    session.socket.end();
    await clock.run(8_000);
    await drained;
  });

  it("handles no request of HTTP/2 that GOAWAY tells its client to repeat", async () => {
    const { exchanges, onExchange } = collectingExchanges();
    const front = await started({ onExchange, clock: new TestClock() });
    void front.server.drain(times);
    const session = await rawSession(front);
    session.write(headers(1, request), headers(3, request));
    await session.until(() => session.goawayCode() !== undefined);
    exchanges.forEach(answerOk);
    await session.until(() => session.stream(1).isWhole);
    expect([session.goawayCode(), session.stream(1).isWhole, exchanges.length]).toEqual([
      0,
      true,
      1,
    ]);
  });

  it("waits for the answers under way, and closes their connections behind them", async () => {
    const { exchanges, onExchange } = collectingExchanges();
    const front = await started({ onExchange });
    const [connection, session] = [await rawConnection(front), await rawSession(front)];
    connection.write(get);
    session.write(headers(1, request));
    await session.until(() => exchanges.length === 2);
    let isOver = false;
    const drained = front.server.drain({ ...times, leastMs: 0 }).then(() => (isOver = true));
    await session.until(() => session.goawayCode() !== undefined);
    expect([session.goawayCode(), isOver]).toEqual([0, false]);
    exchanges.forEach(answerOk);
    await drained;
    await session.until(() => connection.answer().isClosed);
    expect(connection.answer().text).toMatch(/^connection: close$/m);
    expect([connection.answer().statuses, session.stream(1).isWhole]).toEqual([[200], true]);
  });

  it("leaves a client of HTTP/2 two seconds to read its last answer", async () => {
    const { exchanges, onExchange } = collectingExchanges();
    const clock = new TestClock();
    const front = await startFront({ onExchange, clock });
    const session = await rawSession(front);
    session.write(headers(1, request));
    await session.until(() => exchanges.length === 1);
    const drained = front.server.drain(times);
    await session.until(() => session.goawayCode() !== undefined);
    await clock.run(20_000);
    exchanges.forEach(answerOk);
    await session.until(() => session.stream(1).isWhole);
    await clock.run(1_999);
    await session.until(() => session.isClosed(), 100);
    expect([session.stream(1).isWhole, session.isClosed()]).toEqual([true, false]);
    await clock.run(1);
    await session.until(() => session.isClosed());
    session.socket.end();
    await drained;
    expect([session.isClosed(), front.server.load().all]).toEqual([true, 0]);
  });

  it("closes what is left after its time", async () => {
    const { exchanges, onExchange } = collectingExchanges();
    const clock = new TestClock();
    const front = await startFront({ onExchange, clock });
    const [connection, session] = [await rawConnection(front), await rawSession(front)];
    connection.write(get);
    session.write(headers(1, request));
    await session.until(() => exchanges.length === 2);
    const drained = front.server.drain(times);
    await clock.run(59_999);
    expect([connection.answer().isClosed, session.isClosed()]).toEqual([false, false]);
    await clock.run(1);
    await drained;
    await session.until(() => connection.answer().isClosed && session.isClosed());
    expect([connection.answer().isClosed, session.isClosed()]).toEqual([true, true]);
    expect([session.stream(1).isWhole, front.server.load().all]).toEqual([false, 0]);
  });
});

describe("a full front server", () => {
  const connections = { all: 12, unauthenticated: 6, reserved: 3 };

  /** Accepts the credential of a client that names a user; others get 401, or wait for it. */
  function authenticate(exchange: Exchange): void {
    const { rawHeaders } = exchange.head;
    const at = rawHeaders.indexOf("x-user");
    if (at >= 0) {
      exchange.accepted(rawHeaders[at + 1] ?? "");
      return answerOk(exchange);
    }
    if (rawHeaders.includes("x-wait")) return;
    exchange.respond(401, ["content-length", "3"]);
    exchange.write("no\n");
    exchange.end();
  }

  function upgrade(exchange: UpgradeExchange): void {
    const { socket } = exchange;
    exchange.accepted("alice");
    socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n");
    socket.on("data", () => socket.write("HTTP/1.1 200 Echo\r\n\r\n"));
  }

  /** A client with the credential of a user; asks over one connection for a status. */
  interface Client {
    ask(): Promise<number | undefined>;
  }

  const http1 = (user: string) => `GET / HTTP/1.1\r\nHost: gateway\r\nx-user: ${user}\r\n\r\n`;

  async function http1Client(front: FrontFixture, text = http1("alice")): Promise<Client> {
    const connection = await rawConnection(front);
    closing.push(() => connection.destroy());
    return {
      async ask() {
        const before = connection.answer().statuses.length;
        connection.write(text);
        const isOver = ({ statuses, isClosed }: ReturnType<typeof connection.answer>) =>
          isClosed || statuses.length > before;
        const { statuses, isClosed } = await connection.until(isOver);
        return isClosed ? undefined : statuses.at(-1);
      },
    };
  }

  const upgraded = (front: FrontFixture): Promise<Client> =>
    http1Client(
      front,
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    );

  async function http2Client(front: FrontFixture): Promise<Client> {
    const session = await rawSession(front);
    closing.push(() => session.destroy());
    let stream = -1;
    return {
      async ask() {
        stream += 2;
        session.write(headers(stream, [...request, ["x-user", "alice"]]));
        await session.until(() => session.isClosed() || session.stream(stream).isWhole);
        return session.stream(stream).status;
      },
    };
  }

  const honest: readonly (readonly [string, (front: FrontFixture) => Promise<Client>])[] = [
    ["HTTP/1.1", http1Client],
    ["HTTP/2", http2Client],
    ["an upgrade", upgraded],
  ];

  const attacks: readonly (readonly [string, (front: FrontFixture) => Promise<unknown>])[] = [
    [
      "no handshake",
      async ({ port }) => {
        const socket: Socket = connectTcp({ port, host: "127.0.0.1" });
        closing.push(() => socket.destroy());
        socket.on("error", () => {});
        await new Promise((resolve) => socket.once("connect", resolve));
      },
    ],
    ["no request", async (front) => void (await openAndKeep(front)).on("error", () => {})],
    ["no credential", async (front) => (await http1Client(front, get)).ask()],
    [
      "credentials that are being checked",
      async (front) => {
        const connection = await rawConnection(front);
        closing.push(() => connection.destroy());
        const before = front.exchanges.length;
        connection.write("GET / HTTP/1.1\r\nHost: a\r\nx-wait: 1\r\n\r\n");
        await connection.until(({ isClosed }) => isClosed || front.exchanges.length > before);
      },
    ],
    [
      "answers that are not read",
      async (front) => {
        const session = await rawSession(front, { settings: [4, 0] });
        closing.push(() => session.destroy());
        session.write(headers(1, request), headers(3, request));
        await session.until(() => session.isClosed() || session.stream(3).status !== undefined);
      },
    ],
    [
      "the credential of another user",
      async (front) => (await http1Client(front, http1("mallory"))).ask(),
    ],
  ];

  async function openAndKeep(front: FrontFixture) {
    const socket = await openConnection(front);
    closing.push(() => socket.destroy());
    return socket;
  }

  it.each(
    honest.flatMap(([protocol, open]) =>
      attacks.map(([what, attack]) => [protocol, what, { open, attack }] as const),
    ),
  )(
    "serves a client of %s on old and new connections beside an attacker at its address with %s",
    async (_protocol, _what, { open, attack }) => {
      let refused = 0;
      const front = await started({
        limits: { connections },
        onExchange: authenticate,
        onUpgrade: upgrade,
        onRefused: () => (refused += 1),
      });
      const old = await open(front);
      const first = await old.ask();
      for (let count = 0; count < 20; count += 1) await attack(front);
      const next = await open(front);
      expect([await next.ask(), await old.ask()]).toEqual([first, 200]);
      for (let count = 0; count < 20; count += 1) await attack(front);
      expect([await next.ask(), await old.ask()]).toEqual([200, 200]);
      expect(refused).toBeGreaterThanOrEqual(40 + 2 - connections.all);
    },
    30_000,
  );

  it.each(["", "mallory"])(
    "aborts no answer of a user for those that the clients of %j do not read",
    async (user) => {
      const front = await started({ limits: { unread: 4 }, onExchange: authenticate });
      const unread = { settings: [4, 0] };
      const [alice, attacker] = [await rawSession(front, unread), await rawSession(front, unread)];
      closing.push(
        () => alice.destroy(),
        () => attacker.destroy(),
      );
      alice.write(headers(1, [...request, ["x-user", "alice"]]));
      await alice.until(() => alice.stream(1).status !== undefined);
      const credential = user === "" ? [] : [["x-user", user] as const];
      for (let stream = 1; stream < 40; stream += 2)
        attacker.write(headers(stream, [...request, ...credential]));
      await attacker.until(() => attacker.stream(33).resetCode !== undefined);
      alice.write(windowUpdate(1, 100));
      await alice.until(() => alice.stream(1).isWhole || alice.stream(1).resetCode !== undefined);
      expect([alice.stream(1).isWhole, alice.stream(1).body.toString("latin1")]).toEqual([
        true,
        "ok\n",
      ]);
      expect(attacker.stream(35).resetCode).toBeUndefined();
    },
  );
});
