import { createServer, type Server } from "node:https";
import { randomBytes } from "node:crypto";
import type { AddressInfo } from "node:net";
import { TLSSocket } from "node:tls";
import { Pool } from "undici";
import { afterEach, describe, expect, test } from "vitest";
import { type Clock, systemClock } from "../../../src/runtime/clock.ts";
import type { TlsMaterial } from "../../../src/kube/credentials/credentials.ts";
import { createTlsConnector } from "../../../src/kube/client/tls-connector.ts";
import { SecretText } from "../../../src/api/secret-text.ts";
import { issueCertificate, newCa } from "../../../src/tokens/certificate-signing.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { testCertificates } from "../../support/gateway-fixture.ts";

const running: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((stop) => stop()));
});

interface TestServer {
  readonly port: number;
  /** Whether each connection resumed a session, in the order in which they were opened. */
  readonly resumed: boolean[];
  /** Makes all sessions so far unknown, as a restart does. */
  forget(): void;
  /** Changes the certificate of later handshakes. */
  present(pair: { readonly certificate: string; readonly privateKey: string }): void;
  stop(): Promise<void>;
}

/** A server with one connection for each request, because it closes them after the response. */
async function startServer(port = 0): Promise<TestServer> {
  const { tls } = await testCertificates();
  const resumed: boolean[] = [];
  const server: Server = createServer(
    { cert: tls.certificate, key: tls.privateKey, minVersion: "TLSv1.3" },
    (request, response) => {
      if (request.socket instanceof TLSSocket) resumed.push(request.socket.isSessionReused());
      response.writeHead(200, { connection: "close" }).end("good");
    },
  );
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  running.push(stop);
  const address: AddressInfo | string | null = server.address();
  return {
    port: address !== null && typeof address === "object" ? address.port : 0,
    resumed,
    forget: () => server.setTicketKeys(randomBytes(48)),
    present: ({ certificate, privateKey }) =>
      server.setSecureContext({ cert: certificate, key: privateKey, minVersion: "TLSv1.3" }),
    stop,
  };
}

/** A pool with the connector; each request needs a new connection. */
function poolTo(port: number, tls: TlsMaterial, clock: Clock = systemClock): Pool {
  const connect = createTlsConnector({ tls, clock });
  const pool = new Pool(`https://127.0.0.1:${port}`, { connect });
  running.push(() => pool.destroy());
  return pool;
}

async function get(pool: Pool): Promise<string> {
  const { body } = await pool.request({ method: "GET", path: "/" });
  return body.text();
}

const trusting = async (): Promise<TlsMaterial> => ({
  ca: (await testCertificates()).ca,
  rejectUnauthorized: true,
});

describe("connections of one connector", () => {
  test("resume the session of an earlier one", async () => {
    const server = await startServer();
    const pool = poolTo(server.port, await trusting());
    for (let request = 0; request < 4; request += 1) expect(await get(pool)).toBe("good");
    expect(server.resumed).toEqual([false, true, true, true]);
  });

  test("resume it many at once, after a garbage collection", async () => {
    const server = await startServer();
    const pool = poolTo(server.port, await trusting());
    await get(pool);
    await collectGarbage();
    await Promise.all(Array.from({ length: 16 }, () => get(pool)));
    expect(server.resumed.slice(1)).toEqual(Array.from({ length: 16 }, () => true));
  });

  test("make a full handshake with a server that does not know the session", async () => {
    const server = await startServer();
    const pool = poolTo(server.port, await trusting());
    await get(pool);
    server.forget();
    expect(await get(pool)).toBe("good");
    expect(await get(pool)).toBe("good");
    expect(server.resumed).toEqual([false, false, true]);
  });

  test("make a full handshake each hour", async () => {
    const server = await startServer();
    let now = 0;
    const pool = poolTo(server.port, await trusting(), { ...systemClock, monotonic: () => now });
    for (const at of [0, 1, 3_599_999, 3_600_000, 3_600_001, 7_200_000]) {
      now = at;
      await get(pool);
    }
    expect(server.resumed).toEqual([false, true, true, false, true, false]);
  });

  test("do not share the session of another connector", async () => {
    const server = await startServer();
    await get(poolTo(server.port, await trusting()));
    await get(poolTo(server.port, await trusting()));
    expect(server.resumed).toEqual([false, false]);
  });
});

describe("the server is verified", () => {
  test("although a session of the former server is known", async () => {
    const server = await startServer();
    const pool = poolTo(server.port, await trusting());
    await get(pool);
    const terms = { dnsNames: ["127.0.0.1"], clientName: "none", now: Date.now() };
    const { certificate, privateKey } = await issueCertificate(
      "serving",
      await newCa(terms),
      terms,
    );
    server.forget();
    server.present({ certificate, privateKey: SecretText.reveal(privateKey) });
    await expect(get(pool)).rejects.toThrow(/certificate/);
    await expect(get(pool)).rejects.toThrow(/certificate/);
    expect(server.resumed).toEqual([false]);
  });

  test("by its name", async () => {
    const server = await startServer();
    const pool = poolTo(server.port, { ...(await trusting()), servername: "other.example" });
    await expect(get(pool)).rejects.toThrow(/other\.example/);
    expect(server.resumed).toEqual([]);
  });

  test("unless the kubeconfig says otherwise", async () => {
    const server = await startServer();
    const pool = poolTo(server.port, { rejectUnauthorized: false });
    expect(await get(pool)).toBe("good");
  });
});

test.each<[string, TlsMaterial]>([
  ["ca", { ca: "no certificate", rejectUnauthorized: true }],
  ["cert", { cert: "no certificate", key: "no key", rejectUnauthorized: true }],
])("an invalid %s is an error of each request", async (_, tls) => {
  const server = await startServer();
  const pool = poolTo(server.port, tls);
  await expect(get(pool)).rejects.toThrow(/PEM|certificate/i);
  await expect(get(pool)).rejects.toThrow(/PEM|certificate/i);
  expect(server.resumed).toEqual([]);
});
