import { createServer as createTcpServer, type Socket } from "node:net";
import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { HttpsDocument } from "../../../src/kube/client/https-document.ts";
import { createTransport } from "../../../src/kube/client/transport.ts";
import { connectUser } from "../../../src/kube/client/user-connection.ts";
import type { Credentials } from "../../../src/kube/credentials/credentials.ts";
import { parseProxy, type Proxy } from "../../../src/kube/credentials/proxies.ts";
import { createForwarder } from "../../../src/kube/forward/forwarder.ts";
import { requestUpgrade } from "../../../src/kube/forward/request-upgrade.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { fakeChoice } from "../../client/fake-cluster.ts";
import { type ConnectProxy, startConnectProxy } from "../../support/connect-proxy.ts";
import { testCertificates } from "../../support/gateway-fixture.ts";
import { startHttpsFront } from "../../support/https-front.ts";
import { endServer, KeptSockets, listenLocally } from "../../support/local-server.ts";
import { startSocksProxy } from "../../support/socks-proxy.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** The API server is reached by this name through a proxy alone: no DNS has it. */
const name = "east.example:6443";
const login = "me:can@ry";

const proxies = {
  "an HTTP proxy": (routes) => startConnectProxy(routes),
  "an HTTP proxy with a login": (routes) => startConnectProxy(routes, { login }),
  "an HTTP proxy over TLS": async (routes) =>
    startConnectProxy(routes, { tls: (await testCertificates()).tls, login }),
  "a SOCKS5 proxy": (routes) => startSocksProxy(routes),
  "a SOCKS5 proxy with a login": (routes) => startSocksProxy(routes, login),
} satisfies Record<string, (routes: Readonly<Record<string, string>>) => Promise<ConnectProxy>>;
type Kind = keyof typeof proxies;
const kinds = Object.keys(proxies) as readonly Kind[];

/** The address of a proxy with the login of the tests. */
function withLogin({ url }: Pick<ConnectProxy, "url">): string {
  return url.replace("://", "://me:can%40ry@");
}

async function parsed(address: string): Promise<Proxy> {
  const proxy = parseProxy(address);
  if (typeof proxy === "string") throw new Error(proxy);
  return { ...proxy, ca: (await testCertificates()).ca };
}

/** An API server that is reached as `name` through a proxy of this kind. */
async function startBehind(kind: Kind) {
  const paths: string[] = [];
  const front = await startHttpsFront((request, response: ServerResponse) => {
    paths.push(request.url ?? "");
    response.end("{}");
  });
  const proxy = await proxies[kind]({ [name]: front.url });
  closing.push(
    () => front.stop(),
    () => proxy.stop(),
  );
  return { paths, proxy, address: withLogin(proxy) };
}

async function credentialsBehind(address: string, server = `https://${name}`) {
  const { ca } = await testCertificates();
  return {
    server,
    tls: { ca, servername: "localhost", rejectUnauthorized: true },
    proxy: await parsed(address),
    authorization: async () => undefined,
    forget() {},
  } satisfies Credentials;
}

const clock = systemClock;

/** Each way in which Latchkey connects; resolves to what came of a request. */
const ways = {
  "a request": async (credentials) => {
    const terms = { connections: 1, timeoutMs: 5_000, mostBytes: 1_000 };
    const transport = createTransport({ ...terms, credentials, clock });
    closing.push(() => transport.close());
    return (await transport.request({ method: "GET", path: "/version" })).text;
  },
  "a watch": async (credentials) => {
    const terms = { connections: 1, timeoutMs: 5_000, mostBytes: 1_000 };
    const transport = createTransport({ ...terms, credentials, clock });
    closing.push(() => transport.close());
    const answer = await transport.stream({ method: "GET", path: "/version" });
    return String(answer.status);
  },
  "a forwarded request": async (credentials) => {
    const terms = { connections: 1, headTimeoutMs: 5_000 };
    const forwarder = createForwarder({ ...terms, credentials, clock });
    closing.push(() => forwarder.close());
    const { promise, resolve: fulfil, reject } = Promise.withResolvers<string>();
    forwarder.forward(
      {
        method: "GET",
        target: "/version",
        headers: [],
        isProxied: false,
        body: undefined,
        kind: "answer",
        sharer: { user: "alice", key: "a" },
      },
      {
        onHead: (status) => fulfil(String(status)),
        onData: () => true,
        onEnd() {},
        onError: (failure) => reject(new Error(failure)),
      },
    );
    return promise;
  },
  "an upgrade": async (credentials) => {
    const { promise, resolve: fulfil, reject } = Promise.withResolvers<string>();
    requestUpgrade(
      { method: "GET", target: "/version", headers: [], isProxied: false },
      {
        onUpgrade: (_answer, socket) => void socket.destroy(),
        onAnswer(answer) {
          answer.resume();
          fulfil(String(answer.statusCode));
        },
        onError: (failure) => reject(new Error(failure)),
      },
      { credentials, headTimeoutMs: 5_000, clock },
    );
    return promise;
  },
  "a document": async ({ server, tls, proxy }) => {
    // The certificate is for another name, so the document is at an address of it.
    const document = new HttpsDocument({
      url: `${server}/version`,
      ca: () => tls.ca ?? "",
      mostBytes: 1_000,
      timeoutMs: 5_000,
      clock,
      proxyOf: () => proxy,
    });
    closing.push(() => document.close());
    const { bytes } = await document.fetch();
    return Buffer.from(bytes ?? []).toString();
  },
} satisfies Record<string, (credentials: Credentials) => Promise<string>>;

describe.each(kinds)("through %s", (kind) => {
  test.each(["a request", "a watch", "a forwarded request", "an upgrade"] as const)(
    "%s reaches a server whose name only the proxy knows",
    async (way) => {
      const { paths, proxy, address } = await startBehind(kind);
      expect(await ways[way](await credentialsBehind(address))).toMatch(/^(\{\}|200)$/);
      expect([paths, proxy.asked]).toEqual([["/version"], [name]]);
    },
  );

  test("a command of a user reaches it, as the kubeconfig says", async () => {
    const { paths, proxy, address } = await startBehind(kind);
    const { ca } = await testCertificates();
    const connection = await connectUser(
      {
        ...fakeChoice,
        server: `https://${name}`,
        certificateAuthority: { kind: "data", base64: Buffer.from(ca).toString("base64") },
        tlsServerName: "localhost",
        proxyUrl: address,
      },
      { clock, env: {}, isInteractive: false, onWarning() {}, timeoutMs: 5_000 },
    );
    closing.push(() => connection.close());
    for (const path of ["/one", "/two"])
      expect(await connection.request({ method: "GET", path })).toMatchObject({ status: 200 });
    expect([paths, proxy.asked]).toEqual([["/one", "/two"], [name]]);
  });
});

test.each(["an HTTP proxy", "a SOCKS5 proxy"] as const)(
  "a document of an issuer comes through %s, whose server has a certificate for its name",
  async (kind) => {
    const front = await startHttpsFront((_request, response: ServerResponse) => response.end("{}"));
    const proxy = await proxies[kind]({ "localhost:443": front.url });
    closing.push(
      () => front.stop(),
      () => proxy.stop(),
    );
    const credentials = await credentialsBehind(proxy.url, "https://localhost");
    expect(await ways["a document"](credentials)).toBe("{}");
    expect(proxy.asked).toEqual(["localhost:443"]);
  },
);

test.each([
  ["an HTTP proxy", "https://[fd00::1]:6443", "[fd00::1]:6443"],
  ["an HTTP proxy", "https://10.0.0.1", "10.0.0.1:443"],
  ["a SOCKS5 proxy", "https://[fd00::1]:6443", "[fd000000000000000000000000000001]:6443"],
  ["a SOCKS5 proxy", "https://[1:2:3:4:5:6:7:abcd]", "[0001000200030004000500060007abcd]:443"],
  ["a SOCKS5 proxy", "https://10.0.0.1:6443", "10.0.0.1:6443"],
] as const)("%s is asked for %s as %s", async (kind, server, asked) => {
  const proxy = await proxies[kind]({});
  closing.push(() => proxy.stop());
  const credentials = await credentialsBehind(proxy.url, server);
  await expect(ways["a request"](credentials)).rejects.toMatchObject({ code: "Network" });
  expect(proxy.asked).toEqual([asked]);
});

test("TLS is with the server itself: a proxy that answers in its place is refused", async () => {
  const front = await startHttpsFront((_request, response: ServerResponse) => response.end("{}"));
  const proxy = await startConnectProxy({ [name]: front.url });
  closing.push(
    () => front.stop(),
    () => proxy.stop(),
  );
  const credentials = await credentialsBehind(proxy.url);
  const { ca: _ca, ...tls } = credentials.tls;
  await expect(ways["a request"]({ ...credentials, tls })).rejects.toMatchObject({
    message: expect.stringMatching(/: (UNABLE_TO_VERIFY_LEAF|SELF_SIGNED|UNABLE_TO_GET)/),
  });
});

test("a tunnel ends with the connection that was to go through it", async () => {
  const ended = Promise.withResolvers<void>();
  // The server behind the proxy never says anything.
  const address = await startPeer("http", (socket) => {
    socket.once("data", () => void socket.write("HTTP/1.1 200 OK\r\n\r\n"));
    socket.once("close", () => ended.resolve());
  });
  const { tls, proxy } = await credentialsBehind(address);
  const document = new HttpsDocument({
    url: `https://${name}/`,
    ca: () => tls.ca,
    mostBytes: 1_000,
    timeoutMs: 30_000,
    connectTimeoutMs: 300,
    clock,
    proxyOf: () => proxy,
  });
  closing.push(() => document.close());
  await expect(document.fetch()).rejects.toThrow("UND_ERR_CONNECT_TIMEOUT");
  await ended.promise;
});

test("the certificate of an https proxy is verified, whatever the server's may be", async () => {
  const { address } = await startBehind("an HTTP proxy over TLS");
  const { proxy, ...credentials } = await credentialsBehind(address);
  const { ca: _ca, ...unknown } = proxy;
  const tls = { rejectUnauthorized: false };
  await expect(ways["a request"]({ ...credentials, tls, proxy: unknown })).rejects.toThrow(
    /the proxy https:\/\/127\.0\.0\.1:\d+ failed: (UNABLE_TO|SELF_SIGNED)/,
  );
});

/** A server that does this with each connection, as the address of a proxy. */
async function startPeer(scheme: string, serve: (socket: Socket) => void): Promise<string> {
  const sockets = new KeptSockets();
  const server = createTcpServer((socket) => {
    sockets.keep(socket);
    serve(socket);
  });
  const port = await listenLocally(server);
  closing.push(() => endServer(server, sockets));
  return `${scheme}://me:can%40ry@127.0.0.1:${port}`;
}

const says = (bytes: string | readonly number[]) => (socket: Socket) =>
  void socket.once("data", () =>
    socket.end(typeof bytes === "string" ? bytes : Buffer.from(bytes)),
  );

describe("a proxy that lets nothing through is named with its answer, and without its login", () => {
  test.each<[string, string, (socket: Socket) => void, RegExp]>([
    ["is forbidden", "http", says("HTTP/1.1 403 can@ry\r\n\r\n"), /answered 403 Forbidden$/],
    ["wants a login", "http", says("HTTP/1.1 407 x\r\n\r\n"), /answered 407 Proxy Authentication/],
    ["has no way", "http", says("HTTP/1.1 502 x\r\n\r\n"), /answered 502 Bad Gateway$/],
    [
      "redirects",
      "http",
      says("HTTP/1.1 302 x\r\nLocation: /login\r\n\r\n"),
      /answered 302 Found$/,
    ],
    ["has its own status", "http", says("HTTP/1.1 599 x\r\n\r\n"), /answered 599$/],
    ["is not HTTP", "http", says("SSH-2.0-can@ry\r\n"), /failed: HPE_/],
    ["closes", "http", says(""), /failed: ECONNRESET$/],
    ["closes at once", "http", (socket) => void socket.destroy(), /failed: ECONNRESET$/],
    ["has an endless head", "http", says(`HTTP/1.1 200 ${"x".repeat(100_000)}`), /failed: HPE_/],
    ["is not TLS", "https", says("HTTP/1.1 400 x\r\n\r\n"), /failed: ERR_SSL_/],
    ["is not SOCKS", "socks5", says("HTTP/1.1 400 x\r\n\r\n"), /failed: it does not speak SOCKS5$/],
    ["has no method", "socks5", says([5, 255]), /failed: it does not accept the user and pass/],
    ["closes early", "socks5", says([5]), /failed: it closed the connection$/],
    ["closes a SOCKS", "socks5", (socket) => void socket.destroy(), /failed: (it closed|ECONNR)/],
    [
      "refuses",
      "socks5",
      says([5, 0, 5, 2, 0, 1, 0, 0, 0, 0, 0, 0]),
      /failed: the connection is not/,
    ],
    ["has its own reply", "socks5", says([5, 0, 5, 99, 0, 1]), /failed: reply 99$/],
  ])("%s", async (_what, scheme, serve, problem) => {
    const address = await startPeer(scheme, serve);
    const credentials = await credentialsBehind(address);
    const port = new URL(address).port;
    for (const way of ["a request", "a watch", "a document"] as const) {
      const failed = await ways[way](credentials).then(String, (error: Error) => error.message);
      expect(failed).toMatch(problem);
      expect(failed).toContain(`the proxy ${scheme}://127.0.0.1:${port} `);
      expect(failed).not.toMatch(/can@ry|can%40ry|Y2Fu/);
    }
    for (const way of ["a forwarded request", "an upgrade"] as const)
      await expect(ways[way](credentials)).rejects.toThrow(/^proxy$/);
  });

  test("is not there", async () => {
    const credentials = await credentialsBehind("http://127.0.0.1:1");
    await expect(ways["a request"](credentials)).rejects.toThrow(
      "the proxy http://127.0.0.1:1 failed: ECONNREFUSED",
    );
  });

  test("is silent", async () => {
    const address = await startPeer("http", () => {});
    const { tls, proxy } = await credentialsBehind(address);
    const document = new HttpsDocument({
      url: `https://${name}/`,
      ca: () => tls.ca,
      mostBytes: 1_000,
      timeoutMs: 30_000,
      connectTimeoutMs: 300,
      clock,
      proxyOf: () => proxy,
    });
    closing.push(() => document.close());
    await expect(document.fetch()).rejects.toThrow(/failed: no answer in 300 ms$/);
  });
});
