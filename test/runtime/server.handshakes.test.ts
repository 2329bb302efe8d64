import { connect as connectTcp, type Socket } from "node:net";
import { connect, createServer, type Server, type TLSSocket } from "node:tls";
import { afterEach, expect, it } from "vitest";
import { shareHandshakes } from "../../src/runtime/server.ts";
import { eventually } from "../support/eventually.ts";
import { testCertificates } from "../support/gateway-fixture.ts";
import { listenLocally } from "../support/local-server.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

/** A server that answers what it gets, with so many handshakes at a time. */
async function started(most: number) {
  const { ca, tls } = await testCertificates();
  const server: Server = createServer({ cert: tls.certificate, key: tls.privateKey }, (socket) =>
    socket.on("error", () => {}).pipe(socket),
  );
  shareHandshakes(server, most);
  const opened: Socket[] = [];
  server.on("connection", (socket: Socket) => opened.push(socket));
  const port = await listenLocally(server);
  closing.push(() => {
    for (const socket of opened) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const open = (localAddress: string): Socket =>
    connectTcp({ host: "127.0.0.1", port, localAddress }).on("error", () => {});
  /** Resolves with what comes back of a word. */
  const echo = (localAddress: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket: TLSSocket = connect({
        ...{ host: "127.0.0.1", port, localAddress },
        ca,
      });
      closing.push(() => socket.destroy());
      socket.on("error", reject).on("data", (bytes) => resolve(String(bytes)));
      socket.write("word");
    });
  return { opened, open, echo };
}

it("a handshake of another address does not wait for those of one that opens many", async () => {
  const { opened, open, echo } = await started(4);
  const flood = Array.from({ length: 50 }, () => open("127.0.0.2"));
  await eventually(() => opened.length === 50, { what: "the flood", every: 5 });
  expect(await echo("127.0.0.3")).toBe("word");
  expect(await echo("127.0.0.3")).toBe("word");
  for (const socket of flood) socket.destroy();
});

it("what a client sends while it waits is read when its turn comes", async () => {
  const { opened, open, echo } = await started(2);
  const [stalled] = [open("127.0.0.2")];
  await eventually(() => opened.length === 1, { what: "the stalled connection", every: 5 });
  let word: string | undefined;
  const waiting = echo("127.0.0.2").then((text) => (word = text));
  await eventually(() => opened.length === 2, { what: "the waiting connection", every: 5 });
  expect(await echo("127.0.0.3")).toBe("word");
  expect(word).toBeUndefined();
  stalled?.destroy();
  expect(await waiting).toBe("word");
});

it("a connection that ends while it waits leaves nothing", async () => {
  const { opened, open, echo } = await started(2);
  const [first, second] = [open("127.0.0.2"), open("127.0.0.2")];
  await eventually(() => opened.length === 2, { what: "both connections", every: 5 });
  second?.destroy();
  first?.destroy();
  expect(await echo("127.0.0.2")).toBe("word");
});
