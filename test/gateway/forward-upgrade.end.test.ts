import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { afterEach, describe, expect, it } from "vitest";
import type { AdmittedRequest } from "../../src/gateway/admit-request.ts";
import type { ForwardResult } from "../../src/gateway/forward-state.ts";
import { ForwardedUpgrade } from "../../src/gateway/forward-upgrade.ts";
import { createForwarder } from "../../src/kube/forward/forwarder.ts";
import { bodyShares } from "../../src/gateway/own-body.ts";
import type { UpgradeExchange } from "../../src/runtime/exchange.ts";
import { eventually } from "../support/eventually.ts";
import { fakeCredentials } from "../support/fake-credentials.ts";
import { TestClock } from "../support/test-clock.ts";

const closings: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0)) await close();
});

async function listening(server: ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closings.push(() => server.close());
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Starts an API server that answers every upgrade with 101 and a greeting, then calls `serve`. */
async function upstream(serve: (socket: Duplex) => void): Promise<string> {
  const server = createHttpServer();
  server.on("upgrade", (_request, socket) => {
    socket.on("error", () => {});
    closings.push(() => socket.destroy());
    socket.write(
      "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\nhello",
    );
    serve(socket);
  });
  return `http://127.0.0.1:${await listening(server)}`;
}

const alice = { username: "alice", groups: [], extra: {} };
const admitted: Omit<AdmittedRequest, "server"> = {
  kind: "admitted",
  method: "GET",
  framing: { kind: "none" },
  required: [],
  mayEndKey: false,
  target: {
    kind: "target",
    upstream: { kind: "management" },
    prefix: "/kubernetes/management",
    path: "/api",
    query: "",
  },
  upstream: { kind: "management" },
  request: { kind: "path", verb: "get", path: "/api" },
  user: alice,
  credential: {
    kind: "credential",
    id: "uid-alice",
    user: alice,
    isScoped: false,
    noun: "an access key",
    sharedAs: "alice",
    authorize: () => Promise.resolve({ kind: "no-opinion" }),
    authorizeNow: () => ({ kind: "no-opinion" }),
    isValid: () => true,
    endsAt: () => Infinity,
  },
  sharer: { user: "alice", key: "uid-alice" },
  subprotocols: undefined,
};

interface Client {
  readonly socket: Socket;
  readonly text: () => string;
  /** Whether the connection ended with an error. */
  readonly closed: Promise<boolean>;
}

/** Connects a client; `serve` gets the connection after the head of an upgrade. */
async function client(serve: (exchange: UpgradeExchange) => void): Promise<Client> {
  const front = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    const head: UpgradeExchange["head"] = {
      method: "GET",
      target: "/",
      rawHeaders: ["connection", "Upgrade", "upgrade", "websocket"],
      httpVersion: "1.1",
      isUpgrade: true,
      peerAddress: "127.0.0.1",
    };
    serve({ head, socket, received: Buffer.alloc(0), accepted() {} });
  });
  const socket = connect({ port: await listening(front), host: "127.0.0.1", allowHalfOpen: true });
  closings.push(() => socket.destroy());
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
  let hasFailed = false;
  socket.on("error", () => (hasFailed = true));
  const closed = new Promise<boolean>((resolve) => socket.on("close", () => resolve(hasFailed)));
  return { socket, text: () => text, closed };
}

interface Gateway {
  readonly clock: TestClock;
  readonly results: readonly ForwardResult[];
  readonly forward: (exchange: UpgradeExchange) => void;
}

function gateway(server: string): Gateway {
  const { credentials } = fakeCredentials(server);
  const clock = new TestClock();
  const forwarder = createForwarder({ credentials, clock, headTimeoutMs: 1_000, connections: 1 });
  closings.push(() => forwarder.close());
  const discovery = { known: () => undefined, find: async () => "Unknown" as const };
  const request = { ...admitted, server: { forwarder, credentials, discovery } };
  const results: ForwardResult[] = [];
  return {
    clock,
    results,
    forward(exchange) {
      const onEnd = (result: ForwardResult): void => void results.push(result);
      new ForwardedUpgrade(exchange, request, { clock, bodies: bodyShares(), onEnd }).start();
    },
  };
}

describe("an upgrade whose API server closes the connection", () => {
  it("lets a client that still sends read everything, and closes without an error", async () => {
    const served = Promise.withResolvers<Duplex>();
    const { forward, results } = gateway(await upstream((socket) => served.resolve(socket)));
    const { socket, text, closed } = await client(forward);
    // More than all buffers hold, so that the gateway has unread input.
    const sent = new Promise<void>((resolve) =>
      socket.end(Buffer.alloc(32 * 1024 * 1024), () => resolve()),
    );
    await eventually(() => text().endsWith("hello"), { what: "the greeting", every: 5 });
    (await served.promise).destroy();
    await sent;
    expect(await closed).toBe(false);
    await eventually(() => results.length > 0, { what: "the end of the upgrade", every: 5 });
    expect(results).toMatchObject([{ status: 101 }]);
  });
});
