import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { emptyScope } from "../support/empty-scope.ts";
import { frontWays, requestTextOf, type WayFixture } from "../support/front-ways.ts";
import { aliceKey, keyOf, startGateway } from "../support/gateway-fixture.ts";
import { type RawConnection, rawConnection, requestText } from "../support/raw-client.ts";
import { answerText, respondOk, type Respond } from "../support/upstream-recorder.ts";

const exec = "GET /api/v1/namespaces/web/pods/a/exec?command=sh";
const fields = [
  ...["Connection: keep-alive, Upgrade", "Upgrade: WebSocket"],
  ...[
    "Sec-WebSocket-Key: k",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Protocol: v5.channel.k8s.io",
  ],
];

describe.each(frontWays)("through the $name", (way) => {
  const textOf = requestTextOf(way);
  let gateway: WayFixture;
  beforeAll(async () => {
    gateway = await way.start();
  });
  beforeEach(() => {
    gateway.recorder.forget();
    gateway.recorder.respond = respondOk;
    gateway.restore();
  });
  afterAll(() => gateway.close());

  const ask = textOf(exec, fields);

  /** Changes the protocol, and says `text` in it. */
  const switching =
    (text = "", others = ""): Respond =>
    ({ connection }, socket) => {
      connection.becomeTunnel();
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s\r\n${others}\r\n${text}`,
      );
    };

  /** Says `text` after the change of the protocol, and no more. */
  const sayingAll =
    (text: string): Respond =>
    (request, socket) => {
      switching(text)(request, socket);
      socket.end();
    };

  async function upgrade(bytes = ask): Promise<RawConnection> {
    const connection = await rawConnection(gateway);
    connection.write(bytes);
    return connection;
  }

  const inFlight = () => gateway.inFlight.counts().upgrade;
  const lastUpstream = () => gateway.recorder.connections.at(-1);

  describe("an upgrade", () => {
    it("is asked for with the handshake, and without the client's credential", async () => {
      const secret = Buffer.from(way.alice).toString("base64url");
      const bytes = ask
        .replace(/Authorization: .*\r\n/, "")
        .replace("v5.channel", `base64url.bearer.authorization.k8s.io.${secret}, v5.channel`);
      const connection = await upgrade(bytes);
      await gateway.recorder.arrived(1);
      const [request] = gateway.recorder.requests;
      expect(request?.fields.filter(([name]) => /^(?:sec-|connection|upgrade)/.test(name))).toEqual(
        [
          ["sec-websocket-key", "k"],
          ["sec-websocket-version", "13"],
          ["sec-websocket-protocol", "v5.channel.k8s.io"],
          ["connection", "Upgrade"],
          ["upgrade", "websocket"],
        ],
      );
      expect(request?.connection.text()).not.toContain(secret);
      expect(request?.connection.text()).toContain("impersonate-user: alice");
      connection.destroy();
    });

    it("carries bytes both ways, from the first one on, which may come before the answer", async () => {
      gateway.recorder.respond = switching("welcome");
      const connection = await upgrade(`${ask}early`);
      await connection.until(({ text }) => text.endsWith("welcome"));
      connection.write(" and late");
      await connection.until(() => (lastUpstream()?.tunnelled().length ?? 0) >= 14);
      expect(lastUpstream()?.tunnelled().toString()).toBe("early and late");
      expect(connection.answer().text).toMatch(
        /^HTTP\/1\.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: s\r\n\r\nwelcome$/,
      );
      expect(inFlight()).toBe(1);
      connection.destroy();
      await connection.until(() => inFlight() === 0 && lastUpstream()?.isClosed() === true);
      expect([inFlight(), lastUpstream()?.isClosed()]).toEqual([0, true]);
    });

    it("ends for the client when it ends at the API server, with everything that was said", async () => {
      const big = "a".repeat(2_000_000);
      gateway.recorder.respond = sayingAll(big);
      const connection = await upgrade();
      const answer = await connection.until(({ isClosed }) => isClosed);
      connection.socket.end();
      expect(answer.text.endsWith(`\r\n\r\n${big}`)).toBe(true);
      await connection.until(() => inFlight() === 0);
      expect([answer.isClosed, inFlight()]).toEqual([true, 0]);
    });

    it("gives everything to a client that reads late, and that speaks meanwhile", async () => {
      const big = "a".repeat(2_000_000);
      gateway.recorder.respond = sayingAll(big);
      const connection = await upgrade();
      connection.socket.pause();
      const spoken = setInterval(() => connection.write("ping"), 100);
      await connection.until(() => lastUpstream()?.isClosed() === true);
      await new Promise((wake) => setTimeout(wake, 3_000));
      connection.socket.resume();
      const answer = await connection.until(({ isClosed }) => isClosed);
      clearInterval(spoken);
      connection.socket.end();
      expect(answer.text.length - answer.text.indexOf("\r\n\r\n") - 4).toBe(big.length);
      await connection.until(() => inFlight() === 0);
      expect(inFlight()).toBe(0);
    });

    it("ends at once on both sides when its key is not valid any more", async () => {
      gateway.recorder.respond = switching("welcome");
      const connection = await upgrade();
      await connection.until(({ text }) => text.endsWith("welcome"));
      gateway.revoke();
      const isOver = () => connection.answer().isClosed && lastUpstream()?.isClosed() === true;
      await connection.until(isOver);
      expect([isOver(), inFlight(), connection.answer().statuses]).toEqual([true, 0, [101]]);
    });

    it("without an answer gets 401 when its key is not valid any more", async () => {
      gateway.recorder.respond = () => {};
      const connection = await upgrade();
      await gateway.recorder.arrived(1);
      gateway.revoke();
      const answer = await connection.until(({ isClosed }) => isClosed);
      expect([answer.statuses, inFlight()]).toEqual([[401], 0]);
      await connection.until(() => lastUpstream()?.isClosed() === true);
      expect(lastUpstream()?.isClosed()).toBe(true);
    });

    it("needs the verb create beside that of its method", async () => {
      const reading = { verbs: ["get"], resources: [{ group: "", resources: ["pods/exec"] }] };
      const rule = {
        resourceNames: [],
        namespaces: [],
        nonResourceURLs: [],
        requestTargets: [],
        cluster: "",
        virtualClusters: [],
      };
      const scope = (verbs: readonly string[]) => ({
        ...emptyScope,
        rules: [{ ...reading, ...rule, verbs }],
      });
      const withScope = async (verbs: readonly string[]) =>
        ask.replace(way.alice, await gateway.scoped(scope(verbs)));
      const refused = await upgrade(await withScope(["get"]));
      expect((await refused.until(({ isClosed }) => isClosed)).statuses).toEqual([403]);
      expect(gateway.recorder.requests).toEqual([]);
      gateway.recorder.respond = switching();
      const allowed = await upgrade(await withScope(["get", "create"]));
      expect((await allowed.until(({ statuses }) => statuses.length > 0)).statuses).toEqual([101]);
      allowed.destroy();
      refused.destroy();
    });
  });

  describe("an answer that is no 101", () => {
    const next = `GET ${way.prefix}/smuggled HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${way.alice}\r\n\r\n`;

    it.each([
      [200, []],
      [302, ["Location: /elsewhere"]],
      [403, []],
      [404, []],
      [503, ["Retry-After: 1"]],
    ])(
      "%i makes no tunnel: what the client sends next is not forwarded",
      async (status, others) => {
        gateway.recorder.respond = (_request, socket) =>
          void socket.write(answerText(status, '{"a":1}', others));
        const connection = await upgrade(`${ask}early`);
        await connection.until(({ text }) => text.endsWith('{"a":1}'));
        connection.write(next);
        const answer = await connection.until(({ isClosed }) => isClosed);
        expect([answer.statuses, answer.isClosed]).toEqual([[status], true]);
        expect(answer.text).toMatch(/^connection: close$/im);
        expect([gateway.recorder.requests.length, gateway.recorder.malformed]).toEqual([1, []]);
        expect(lastUpstream()?.text()).not.toMatch(/early|smuggled/);
        await connection.until(() => inFlight() === 0 && lastUpstream()?.isClosed() === true);
        expect([inFlight(), lastUpstream()?.isClosed()]).toEqual([0, true]);
      },
    );

    it("makes no tunnel while it arrives, and is over when its client leaves", async () => {
      gateway.recorder.respond = (_request, socket) =>
        void socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello");
      const connection = await upgrade(`${ask}early`);
      await connection.until(({ text }) => text.endsWith("hello"));
      connection.write(next);
      await connection.until(() => false, 50);
      expect(lastUpstream()?.text()).not.toMatch(/early|smuggled/);
      expect(inFlight()).toBe(1);
      connection.destroy();
      await connection.until(() => inFlight() === 0 && lastUpstream()?.isClosed() === true);
      expect([inFlight(), lastUpstream()?.isClosed()]).toEqual([0, true]);
    });

    it("with a redirect to another server is 502", async () => {
      gateway.recorder.respond = (_request, socket) =>
        void socket.write(answerText(302, "", ["Location: https://elsewhere/exec"]));
      const connection = await upgrade();
      const answer = await connection.until(({ isClosed }) => isClosed);
      expect([answer.statuses, answer.text.includes("elsewhere")]).toEqual([[502], false]);
    });

    it("without a length arrives in chunks, so that its end is known", async () => {
      gateway.recorder.respond = (_request, socket) =>
        void socket.end(
          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        );
      const connection = await upgrade();
      const answer = await connection.until(({ isClosed }) => isClosed);
      expect(answer.text).toMatch(/transfer-encoding: chunked[^]*\r\n\r\n5\r\nhello\r\n0\r\n\r\n$/);
    });

    it.each([
      ["its length", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"],
      ["its last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"],
    ])("that ends before %s does not look whole", async (_what, bytes) => {
      gateway.recorder.respond = (_request, socket) => void socket.end(bytes);
      const connection = await upgrade();
      const answer = await connection.until(({ isClosed }) => isClosed);
      expect([answer.statuses, answer.isClosed]).toEqual([[200], true]);
      expect(answer.text).not.toContain("0\r\n\r\n");
      expect(answer.text).toMatch(/content-length: 100|transfer-encoding: chunked/);
      await connection.until(() => inFlight() === 0);
      expect(inFlight()).toBe(0);
    });

    it("of a HEAD or without a body has none", async () => {
      gateway.recorder.respond = (_request, socket) =>
        void socket.write("HTTP/1.1 204 No Content\r\n\r\n");
      const connection = await upgrade();
      const answer = await connection.until(({ isClosed }) => isClosed);
      expect(answer.text).toMatch(/^HTTP\/1\.1 204 No Content\r\nconnection: close\r\n\r\n$/);
    });
  });

  describe("an upstream 401 to an upgrade", () => {
    it("is not the client's: the credential is read afresh", async () => {
      const before = gateway.forgotten();
      gateway.recorder.respond = (request, socket) =>
        gateway.recorder.requests.length === 1
          ? void socket.write(answerText(401))
          : switching("welcome")(request, socket);
      const connection = await upgrade();
      await connection.until(({ text }) => text.endsWith("welcome"));
      expect([connection.answer().statuses, gateway.forgotten()]).toEqual([[101], before + 1]);
      const [first, second] = gateway.recorder.requests.map(({ fields: sent }) =>
        sent.find(([name]) => name === "authorization"),
      );
      expect(first).not.toEqual(second);
      connection.destroy();
      await connection.until(() => inFlight() === 0);
    });

    it("is 502 at the second time", async () => {
      gateway.recorder.respond = (_request, socket) => void socket.write(answerText(401));
      const connection = await upgrade();
      const answer = await connection.until(({ isClosed }) => isClosed);
      expect([answer.statuses, gateway.recorder.requests.length, inFlight()]).toEqual([
        [502],
        2,
        0,
      ]);
    });

    it("may be a backend's if it is below /proxy: it is passed on, and sent once", async () => {
      const before = gateway.forgotten();
      gateway.recorder.respond = (_request, socket) =>
        void socket.write(answerText(401, "who?", ['WWW-Authenticate: Basic realm="a"']));
      const connection = await upgrade(
        textOf("GET /api/v1/namespaces/web/pods/a/proxy/login", fields),
      );
      const answer = await connection.until(({ isClosed }) => isClosed);
      expect([answer.statuses, gateway.recorder.requests.length]).toEqual([[401], 1]);
      expect(answer.text).toMatch(/\r\nwww-authenticate: Basic realm="a"\r\n[^]*\r\n\r\nwho\?$/);
      expect(gateway.forgotten()).toBe(before + 1);
      await connection.until(() => inFlight() === 0);
    });
  });

  describe("a refused upgrade", () => {
    it("leaves no connection behind, although its client does not close it", async () => {
      const connection = await upgrade(ask.replace(way.alice, "another-key"));
      const answer = await connection.until(({ isClosed }) => isClosed);
      expect(answer.statuses).toEqual([401]);
      await connection.until(() => gateway.front.load().all === 0, 5_000);
      expect(gateway.front.load().all).toBe(0);
    });

    it("is 502 when the API server cannot be reached", async () => {
      gateway.recorder.respond = (_request, socket) => void socket.destroy();
      const connection = await upgrade();
      const answer = await connection.until(({ isClosed }) => isClosed);
      expect([answer.statuses, inFlight()]).toEqual([[502], 0]);
    });
  });
});

it("an upgrade whose client left while it was admitted is none", async () => {
  const gateway = await startGateway();
  const connection = await rawConnection(gateway);
  connection.write(requestText(exec, fields).replace(aliceKey, "a-new-key"));
  await connection.until(() => false, 20);
  connection.destroy();
  await connection.until(() => gateway.front.load().all === 0);
  gateway.keys.set("a-new-key", keyOf("alice"));
  const before = gateway.identifications.length;
  await connection.until(() => gateway.identifications.length > before);
  await connection.until(() => false, 50);
  expect([gateway.identifications.at(-1), gateway.inFlight.counts().upgrade]).toEqual([
    ...["authenticated", 0],
  ]);
  expect(gateway.recorder.requests).toEqual([]);
  await gateway.close();
});
