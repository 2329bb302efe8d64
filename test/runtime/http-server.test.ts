import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { connect as connectTls } from "node:tls";
import { afterEach, describe, expect, test } from "vitest";
import { Pool } from "undici";
import { SecretText } from "../../src/api/secret-text.ts";
import { type HttpServer, startHttpServer } from "../../src/runtime/http-server.ts";
import {
  gateOf,
  type Handler,
  healthRoute,
  type HttpResponse,
  plain,
  routed,
} from "../../src/runtime/routes.ts";
import {
  newServerCertificates,
  renewCertificates,
  tlsOf,
  type ServerCertificates,
} from "../../src/tokens/server-certificates.ts";
import { recordingLog } from "../support/recording-log.ts";
import { TestClock } from "../support/test-clock.ts";

const log = recordingLog();
const clock = new TestClock();
let server: HttpServer;

const options = { host: "127.0.0.1", port: 0, clock, log };

async function serving(handler: Handler): Promise<string> {
  server = await startHttpServer({ ...options, handler, maximumBodyBytes: 1000 });
  return server.url;
}

/** Sends raw bytes and returns the bytes received until the server closes the connection. */
async function raw(bytes: string): Promise<string> {
  const socket = connect(server.port, "127.0.0.1");
  socket.write(bytes);
  return await text(socket);
}

afterEach(async () => {
  const closed = server.close(1);
  clock.advance(1);
  await closed;
});

test("a handler gets the whole request and its response is sent completely", async () => {
  const url = await serving(({ method, path, body }) => ({
    status: 201,
    headers: { "x-a": "1" },
    body: `${method} ${path} ${body}`,
  }));
  const answer = await fetch(`${url}/a/b?c=d`, { method: "POST", body: "hellö" });
  expect([answer.status, answer.headers.get("x-a"), await answer.text()]).toEqual([
    201,
    "1",
    "POST /a/b hellö",
  ]);
});

test("responds to HEAD with the headers of GET and no body", async () => {
  const url = await serving(routed([healthRoute()]));
  const answer = await fetch(`${url}/healthz`, { method: "HEAD" });
  expect([answer.status, answer.headers.get("content-length"), await answer.text()]).toEqual([
    200,
    "3",
    "",
  ]);
});

test("responds with 500 without details if a handler throws, and logs the error", async () => {
  const url = await serving(() => Promise.reject(new Error("canary")));
  const answer = await fetch(`${url}/a`);
  expect([answer.status, await answer.text()]).toEqual([500, "internal error\n"]);
  expect(log.lines.at(-1)).toMatchObject({ level: "error", fields: { method: "GET", path: "/a" } });
});

describe("rejects an oversized or malformed request, and continues to serve", () => {
  const ask = (line: string, rest = ""): string =>
    `${line} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${rest}\r\n`;
  const long = ask("POST /", "Content-Length: 5000\r\n") + "x".repeat(5000);
  const chunk = `7d0\r\n${"x".repeat(2000)}\r\n`;
  const chunked = ask("POST /", "Transfer-Encoding: chunked\r\n") + chunk;
  const headers = ask("GET /", `X-A: ${"x".repeat(20_000)}\r\n`);
  const host = ask("GET //elsewhere/");

  test.for<[string, string, RegExp]>([
    ["a body that is too long", long, /^HTTP\/1.1 413 /],
    ["a chunked body that is too long", chunked, /^HTTP\/1.1 413 /],
    ["headers that are too long", headers, /^HTTP\/1.1 431 /],
    ["an absolute target", ask("GET http://elsewhere/"), /^HTTP\/1.1 400 /],
    ["a target that is not a path", ask("OPTIONS *"), /^HTTP\/1.1 400 /],
    ["a method without a route", ask("TRACE /"), /^HTTP\/1.1 400 /],
    ["a target that looks like a host", host, /^HTTP\/1.1 200 [^]*at \/\/elsewhere\//],
  ])("%s", async ([, bytes, expected]) => {
    const url = await serving((request) => plain(200, `at ${request.path}`));
    expect(await raw(bytes)).toMatch(expected);
    expect((await fetch(url)).status).toBe(200);
  });
});

test("rejects a request without a route before its body is read", async () => {
  const bodies: string[] = [];
  const routes = [
    {
      method: "POST",
      path: "/a",
      handler: (request: { readonly body: string }) => (
        bodies.push(request.body),
        plain(200, "read")
      ),
    },
  ] as const;
  server = await startHttpServer({ ...options, handler: routed(routes), gate: gateOf(routes) });
  const half = (path: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf`;
  expect(await raw(half("/b"))).toMatch(/^HTTP\/1.1 404 [^]*Connection: close/i);
  expect(await raw(`GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nhalf`)).toMatch(
    /^HTTP\/1.1 405 /,
  );
  const slow = raw(half("/a"));
  await expect.poll(() => server.bodyBytes().others).toBe(4);
  await clock.run(3_000);
  expect([await slow, server.bodyBytes().others, bodies]).toEqual([
    expect.stringMatching(/^HTTP\/1.1 408 /),
    0,
    [],
  ]);
});

test("close finishes a pending request and sends Connection: close", async () => {
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<HttpResponse>();
  const url = await serving(() => {
    begun.resolve();
    return finish.promise;
  });
  const answer = fetch(url);
  await begun.promise;
  const closed = server.close(60_000);
  finish.resolve(plain(200, "ok"));
  expect((await answer).headers.get("connection")).toBe("close");
  await closed;
});

test("close aborts a request that does not finish within the grace period", async () => {
  const begun = Promise.withResolvers<void>();
  const url = await serving(() => {
    begun.resolve();
    return new Promise<HttpResponse>(() => {});
  });
  const answer = fetch(url).catch(() => "cut");
  await begun.promise;
  const closed = server.close(1000);
  clock.advance(1000);
  await closed;
  expect(await answer).toBe("cut");
});

describe("draining", () => {
  const times = { leastMs: 5_000, mostMs: 20_000, graceMs: 2_000 };
  const get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";

  /** A client with a keep-alive connection, until the server closes it. */
  async function kept() {
    const socket = connect(server.port, "127.0.0.1");
    let said = "";
    socket.on("data", (bytes) => (said += bytes.toString("utf8")));
    const ended = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    let isEnded = false;
    void ended.then(() => (isEnded = true));
    const ask = async (): Promise<string> => {
      said = "";
      socket.write(get);
      await expect.poll(() => said).toMatch(/ok\n$/);
      return said;
    };
    return { socket, ask, ended, isEnded: () => isEnded };
  }

  async function draining() {
    await serving(() => plain(200, "ok"));
    const clients = [await kept(), await kept()] as const;
    for (const { ask } of clients) expect(await ask()).toMatch(/Connection: keep-alive/i);
    let isDone = false;
    const done = server.drain(times).then(() => (isDone = true));
    return { clients, done, isDone: () => isDone };
  }

  test("sends a last response on each open and each new connection", async () => {
    const { clients, done, isDone } = await draining();
    expect(await clients[0].ask()).toMatch(/^HTTP\/1.1 200 [^]*Connection: close/i);
    await clients[0].ended;
    const late = await kept();
    expect(await late.ask()).toMatch(/Connection: close/i);
    expect([clients[1].isEnded(), isDone()]).toEqual([false, false]);
    await clock.run(4_999);
    expect(await clients[1].ask()).toMatch(/Connection: close/i);
    await clients[1].ended;
    await expect.poll(() => server.load().all).toBe(0);
    await clock.run(5_000);
    expect(isDone()).toBe(false);
    await clock.run(1);
    await done;
  });

  test("answers requests that arrive in the same moment", async () => {
    await serving(() => plain(200, "ok"));
    const clients = await Promise.all(Array.from({ length: 20 }, kept));
    await Promise.all(clients.map(({ ask }) => ask()));
    const answers = clients.map(({ ask }) => ask());
    const done = server.drain(times);
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/Connection: close/i);
    await Promise.all(clients.map(({ ended }) => ended));
    await clock.run(5_000);
    await done;
  });

  test("ends after the minimum time if there are no connections", async () => {
    const url = await serving(() => plain(200, "ok"));
    const done = server.drain(times);
    await clock.run(5_000);
    await done;
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });

  test("serves for as long as a load balancer sends new connections", async () => {
    const url = await serving(() => plain(200, "ok"));
    const done = server.drain(times);
    for (const round of ["first", "second"]) {
      await clock.run(4_999);
      expect([round, (await fetch(url)).status]).toEqual([round, 200]);
      await expect.poll(() => server.load().all).toBe(0);
      await clock.run(1);
    }
    await clock.run(5_000);
    await done;
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });

  test("ends when the last connection is closed", async () => {
    const { clients, done, isDone } = await draining();
    await clock.run(10_000);
    expect([clients.map((client) => client.isEnded()), isDone()]).toEqual([[false, false], false]);
    for (const { socket } of clients) socket.destroy();
    await done;
  });

  test("keeps idle connections open until the maximum time", async () => {
    const { clients, done } = await draining();
    await clock.run(19_999);
    expect(clients.map((client) => client.isEnded())).toEqual([false, false]);
    await clock.run(1);
    await done;
    await Promise.all(clients.map(({ ended }) => ended));
  });

  test("rejects requests in the same way", async () => {
    server = await startHttpServer({
      host: "127.0.0.1",
      port: 0,
      handler: routed([]),
      gate: gateOf([]),
      clock,
      log,
    });
    const client = connect(server.port, "127.0.0.1");
    const done = server.drain(times);
    client.write(get);
    expect(await text(client)).toMatch(/^HTTP\/1.1 404 [^]*Connection: close/i);
    await clock.run(10_000);
    await done;
  });

  test("with a time of zero is the same as closing", async () => {
    await serving(() => plain(200, "ok"));
    const client = await kept();
    await client.ask();
    const done = server.drain({ leastMs: 0, mostMs: 0, graceMs: 1 });
    await clock.run(0);
    await Promise.all([done, client.ended]);
    expect(server.load().all).toBe(0);
  });
});

test("listening on an address in use fails", async () => {
  await serving(routed([]));
  await expect(
    startHttpServer({ host: "127.0.0.1", port: server.port, handler: routed([]), clock, log }),
  ).rejects.toThrow("EADDRINUSE");
});

describe("over TLS", () => {
  const names = { dnsNames: ["localhost"], clientName: "the-client" };

  /** The server, and its response to a client with this certificate. */
  async function secured() {
    const made = await newServerCertificates({ ...names, now: Date.now() });
    server = await startHttpServer({
      host: "127.0.0.1",
      port: 0,
      handler: (_request, peer) => plain(200, `you are ${peer.clientName}`),
      clock,
      log,
      tls: tlsOf(made),
    });
    const ask = async (
      client: { readonly cert?: string; readonly key?: string } = {},
      ca = tlsOf(made).clientAuthority,
    ): Promise<string> => {
      const pool = new Pool(server.url.replace("127.0.0.1", "localhost"), {
        connect: {
          ca,
          ...client,
          lookup: (_host, _options, callback) =>
            callback(null, [{ address: "127.0.0.1", family: 4 }]),
        },
      });
      try {
        return await (await pool.request({ method: "GET", path: "/" })).body.text();
      } finally {
        await pool.destroy();
      }
    };
    return { made, ask };
  }

  const shown = (made: ServerCertificates, name: "client" | "serving") => ({
    cert: made[name].certificate,
    key: SecretText.reveal(made[name].privateKey),
  });

  test("a client of the CA is identified by its name, and other clients are anonymous", async () => {
    const { made, ask } = await secured();
    const foreign = await newServerCertificates({ ...names, now: Date.now() });
    expect(await ask(shown(made, "client"))).toBe("you are the-client\n");
    expect(await ask()).toBe("you are undefined\n");
    expect(await ask(shown(foreign, "client"))).toBe("you are undefined\n");
  });

  test("a client keeps the identity of the certificate that it presented", async () => {
    const made = await newServerCertificates({ ...names, now: Date.now() });
    const shownCertificates: (string | undefined)[] = [];
    server = await startHttpServer({
      host: "127.0.0.1",
      port: 0,
      handler: (_request, peer) => (shownCertificates.push(peer.certificate), plain(200, "ok")),
      clock,
      log,
      tls: tlsOf(made),
    });
    for (const client of [shown(made, "client"), {}]) {
      const pool = new Pool(server.url, {
        connect: { ca: tlsOf(made).clientAuthority, servername: "localhost", ...client },
      });
      await (await pool.request({ method: "GET", path: "/" })).body.dump();
      await pool.destroy();
    }
    expect(shownCertificates).toEqual([
      expect.stringContaining(made.client.certificate.trim().slice(0, 200)),
      undefined,
    ]);
  });

  test("a client with a serving certificate is anonymous", async () => {
    const { made, ask } = await secured();
    expect(await ask(shown(made, "serving"))).toBe("you are undefined\n");
  });

  test("a client with an expired certificate is anonymous", async () => {
    const { made, ask } = await secured();
    const past = await renewCertificates({
      ca: made.ca,
      names: ["client"],
      signing: { ...names, now: Date.now() - 400 * 86_400_000 },
      before: made,
    });
    expect(await ask(shown(past, "client"))).toBe("you are undefined\n");
  });

  test("the first of 200 connections that one client without a certificate opens at once are served", async () => {
    const made = await newServerCertificates({ ...names, now: Date.now() });
    const handler = () => plain(200, "answered");
    server = await startHttpServer({ ...options, handler, tls: tlsOf(made) });
    const sockets = Array.from({ length: 200 }, () => connect(server.port, "127.0.0.1"));
    // The server resets those that never ask, whenever this process is slow.
    for (const socket of sockets) socket.on("error", () => {});
    await expect.poll(() => server.load().unauthenticated, { timeout: 60_000 }).toBe(200);
    const ask = (socket: Socket) => {
      const secure = connectTls({ socket, rejectUnauthorized: false });
      secure.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
      return text(secure).catch(String);
    };
    // All of them would take longer than a handshake may on a busy machine.
    const answers = await Promise.all(sockets.slice(0, 20).map(ask));
    for (const socket of sockets) socket.destroy();
    expect(new Set(answers.map((answer) => answer.split("\r\n")[0]))).toEqual(
      new Set(["HTTP/1.1 200 OK"]),
    );
  });

  test("1,000 anonymous clients with incomplete bodies stay within their limit, and a client with a certificate is served", async () => {
    const made = await newServerCertificates({ ...names, now: Date.now() });
    const refused: string[] = [];
    const routes = [{ method: "POST", path: "/a", handler: () => plain(200, "answered") }] as const;
    server = await startHttpServer({
      host: "127.0.0.1",
      port: 0,
      handler: routed(routes),
      gate: gateOf(routes),
      connections: { all: 1_000, unauthenticated: 700, reserved: 100 },
      onRefused: (why) => void refused.push(why),
      clock,
      log,
      tls: tlsOf(made),
    });
    const half = `POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n${"x".repeat(70_000)}`;
    const sockets: Socket[] = [];
    let most = { connections: 0, bytes: 0 };
    const look = (): void => {
      const load = server.load();
      most = {
        connections: Math.max(most.connections, load.unauthenticated),
        bytes: Math.max(most.bytes, server.bodyBytes().others),
      };
    };
    const opened = Array.from({ length: 20 }, async () => {
      for (let count = 0; count < 50; count++) {
        await new Promise<void>((resolve) => {
          const socket = connectTls(
            { host: "127.0.0.1", port: server.port, rejectUnauthorized: false },
            () => {
              look();
              socket.write(half, () => resolve());
            },
          );
          sockets.push(socket);
          socket.on("error", () => resolve()).on("close", () => resolve());
        });
      }
    });
    const client = new Pool(server.url, {
      connections: 4,
      connect: {
        ca: tlsOf(made).clientAuthority,
        servername: "localhost",
        ...shown(made, "client"),
      },
    });
    const answers: string[] = [];
    const asking = (async () => {
      for (let count = 0; count < 100; count++) {
        const answer = await client.request({ method: "POST", path: "/a", body: "x".repeat(1000) });
        answers.push(`${answer.statusCode} ${await answer.body.text()}`);
        look();
      }
    })();
    await Promise.all([...opened, asking]);
    look();
    expect(answers).toEqual(Array.from({ length: 100 }, () => "200 answered\n"));
    expect(most.connections).toBeLessThanOrEqual(700);
    expect(most.bytes).toBeLessThanOrEqual(8 * 1_048_576);
    // Whether the limit of bodies or of connections is reached first depends on how fast they
    // arrive.
    expect(refused.length).toBeGreaterThan(0);
    await clock.run(3_000);
    await expect
      .poll(() => ({ ...server.load(), bodyBytes: server.bodyBytes() }))
      .toMatchObject({ unauthenticated: 0, bodyBytes: { certified: 0, others: 0 } });
    await client.destroy();
    for (const socket of sockets) socket.destroy();
  }, 300_000);

  describe("a full server", () => {
    const full = { all: 12, unauthenticated: 6, reserved: 3 };
    const routes = [
      { method: "GET", path: "/open", handler: () => plain(200, "open") },
      { method: "GET", path: "/admit", handler: () => plain(200, "admitted"), isHidden: true },
    ] as const;

    /** A connection to the server that stays open; answers with a status, or 0 once it is closed. */
    async function connected(client: object = {}, localAddress = "127.0.0.1") {
      const socket = connectTls({
        ...{ host: "127.0.0.1", port: server.port, rejectUnauthorized: false, localAddress },
        ...client,
      });
      let [said, isClosed] = ["", false];
      socket.on("data", (bytes) => (said += bytes.toString("latin1"))).on("error", () => {});
      socket.on("close", () => (isClosed = true));
      await new Promise((resolve) => socket.once("secureConnect", resolve).once("close", resolve));
      const ask = async (path: string): Promise<number> => {
        said = "";
        socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
        await expect.poll(() => isClosed || /\r\n\r\n./.test(said)).toBe(true);
        return Number(said.split(" ")[1] ?? 0);
      };
      return { ask, isClosed: () => isClosed, close: () => socket.destroy() };
    }

    /** Opens connections that send nothing, one after the other, and does not wait for their end. */
    async function opened(count: number, localAddress: string): Promise<readonly Socket[]> {
      const sockets: Socket[] = [];
      for (let index = 0; index < count; index += 1) {
        const socket = connect({ host: "127.0.0.1", port: server.port, localAddress });
        socket.on("error", () => {});
        await new Promise((resolve) => socket.once("connect", resolve));
        sockets.push(socket);
      }
      return sockets;
    }

    test.for<[string, "certificate" | "path"]>([
      ["127.0.0.1", "certificate"],
      ["127.0.0.1", "path"],
      ["127.0.0.2", "path"],
    ])(
      "closes connections without a credential from %s, and serves clients that have shown a %s, on old and on new connections",
      async ([attacker, credential]) => {
        const made = await newServerCertificates({ ...names, now: Date.now() });
        const refused: string[] = [];
        server = await startHttpServer({
          ...options,
          ...{ handler: routed(routes, isSecret), gate: gateOf(routes, isSecret) },
          ...{ tls: tlsOf(made), connections: full, onRefused: (why) => void refused.push(why) },
        });
        const client = credential === "certificate" ? shown(made, "client") : {};
        const path = credential === "certificate" ? "/open" : "/secret/admit";
        const old = await connected(client);
        expect(await old.ask(path)).toBe(200);
        const first = await opened(20, attacker);
        await expect.poll(() => refused.length).toBe(14);
        expect(server.load()).toMatchObject({ unauthenticated: 6, all: 7 });
        const next = await connected(client);
        expect([await next.ask(path), await old.ask(path)]).toEqual([200, 200]);
        const last = await opened(20, attacker);
        await expect.poll(() => server.load().unauthenticated).toBe(6);
        expect([await old.ask(path), await next.ask(path), server.load().all]).toEqual([
          200, 200, 8,
        ]);
        expect(new Set(refused)).toEqual(new Set(["connection"]));
        for (const socket of [...first, ...last]) socket.destroy();
        for (const { close } of [old, next]) close();
      },
    );

    test("counts a client of a public route as one without a credential", async () => {
      const made = await newServerCertificates({ ...names, now: Date.now() });
      server = await startHttpServer({
        ...options,
        ...{ handler: routed(routes, isSecret), gate: gateOf(routes, isSecret) },
        ...{ tls: tlsOf(made), connections: full },
      });
      const [client, other] = [await connected(), await connected()];
      expect([await client.ask("/open"), await other.ask("/guess/admit")]).toEqual([200, 404]);
      await expect.poll(() => server.load()).toMatchObject({ unauthenticated: 1, all: 1 });
      const sockets = await opened(6, "127.0.0.1");
      await expect.poll(() => client.isClosed()).toBe(true);
      for (const socket of sockets) socket.destroy();
    });

    test("reads a body beside slow ones of another address, which knows the path, too", async () => {
      const handler = () => plain(200, "admitted");
      const posts = [{ method: "POST", path: "/admit", handler, isHidden: true }] as const;
      server = await startHttpServer({
        ...options,
        ...{ handler: routed(posts, isSecret), gate: gateOf(posts, isSecret) },
      });
      const post = (length: number): string =>
        `POST /secret/admit HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n`;
      const slow = await opened(20, "127.0.0.2");
      for (const socket of slow) socket.resume().write(post(1_000_000) + "x".repeat(900_000));
      await expect.poll(() => server.bodyBytes().others).toBeGreaterThan(7_500_000);
      const [socket] = await opened(1, "127.0.0.1");
      socket?.write(post(1_000_000) + "x".repeat(1_000_000));
      let said = "";
      socket?.on("data", (bytes) => (said += bytes.toString("latin1")));
      await expect.poll(() => said).toMatch(/^HTTP/);
      expect(said.split("\r\n")[0]).toBe("HTTP/1.1 200 OK");
      for (const one of [...slow, socket]) one?.destroy();
    });

    const isSecret = (segment: string): boolean => segment === "secret";
  });

  test("new TLS material is used from the next connection on", async () => {
    const { made, ask } = await secured();
    const other = await newServerCertificates({ ...names, now: Date.now() });
    server.useTls(tlsOf(other));
    await expect(ask()).rejects.toThrow(/certificate/);
    expect(await ask(shown(made, "client"), tlsOf(other).clientAuthority)).toBe(
      "you are undefined\n",
    );
    expect(await ask(shown(other, "client"), tlsOf(other).clientAuthority)).toBe(
      "you are the-client\n",
    );
  });
});
