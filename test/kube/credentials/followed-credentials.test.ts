import { chmodSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { FollowedCredentials } from "../../../src/kube/credentials/followed-credentials.ts";
import {
  foreignCredentials,
  loadCredentials,
  podCredentials,
} from "../../../src/kube/credentials/load-credentials.ts";
import { createTransport, type Transport } from "../../../src/kube/client/transport.ts";
import { newTestCertificates, type TestCertificates } from "../../support/gateway-fixture.ts";
import { endServer, listenLocally } from "../../support/local-server.ts";
import { TestClock } from "../../support/test-clock.ts";

const [one, two] = await Promise.all([newTestCertificates(), newTestCertificates()]);
const bundle = one.ca + two.ca;

let directory = "";
const closing: (() => Promise<unknown>)[] = [];
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), "latchkey-followed-"))));
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  rmSync(directory, { recursive: true });
});

interface ApiServer {
  readonly url: string;
  present(certificates: TestCertificates): void;
  /** The header that it accepts; every other one is 401. */
  accept(authorization: string): void;
  stop(): Promise<void>;
}

/** An HTTPS server with the certificate of `one`. */
async function startApiServer(): Promise<ApiServer> {
  let accepted: string | undefined;
  const contextOf = ({ tls }: TestCertificates) => ({
    cert: tls.certificate,
    key: tls.privateKey,
  });
  const server: Server = createServer(contextOf(one), ({ headers }, response) => {
    const isAccepted = accepted === undefined || headers.authorization === accepted;
    response.writeHead(isAccepted ? 200 : 401).end("{}");
  });
  const port = await listenLocally(server);
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    server.closeAllConnections();
    await endServer(server, []);
  };
  closing.push(stop);
  return {
    url: `https://127.0.0.1:${port}`,
    present(certificates) {
      server.setSecureContext(contextOf(certificates));
      server.closeAllConnections();
    },
    accept: (authorization) => void (accepted = authorization),
    stop,
  };
}

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(`${path}.draft`, text);
  renameSync(`${path}.draft`, path);
  return path;
}

interface Written {
  readonly server: string;
  readonly cluster?: object;
  readonly user?: object;
}

/** Writes a kubeconfig (as JSON, which is YAML). */
function kubeconfig({ server, cluster = {}, user = { token: "a" } }: Written): string {
  const config = {
    "current-context": "a",
    clusters: [{ name: "a", cluster: { server, ...cluster } }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    users: [{ name: "a", user }],
  };
  return file("kubeconfig", JSON.stringify(config));
}

const trusting = (ca: string) => ({
  "certificate-authority-data": Buffer.from(ca).toString("base64"),
});

/** A transport with these credentials; requests say their status, or the code of their error. */
function over(credentials: FollowedCredentials, clock: TestClock) {
  const transport: Transport = createTransport({
    credentials,
    clock,
    connections: 2,
    timeoutMs: 10_000,
    mostBytes: 1_000,
  });
  closing.push(() => transport.close());
  return async (): Promise<number | string> => {
    try {
      return (await transport.request({ method: "GET", path: "/version" })).status;
    } catch (error) {
      return error instanceof Error ? error.message.replace("GET /version: ", "") : "";
    }
  };
}

const notVerified = /UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT|SELF_SIGNED/;

/** Writes what a process trusts, in each of the ways that it may read that. */
const ways: readonly (readonly [
  string,
  (server: string, ca: string) => void,
  (server: string, clock: TestClock) => Promise<FollowedCredentials>,
])[] = [
  [
    "ca.crt of its ServiceAccount",
    (_server, ca) => void [file("ca.crt", ca), file("token", "a")],
    (server, clock) => {
      const [host = "", port = ""] = server.replace("https://", "").split(":");
      return podCredentials({ host, port }, { clock, log: undefined }, directory);
    },
  ],
  [
    "its kubeconfig",
    (server, ca) => void kubeconfig({ server, cluster: trusting(ca) }),
    (_server, clock) =>
      loadCredentials({ kubeconfig: join(directory, "kubeconfig"), env: {} }, clock),
  ],
  [
    "a file that its kubeconfig names",
    (server, ca) =>
      void kubeconfig({ server, cluster: { "certificate-authority": file("ca.crt", ca) } }),
    (_server, clock) =>
      loadCredentials({ kubeconfig: join(directory, "kubeconfig"), env: {} }, clock),
  ],
  [
    "the kubeconfig of another cluster",
    (server, ca) => void kubeconfig({ server, cluster: trusting(ca) }),
    (_server, clock) =>
      foreignCredentials({ kubeconfig: join(directory, "kubeconfig"), env: {} }, clock),
  ],
];

describe.each(ways)("a process that trusts %s", (_what, write, load) => {
  test("is served before, while and after the CA is rotated", async () => {
    const [server, clock] = [await startApiServer(), new TestClock()];
    write(server.url, one.ca);
    const ask = over(await load(server.url, clock), clock);
    expect(await ask()).toBe(200);
    write(server.url, bundle);
    clock.advance(2_000);
    expect(await ask()).toBe(200);
    server.present(two);
    expect(await ask()).toBe(200);
    write(server.url, two.ca);
    clock.advance(2_000);
    expect(await ask()).toBe(200);
    server.present(one);
    expect(await ask()).toMatch(notVerified);
  });

  test("is served again two seconds after a file that came too late", async () => {
    const [server, clock] = [await startApiServer(), new TestClock()];
    write(server.url, one.ca);
    const credentials = await load(server.url, clock);
    const { part } = credentials;
    const ask = over(credentials, clock);
    expect(await ask()).toBe(200);
    server.present(two);
    expect(await ask()).toMatch(notVerified);
    expect(part.warnings?.()).toEqual([expect.stringMatching(notVerified)]);
    write(server.url, two.ca);
    clock.advance(2_000);
    expect(await ask()).toBe(200);
    expect([part.problems?.(), part.warnings?.()]).toEqual([[], []]);
  });

  const begun = "-----BEGIN CERTIFICATE-----\n";
  const invalid = `${begun}AAAA\n-----END CERTIFICATE-----\n`;
  test.each([" ", `${begun}MII`, `${one.ca}${begun}MII`, invalid, "no certificate"])(
    "keeps what it has when the new content is %j, and says it",
    async (broken) => {
      const [server, clock] = [await startApiServer(), new TestClock()];
      write(server.url, one.ca);
      const credentials = await load(server.url, clock);
      const ask = over(credentials, clock);
      write(server.url, broken);
      clock.advance(2_000);
      expect(await ask()).toBe(200);
      expect(credentials.part.warnings?.()).toEqual([
        expect.stringMatching(/cannot be used: .*; the former content stays in use/),
      ]);
    },
  );
});

test("a token file that is missing is said with its path", async () => {
  const [server, clock] = [await startApiServer(), new TestClock()];
  const tokenFile = file("token", "a");
  const path = kubeconfig({
    server: server.url,
    cluster: trusting(one.ca),
    user: { tokenFile: "token" },
  });
  const credentials = await loadCredentials({ kubeconfig: path, env: {} }, clock);
  const ask = over(credentials, clock);
  expect(await ask()).toBe(200);
  rmSync(tokenFile);
  for (const seconds of [61, 11]) {
    clock.advance(seconds * 1_000);
    expect(await ask()).toBe(`the kubeconfig names "${tokenFile}", which cannot be read: ENOENT`);
  }
  expect(credentials.part.warnings?.()).toEqual([expect.stringContaining(`"${tokenFile}"`)]);
});

test("the password that the address of a server may have is not said", async () => {
  const clock = new TestClock();
  const path = kubeconfig({
    server: "https://alice:canary@127.0.0.1:1",
    cluster: trusting(one.ca),
  });
  const { part, noteAnswer } = await loadCredentials({ kubeconfig: path, env: {} }, clock);
  noteAnswer({ kind: "refused", cause: "401" });
  expect(part.warnings?.()).toEqual([
    expect.stringMatching(/^https:\/\/127\.0\.0\.1:1 has served/),
  ]);
});

describe("a server that refuses", () => {
  /** Asks every second until so many seconds have passed. */
  async function askFor(seconds: number, ask: () => Promise<unknown>, clock: TestClock) {
    for (let second = 0; second < seconds; second += 1) {
      await ask();
      clock.advance(1_000);
    }
  }
  async function refusing() {
    const [server, clock] = [await startApiServer(), new TestClock()];
    const path = kubeconfig({ server: server.url, cluster: trusting(one.ca) });
    const credentials = await loadCredentials({ kubeconfig: path, env: {} }, clock);
    const ask = over(credentials, clock);
    await ask();
    return { server, clock, ask, part: credentials.part };
  }

  test.each<[string, (server: ApiServer) => void, RegExp]>([
    ["its certificate", (server) => server.present(two), notVerified],
    ["the credential", (server) => server.accept("Bearer b"), /401/],
  ])("by %s is not ready after 30 s, and not live after two minutes", async (_, refuse, why) => {
    const { server, clock, ask, part } = await refusing();
    refuse(server);
    await askFor(30, ask, clock);
    expect(part.problems?.()).toEqual([expect.stringMatching(why)]);
    await askFor(90, ask, clock);
    expect(part.restartReasons?.()).toEqual([]);
    await askFor(1, ask, clock);
    expect(part.restartReasons?.()).toEqual([expect.stringMatching(why)]);
  });

  test("and is silent then leaves the process live", async () => {
    const { server, clock, ask, part } = await refusing();
    server.present(two);
    await askFor(130, ask, clock);
    expect(part.restartReasons?.()).toHaveLength(1);
    await server.stop();
    await askFor(21, ask, clock);
    expect(part.restartReasons?.()).toEqual([]);
    expect(part.warnings?.()).toEqual([expect.stringMatching(/^no answer .*: ECONNREFUSED$/)]);
  });

  test("by silence leaves the process live, however long", async () => {
    const { server, clock, ask, part } = await refusing();
    await server.stop();
    await askFor(600, ask, clock);
    expect(part.restartReasons?.()).toEqual([]);
    expect([...(part.problems?.() ?? []), ...(part.warnings?.() ?? [])]).toEqual([
      expect.stringMatching(/^no answer .*: ECONNREFUSED$/),
    ]);
  });
});

describe("a kubeconfig that changes", () => {
  const setUp = async (written: Omit<Written, "server"> = {}) => {
    const [server, clock] = [await startApiServer(), new TestClock()];
    const write = (changes: Partial<Written> = {}) =>
      kubeconfig({ server: server.url, cluster: trusting(one.ca), ...written, ...changes });
    const env = { PATH: process.env.PATH };
    const credentials = await loadCredentials({ kubeconfig: write(), env }, clock);
    return { server, clock, write, credentials, ask: over(credentials, clock) };
  };

  test("gives its new token to a request that was refused", async () => {
    const { server, write, ask } = await setUp();
    expect(await ask()).toBe(200);
    write({ user: { token: "b" } });
    server.accept("Bearer b");
    expect(await ask()).toBe(200);
  });

  test("leads to its new address", async () => {
    const { server, write, ask, clock } = await setUp();
    expect(await ask()).toBe(200);
    const other = await startApiServer();
    write({ server: `${other.url}/prefix` });
    await server.stop();
    clock.advance(2_000);
    expect(await ask()).toBe(200);
  });

  test("leads requests under way to their end at the former address", async () => {
    const { clock, write, credentials } = await setUp();
    const held = Promise.withResolvers<void>();
    const slow = createServer(
      { cert: one.tls.certificate, key: one.tls.privateKey },
      (_, response) => void held.promise.then(() => response.end("late")),
    );
    const port = await listenLocally(slow);
    closing.push(() => endServer(slow, []));
    const transport = createTransport({
      credentials,
      clock,
      connections: 2,
      timeoutMs: 10_000,
      mostBytes: 1_000,
    });
    closing.push(() => transport.close());
    write({ server: `https://127.0.0.1:${port}` });
    clock.advance(2_000);
    const arrived = new Promise((resolve) => slow.once("request", resolve));
    const late = transport.request({ method: "GET", path: "/late" });
    await arrived;
    write();
    clock.advance(2_000);
    expect((await transport.request({ method: "GET", path: "/" })).status).toBe(200);
    held.resolve();
    expect(await late).toMatchObject({ status: 200, text: "late" });
  });

  test("is used when a link to it is replaced, as a kubelet does", async () => {
    const { server, clock, write, credentials } = await setUp();
    write();
    const link = join(directory, "link");
    symlinkSync(join(directory, "kubeconfig"), link);
    const linked = await loadCredentials({ kubeconfig: link, env: {} }, clock);
    expect(await linked.authorization()).toBe("Bearer a");
    renameSync(join(directory, "kubeconfig"), join(directory, "former"));
    kubeconfig({ server: server.url, cluster: trusting(one.ca), user: { token: "b" } });
    renameSync(join(directory, "kubeconfig"), join(directory, "latter"));
    symlinkSync(join(directory, "latter"), `${link}.draft`);
    renameSync(`${link}.draft`, link);
    clock.advance(2_000);
    expect(await linked.authorization()).toBe("Bearer b");
    // The path of the others has no file now.
    expect(await credentials.authorization()).toBe("Bearer a");
  });

  test.each<[string, (path: string) => void, RegExp]>([
    ["half-written", (path) => writeFileSync(path, "users: [canary"), /not a valid kubeconfig/],
    ["empty", (path) => writeFileSync(path, ""), /no current context/],
    ["missing", (path) => rmSync(path), /ENOENT/],
    [
      "without its certificate file",
      () => kubeconfig({ server: "https://a", cluster: { "certificate-authority": "none" } }),
      /ENOENT/,
    ],
    ["without TLS", () => kubeconfig({ server: "http://a" }), /without TLS/],
    ["without an address", () => kubeconfig({ server: "a" }), /is not a URL/],
    [
      "with a key of another certificate",
      () =>
        kubeconfig({
          server: "https://a",
          user: {
            "client-certificate-data": Buffer.from(one.tls.certificate).toString("base64"),
            "client-key-data": Buffer.from(two.tls.privateKey).toString("base64"),
          },
        }),
      /KEY_VALUES_MISMATCH/,
    ],
  ])("is not used while it is %s, which is said without its content", async (_, change, why) => {
    const { clock, ask, credentials } = await setUp();
    change(join(directory, "kubeconfig"));
    clock.advance(2_000);
    expect(await ask()).toBe(200);
    expect(credentials.part.warnings?.()).toEqual([expect.stringMatching(why)]);
    expect(credentials.part.warnings?.().join("")).not.toMatch(/canary|BEGIN|--kubeconfig/);
  });

  test("does not run the program that it names again, and uses each certificate of it", async () => {
    const printed = (token: string, { tls }: TestCertificates): string =>
      JSON.stringify({
        status: { token, clientCertificateData: tls.certificate, clientKeyData: tls.privateKey },
      });
    file("printed", printed("a", one));
    const lines = ["#!/bin/sh", 'cd "$(dirname "$0")"', "echo >> runs", "cat printed"];
    chmodSync(file("login", lines.join("\n")), 0o700);
    const { clock, credentials } = await setUp({ user: { exec: { command: "./login" } } });
    expect(credentials.tls.cert).toBe(one.tls.certificate);
    const first = credentials.tls;
    clock.advance(60_000);
    expect([await credentials.authorization(), credentials.tls]).toEqual(["Bearer a", first]);
    expect(credentials.tls).toBe(first);
    file("printed", printed("b", two));
    credentials.forget();
    expect(await credentials.authorization()).toBe("Bearer b");
    expect(credentials.tls.cert).toBe(two.tls.certificate);
  });
});
