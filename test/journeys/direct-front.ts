import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { beforeAll, expect, it } from "vitest";
import { bytesFor, type FrontWay } from "../support/front-ways.ts";
import { type DirectFixture, directPath, tokenPath } from "../support/direct-fixture.ts";
import { requesters } from "../support/actions.ts";
import { eventually } from "../support/eventually.ts";
import { askGateway, type GatewayRequest } from "../support/gateway-request.ts";
import { askRaw, rawConnection, requestText } from "../support/raw-client.ts";
import { headers, rawSession, type RawSession } from "../support/raw-http2.ts";
import { flooded, floodRows } from "../gateway/raw-floods.ts";
import { fieldRows, type FrameRow, requestFieldsOf } from "../gateway/raw-frames.ts";
import { framingRows, type RawRow } from "../gateway/raw-framing.ts";
import { headRows } from "../gateway/raw-heads.ts";
import { streamRows } from "../gateway/raw-streams.ts";
import { post, remove } from "../support/cluster-connection.ts";
import { formsOf } from "../support/secret-forms.ts";

const noForward = ({ forwarded }: { readonly forwarded: number }) => forwarded === 0;
const rawRows = [...framingRows, ...headRows].filter(noForward);

/** The rules of the rows and the names of the floods; their frames need the tokens. */
const unnamed = { prefix: directPath, alice: "", bob: "" };
const frameRules = [...fieldRows(unnamed), ...streamRows(unnamed)].filter(noForward);

/** The tests of how the process of a direct endpoint reads requests; its log level is debug. */
export function describeFront(given: () => DirectFixture): void {
  let fixture: DirectFixture;
  let way: Pick<FrontWay, "prefix" | "alice" | "bob">;
  let endpoint: { readonly port: number; readonly ca: string };
  let frames: ReadonlyMap<string, FrameRow>;

  beforeAll(async () => {
    fixture = given();
    const { url, certificateAuthority: ca } = fixture.server;
    endpoint = { port: Number(new URL(url).port), ca };
    const bob = { user: "bob", groups: ["devs", requesters] };
    way = {
      prefix: directPath,
      alice: await fixture.mint("raw"),
      bob: await fixture.mint("raw-bob", {}, bob),
    };
    frames = new Map([...fieldRows(way), ...streamRows(way)].map((row) => [row.rule, row]));
    await eventually(async () => (await next()).statuses[0] === 200, { what: "the token to work" });
  });

  const next = () => askRaw(endpoint, bytesFor(way, requestText("GET /api")));
  const auditLog = () => readFileSync(fixture.connected.auditLogPath ?? "", "utf8");

  it.each(rawRows.map((row) => [row.rule, row] as const))("%s", async (_rule, row: RawRow) => {
    const connection = await rawConnection(endpoint);
    connection.write(bytesFor(way, row.bytes));
    if (row.then !== undefined) await connection.until(() => false, 50);
    if (row.then === "end") connection.socket.end();
    if (row.then === "destroy") connection.destroy();
    const { statuses } = await connection.until(
      (answer) =>
        row.then !== undefined ||
        answer.isClosed ||
        (row.answers.length > 0 && answer.statuses.length >= row.answers.length),
    );
    expect(statuses).toEqual(row.answers);
    connection.destroy();
    expect((await next()).statuses).toEqual([200]);
  });

  it.each(frameRules.map(({ rule }) => rule))("over HTTP/2, %s", async (rule) => {
    const row = frames.get(rule);
    if (row === undefined) throw new Error("no such row");
    const session = await rawSession(endpoint, { acknowledges: row.acknowledges ?? true });
    await session.until(() => session.frames().length > 1, 200);
    session.write(...row.frames);
    if (row.later !== undefined) session.write(...row.later);
    const outcome = (): FrameRow["becomes"] => {
      const { status, resetCode } = session.stream(1);
      if (session.isClosed() || session.goawayCode() !== undefined) return "goaway";
      return status ?? (resetCode === undefined ? "nothing" : "reset");
    };
    await session.until(() => outcome() === row.becomes, row.becomes === "nothing" ? 100 : 10_000);
    expect(outcome()).toBe(row.becomes);
    session.destroy();
    expect((await next()).statuses).toEqual([200]);
  });

  it("let none of all that reach the API server, and none of it as another user", async () => {
    const marker = `marker-${randomBytes(8).toString("hex")}`;
    await askRaw(endpoint, bytesFor(way, requestText(`GET /api/v1/namespaces/${marker}`)));
    await eventually(() => auditLog().includes(marker), { what: "the audit log to be written" });
    const seen = auditLog()
      .split("\n")
      .filter((line) => line !== "")
      .map((line): { requestURI: string; impersonatedUser?: { username: string } } =>
        JSON.parse(line),
      );
    const ours = seen.filter(({ impersonatedUser }) => impersonatedUser !== undefined);
    expect(ours.length).toBeGreaterThan(0);
    const names = new Set(ours.map(({ impersonatedUser }) => impersonatedUser?.username));
    // A request behind one without a credential is one of its own.
    expect([...names].filter((name) => name !== "alice")).toEqual([]);
    expect(seen.filter(({ requestURI }) => /smuggled|behind/.test(requestURI))).toEqual([]);
  });

  it.each(floodRows(unnamed).map(({ name }, index) => [name, index] as const))(
    "ends a session that floods it with %s, and serves all others",
    async (_name, index) => {
      const row = floodRows(way)[index];
      if (row === undefined) throw new Error("no such flood");
      const path = `${directPath}/api/v1/namespaces/default/configmaps?watch=1`;
      const other = await rawSession(endpoint);
      other.write(headers(1, requestFieldsOf({ ...way, alice: way.bob })([], { path })));
      await other.until(() => other.stream(1).status !== undefined);
      const session = await flooded(endpoint, row);
      expect([session.isClosed(), other.stream(1).status]).toEqual([true, 200]);
      const name = `flooded-${index}`;
      await fixture.arrange(post("/api/v1/namespaces/default/configmaps", { metadata: { name } }));
      await other.until(() => other.stream(1).body.includes(name));
      expect([other.stream(1).body.includes(name), other.isClosed()]).toEqual([true, false]);
      other.destroy();
      expect((await next()).statuses).toEqual([200]);
    },
  );

  it("has the limits of slow clients: handshake, head, idle, first stream", async () => {
    const silent = connect(endpoint.port, "127.0.0.1");
    silent.on("error", () => {}).resume();
    const handshake = new Promise((resolve) => silent.once("close", resolve));
    const [head, idle, session] = [
      await rawConnection(endpoint),
      await rawConnection(endpoint),
      await rawSession(endpoint),
    ];
    head.write("GET /api HTTP/1.1\r\nHost: gateway\r\n");
    idle.write(bytesFor(way, requestText("GET /api")));
    const patience = 150_000;
    await handshake;
    expect((await head.until(({ isClosed }) => isClosed, patience)).statuses).toEqual([408]);
    await session.until(() => session.isClosed(), patience);
    expect(session.isClosed()).toBe(true);
    const { statuses, isClosed } = await idle.until((answer) => answer.isClosed, patience);
    expect([statuses, isClosed]).toEqual([[200], true]);
  });

  it("has 256 streams with one token, and 512 of a user with several", async () => {
    const [second, third] = [await fixture.mint("second"), await fixture.mint("third")];
    const path = `${directPath}/api/v1/namespaces/default/configmaps?watch=1`;
    const sessions: RawSession[] = [];
    /** Opens watches over one session; resolves with the statuses other than 200. */
    const open = async (token: string, count: number): Promise<readonly unknown[]> => {
      const session = await rawSession(endpoint);
      sessions.push(session);
      const fields = requestFieldsOf({ prefix: directPath, alice: token })([], { path });
      const ids = Array.from({ length: count }, (_, index) => 2 * index + 1);
      for (const id of ids) session.write(headers(id, fields));
      const statuses = () => ids.map((id) => session.stream(id).status);
      await session.until(() => statuses().every((status) => status !== undefined), 60_000);
      return statuses().filter((status) => status !== 200);
    };
    expect(await open(way.alice, 200)).toEqual([]);
    expect(await open(way.alice, 57)).toEqual([429]);
    const at = { server: fixture.server, path };
    const refused = await askGateway({ ...at, key: way.alice });
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"]);
    expect(refused.text).toContain("at most 256 with one direct token");
    expect(await open(second, 200)).toEqual([]);
    expect(await open(second, 56)).toEqual([]);
    const full = await askGateway({ ...at, key: third });
    expect([full.status, full.text]).toEqual([
      429,
      expect.stringContaining("at most 512 of one user"),
    ]);
    expect(await open(way.bob, 1)).toEqual([]);
    for (const session of sessions) session.destroy();
    const isFree = async () => (await open(way.alice, 1)).length === 0;
    await eventually(isFree, { what: "the streams to be over" });
    for (const session of sessions) session.destroy();
  });

  it("shows no token, query or body in its log at debug level, metrics or answers", async () => {
    const canary = (what: string): string => `canary.${what}.${randomBytes(12).toString("hex")}`;
    const token = await fixture.mint("canary");
    const [body, query, unknown, key] = ["body", "query", "unknown", "key"].map(canary);
    const subprotocol = `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString("base64url")}`;
    // A broken signature, an unknown kid, and another algorithm.
    const [head = "", payload = "", signature = ""] = token.split(".");
    const headWith = (fields: object) =>
      Buffer.from(JSON.stringify({ alg: "ES256", typ: "JWT", ...fields })).toString("base64url");
    const broken = [
      `${head}.${payload}.${signature.slice(0, -6)}AAAAAA`,
      `${headWith({ kid: unknown })}.${payload}.${signature}`,
      `${headWith({ alg: "none" })}.${payload}.`,
    ];
    const json = { "content-type": "application/json" };
    const requests: readonly GatewayRequest[] = [
      { key: token, path: `${directPath}/api/v1/secrets?token=${query}` },
      { key: token, path: `${directPath}/../${query}` },
      { key: token, path: `/kubernetes/nothing/${query}` },
      { key: token, path: `${directPath}/api`, headers: { "impersonate-user": query ?? "" } },
      { key: token, method: "BREW", path: `${directPath}/${query}` },
      { key: key ?? "", path: `${directPath}/api` },
      ...broken.map((each) => ({ key: each, path: `${directPath}/api` })),
      { path: `${directPath}/api`, headers: { "sec-websocket-protocol": `${subprotocol}, v5` } },
      {
        key: token,
        method: "POST",
        path: `${directPath}/api/v1/namespaces/web/secrets`,
        headers: json,
        body: `{"data": "${body}"`,
      },
    ];
    const answers: string[] = [];
    for (const request of requests)
      for (const http2 of [false, true]) {
        const { status, text } = await askGateway({
          ...request,
          server: fixture.server,
          http2,
        }).catch(() => ({ status: 0, text: "" }));
        if (status >= 400) answers.push(text);
      }
    await fixture.central.arrange(remove(tokenPath("canary")));
    const isRefused = async () =>
      (await askGateway({ key: token, server: fixture.server, path: `${directPath}/api` }))
        .status === 401;
    await eventually(isRefused, { what: "the token to be refused", every: 50 });
    const outputs = [
      readFileSync(fixture.endpoint.log, "utf8"),
      await (await fetch(`${fixture.endpoint.url}/metrics`)).text(),
      await (await fetch(`${fixture.endpoint.url}/readyz`)).text(),
      ...answers,
    ];
    expect(outputs.join("\n")).toContain("gateway request refused");
    expect(outputs.join("\n")).toContain("gateway request ended");
    const secrets = {
      token,
      payload,
      signature,
      body,
      query,
      unknown,
      key,
      ...Object.fromEntries(broken.map((each, index) => [`broken-${index}`, each])),
    };
    const shown = Object.entries(secrets).filter(([, text = ""]) =>
      formsOf(text).some((form) => outputs.some((output) => output.includes(form))),
    );
    expect(shown.map(([what]) => what)).toEqual([]);
  });

  it("answers 503 for a group whose API server does not answer, and 403 for one that is not there", async () => {
    const services = "/apis/apiregistration.k8s.io/v1/apiservices";
    const [group, version] = ["dead.example", "v1"];
    const name = `${version}.${group}`;
    const service = { namespace: "default", name: "nobody" };
    const spec = { group, version, service, groupPriorityMinimum: 1, versionPriority: 1 };
    const body = {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name },
    };
    await fixture.arrange(post(services, { ...body, spec }));
    const token = await fixture.mint("dead", { scope: { rules: [{ verbs: ["get", "list"] }] } });
    const ask = (path: string) =>
      askGateway({ key: token, server: fixture.server, path: `${directPath}${path}` });
    try {
      await eventually(
        async () => (await ask("/apis/dead.example/v1/widgets")).text.includes("dead.example does"),
        { what: "the group to be known and dead", every: 500 },
      );
      expect(await ask("/apis/dead.example/v1/widgets")).toMatchObject({
        status: 503,
        text: expect.stringContaining("the API server of the group dead.example does not answer"),
      });
      expect(await ask("/apis/nowhere.example/v1/widgets")).toMatchObject({ status: 403 });
    } finally {
      await fixture.arrange(remove(`${services}/${name}`));
    }
  });
}
