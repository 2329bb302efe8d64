import { afterEach, describe, expect, test } from "vitest";
import { SecretText } from "../../../src/api/secret-text.ts";
import { BodyLimiter } from "../../../src/kube/client/body-limiter.ts";
import {
  type ApiRequest,
  createTransport,
  type ApiResponse,
  type StreamingResponse,
  type Transport,
  type TransportOptions,
} from "../../../src/kube/client/transport.ts";
import type { RequestMetrics } from "../../../src/runtime/work-metrics.ts";
import { type EndlessBody, mostBuffered, writeEndlessly } from "../../support/endless-body.ts";
import { settled, TestClock } from "../../support/test-clock.ts";
import { type ReceivedRequest, answerWith, type SocketPeer, startPeer } from "../socket-peer.ts";

const token = "canary-token";
const get: ApiRequest = { method: "GET", path: "/api/v1/secrets" };
const post: ApiRequest = { method: "POST", path: "/api/v1/secrets", body: { a: 1 } };

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface Setup {
  readonly peer: SocketPeer;
  readonly transport: Transport;
  readonly clock: TestClock;
  /** The counted requests, as `<method> <code>`. */
  readonly counted: string[];
  /** The attempts, as `<method> <seconds>`. */
  readonly took: string[];
  readonly forgotten: () => number;
}

type Changes = Partial<TransportOptions> & {
  readonly tokens?: readonly string[];
  readonly prefix?: string;
  readonly authorization?: () => Promise<string | undefined>;
};

async function over(
  onRequest: ((arrival: ReceivedRequest) => void) | undefined,
  { tokens = [token], prefix = "", authorization, ...changes }: Changes = {},
): Promise<Setup> {
  const peer = await startPeer(onRequest);
  const [clock, counted, took] = [new TestClock(), new Array<string>(), new Array<string>()];
  let forgotten = 0;
  const credentials = {
    server: peer.url + prefix,
    tls: { rejectUnauthorized: true },
    authorization:
      authorization ??
      (async () => `Bearer ${tokens[Math.min(forgotten, tokens.length - 1)] ?? ""}`),
    forget: () => void forgotten++,
  };
  const metrics: RequestMetrics = {
    ended: ({ method, code }) => void counted.push(`${method} ${code}`),
    took: (method, seconds) => void took.push(`${method} ${seconds}`),
  };
  const transport = createTransport({
    credentials,
    clock,
    connections: 3,
    timeoutMs: 30_000,
    mostBytes: 1_000_000,
    metrics,
    ...changes,
  });
  closing.push(
    () => peer.close(),
    () => transport.close(),
  );
  return { peer, transport, clock, counted, took, forgotten: () => forgotten };
}

describe("a request", () => {
  test("sends the credential, the body with its secrets, and the media types", async () => {
    const { peer, transport, counted } = await over(answerWith(201, "made"), {
      prefix: "/clusters/one/",
    });
    const answer = await transport.request({
      ...post,
      body: { a: new SecretText("b") },
      accept: "application/x",
      contentType: "application/y",
    });
    expect(answer).toMatchObject({ status: 201, text: "made" });
    expect(peer.arrivals[0]).toMatchObject({
      method: "POST",
      url: "/clusters/one/api/v1/secrets",
      body: '{"a":"b"}',
      headers: {
        authorization: `Bearer ${token}`,
        accept: "application/x",
        "content-type": "application/y",
        "user-agent": "latchkey",
      },
    });
    expect(counted).toEqual(["POST 201"]);
  });

  test("omits the headers of an absent body or credential", async () => {
    const { peer, transport } = await over(answerWith(200), {
      authorization: async () => undefined,
    });
    await transport.request(get);
    await transport.request(post);
    expect(peer.arrivals[0]?.headers).not.toHaveProperty("authorization");
    expect(peer.arrivals[0]?.headers).not.toHaveProperty("content-type");
    // What it reads is not compressed: kube-apiserver would compress the streams of lists, too.
    expect(peer.arrivals[0]?.headers).not.toHaveProperty("accept-encoding");
    expect(peer.arrivals.map(({ headers }) => [headers.accept, headers["content-type"]])).toEqual([
      ["application/json", undefined],
      ["application/json", "application/json"],
    ]);
  });

  test.for<[string | undefined, number | undefined]>([
    ["3", 3000],
    ["0", undefined],
    ["Wed, 21 Oct 2026 07:28:00 GMT", undefined],
    [undefined, undefined],
  ])("with Retry-After %s returns %s ms", async ([header, expected]) => {
    const { transport } = await over(
      answerWith(429, "", header === undefined ? {} : { "retry-after": header }),
    );
    expect((await transport.request(get)).retryAfterMs).toBe(expected);
  });
});

describe("the concurrency limit", () => {
  test("is reduced by a 429; at a limit of 1, requests pause for its Retry-After", async () => {
    const limits: number[] = [];
    const { peer, transport, clock } = await over(answerWith(429, "", { "retry-after": "7" }), {
      connections: 2,
      onLimit: (limit) => limits.push(limit),
    });
    await transport.request(post);
    await transport.request(post);
    const third = transport.request(post);
    clock.advance(6_999);
    await settled();
    expect([limits, peer.arrivals.length]).toEqual([[1], 2]);
    clock.advance(1);
    expect(await third).toMatchObject({ status: 429 });
    expect(peer.arrivals).toHaveLength(3);
  });

  test.for([500, 503])("is not reduced by %s", async (status) => {
    const limits: number[] = [];
    const { transport } = await over(answerWith(status), {
      onLimit: (limit) => limits.push(limit),
    });
    await transport.request(post);
    expect(limits).toEqual([]);
  });
});

describe("the fence", () => {
  test("rejects every write while this process does not own the Lease, and no read", async () => {
    const { peer, transport, counted } = await over(answerWith(200), { fence: () => 0 });
    for (const method of ["POST", "PUT", "PATCH", "DELETE"] as const) {
      await expect(transport.request({ ...post, method })).rejects.toMatchObject({
        code: "Fenced",
        status: 0,
      });
    }
    await transport.request(get);
    expect([peer.arrivals.length, counted]).toEqual([1, ["GET 200"]]);
  });

  test("aborts a pending write at the renew deadline, and no read", async () => {
    const { peer, transport, clock } = await over(undefined, { fence: () => 500 });
    const results = [post, get].map((call) =>
      transport.request(call).catch((error: unknown) => error),
    );
    await peer.arrived(2);
    clock.advance(499);
    await settled();
    expect(clock.pending).toBe(2);
    clock.advance(1);
    expect(await results[0]).toMatchObject({ code: "Network" });
    expect(clock.pending).toBe(1);
    clock.advance(29_500);
    expect(await results[1]).toMatchObject({
      code: "Network",
      message: "GET /api/v1/secrets: the response is late",
    });
  });

  test("does not extend the timeout of a write", async () => {
    const { peer, transport, clock } = await over(undefined, {
      fence: () => 60_000,
      timeoutMs: 1000,
    });
    const result = transport.request(post).catch((error: unknown) => error);
    await peer.arrived(1);
    clock.advance(1000);
    expect(await result).toMatchObject({ code: "Network" });
  });

  test("is checked again for a write that waited for a connection", async () => {
    let leftMs = 1000;
    const { peer, transport } = await over(undefined, { connections: 1, fence: () => leftMs });
    const first = transport.request(post);
    const second = transport.request(post).catch((error: unknown) => error);
    await peer.arrived(1);
    leftMs = 0;
    peer.arrivals[0]?.answer.end("{}");
    await first;
    expect(await second).toMatchObject({ code: "Fenced" });
    expect(peer.arrivals).toHaveLength(1);
  });

  test.for(["a new", "an idle"])(
    "is checked when a write goes into %s connection",
    async (connection) => {
      const asked: number[] = [];
      const { peer, transport } = await over(answerWith(200), {
        connections: 1,
        fence: () => (asked.push(0), asked.length === 1 ? 1000 : 0),
      });
      if (connection === "an idle") await transport.request(get);
      const before = peer.arrivals.length;
      await expect(transport.request(post)).rejects.toMatchObject({ code: "Fenced", status: 0 });
      expect([peer.arrivals.length - before, asked.length]).toEqual([0, 2]);
      expect(await transport.request(get)).toMatchObject({ status: 200 });
    },
  );

  test("is checked after reading a slow credential", async () => {
    const slow: Setup = await over(answerWith(200), {
      authorization: () =>
        new Promise((resolve) => slow.clock.wakeAfter(10_000, () => resolve("Bearer x"))),
      fence: () => 5000 - slow.clock.monotonic(),
    });
    const { peer, transport, clock } = slow;
    const result = transport.request(post).catch((error: unknown) => error);
    await clock.run(10_000);
    expect(await result).toMatchObject({ code: "Fenced" });
    expect(peer.arrivals).toEqual([]);
  });
});

describe("a 401", () => {
  const onlyNew = (arrival: ReceivedRequest): void =>
    answerWith(arrival.headers.authorization === "Bearer new" ? 200 : 401)(arrival);

  test("reads the credential again and retries once", async () => {
    const { transport, forgotten, counted, took } = await over(onlyNew, {
      tokens: ["old", "new"],
    });
    expect((await transport.request(post)).status).toBe(200);
    expect([forgotten(), counted]).toEqual([1, ["POST 200"]]);
    expect(took).toEqual(["POST 0", "POST 0"]);
  });

  test("that is repeated is the response", async () => {
    const { peer, transport, forgotten } = await over(answerWith(401));
    expect((await transport.request(post)).status).toBe(401);
    expect([forgotten(), peer.arrivals.length]).toEqual([1, 2]);
  });

  test("retries a stream, too", async () => {
    const { transport, forgotten } = await over(onlyNew, { tokens: ["old", "new"] });
    expect((await transport.stream(get)).status).toBe(200);
    expect(forgotten()).toBe(1);
  });
});

test("a delete with a body keeps its connection", async () => {
  const { peer, transport } = await over(answerWith(200), { connections: 1 });
  for (let round = 0; round < 3; round += 1)
    await transport.request({
      method: "DELETE",
      path: "/api/v1/secrets/a",
      body: { kind: "DeleteOptions" },
    });
  expect(new Set(peer.arrivals.map(({ socket }) => socket)).size).toBe(1);
});

test("concurrent requests are limited to the connections, which are reused", async () => {
  let [now, most] = [0, 0];
  const { peer, transport } = await over(() => void (most = Math.max(most, ++now)));
  const count = 20;
  const results = Array.from({ length: count }, () => transport.request(post));
  for (let next = 0; next < count; next++) {
    await peer.arrived(Math.min(next + 3, count));
    now--;
    peer.arrivals[next]?.answer.end("{}");
  }
  await Promise.all(results);
  expect(most).toBe(3);
  expect(new Set(peer.arrivals.map(({ socket }) => socket)).size).toBe(3);
});

describe("a stream", () => {
  test("uses a separate connection, and delivers its bytes as they arrive", async () => {
    const { peer, transport } = await over(
      (arrival) =>
        arrival.url === get.path
          ? arrival.answer.writeHead(200).write("one")
          : answerWith(200)(arrival),
      { connections: 1 },
    );
    const chunks = chunksOf(await transport.stream(get));
    await transport.request({ ...get, path: "/api/v1/other" });
    const texts: string[] = [];
    for await (const chunk of chunks) {
      texts.push(Buffer.from(chunk).toString("utf8"));
      peer.arrivals[0]?.answer.end();
    }
    expect(texts).toEqual(["one"]);
  });

  test("that is an HTML page is a complete response, with where it is from", async () => {
    const page = { "content-type": "text/html; charset=utf-8" };
    const { peer, transport } = await over(
      ({ answer }) => void answer.writeHead(200, page).end("<html>"),
    );
    expect(await transport.stream(get)).toEqual({
      status: 200,
      text: "<html>",
      origin: { host: new URL(peer.url).host, contentType: page["content-type"] },
    });
  });

  test("ends when its signal aborts", async () => {
    const stop = new AbortController();
    const { transport } = await over(({ answer }) => void answer.writeHead(200).write("one"));
    const chunks = chunksOf(await transport.stream({ ...get, signal: stop.signal }));
    const reading = (async () => {
      for await (const _ of chunks) stop.abort();
    })();
    await expect(reading).rejects.toThrow("abort");
  });

  test("that is refused without an end is cut off after 1 MiB", async () => {
    const bodies: EndlessBody[] = [];
    const { transport } = await over(({ answer }) => {
      answer.writeHead(500);
      bodies.push(writeEndlessly(answer, "x"));
    });
    const answer = await transport.stream(get);
    expect([answer.status, textOf(answer).length <= 1024 * 1024]).toEqual([500, true]);
    await bodies[0]?.closed;
    expect(bodies[0]?.written()).toBeLessThan(mostBuffered);
  });

  test("that is refused with a body that trickles is cut off after the timeout", async () => {
    const { peer, transport, clock } = await over(
      ({ answer }) => void answer.writeHead(503).write("x"),
    );
    const stream = transport.stream(get);
    await peer.arrived(1);
    const closed = new Promise((resolve) => peer.arrivals[0]?.socket.once("close", resolve));
    while (clock.pending === 0) await settled();
    for (let second = 0; second < 30; second += 1) {
      peer.arrivals[0]?.answer.write("x");
      await clock.run(1_000);
    }
    const answer = await stream;
    expect([answer.status, textOf(answer).length > 0, clock.pending]).toEqual([503, true, 0]);
    await closed;
  });

  test("that is refused ends when its signal aborts, or its connection breaks", async () => {
    const stop = new AbortController();
    const { transport, peer, clock } = await over(
      ({ answer }) => void answer.writeHead(503).write("x"),
    );
    const [stopped, broken] = [
      transport.stream({ ...get, signal: stop.signal }),
      transport.stream(get),
    ];
    await peer.arrived(2);
    while (clock.pending < 2) await settled();
    stop.abort();
    for (const { socket } of peer.arrivals) socket.destroy();
    await expect(stopped).rejects.toMatchObject({ code: "Network" });
    await expect(broken).rejects.toMatchObject({ code: "Network" });
    expect(clock.pending).toBe(0);
  });

  test("has no timeout", async () => {
    const { peer, transport, clock } = await over(undefined);
    const stream = transport.stream(get);
    await peer.arrived(1);
    expect(clock.pending).toBe(0);
    peer.arrivals[0]?.answer.end();
    expect((await stream).status).toBe(200);
  });
});

describe("a failure", () => {
  test.for<[string, (arrival: ReceivedRequest) => void, string]>([
    ["before the response", ({ socket }) => void socket.destroy(), "UND_ERR_SOCKET"],
    [
      "with a response that is not HTTP",
      ({ socket }) => void socket.end("canary\r\n\r\n"),
      "Response does not match the HTTP/1.1 protocol (Expected HTTP/, RTSP/ or ICE/)",
    ],
  ])("%s is reported by code or message, without headers and body", async ([, onRequest, code]) => {
    const { transport, counted } = await over(onRequest);
    const error = await transport
      .request({ ...post, body: { a: new SecretText("canary-secret") } })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "Network",
      status: 0,
      message: `POST /api/v1/secrets: ${code}`,
    });
    expect(allOf(error)).not.toContain("canary");
    expect(counted).toEqual(["POST <error>"]);
  });

  test("by the size of the response is reported as such", async () => {
    const { transport, counted } = await over(answerWith(200, "x".repeat(1001)), {
      mostBytes: 1000,
    });
    await expect(transport.request(get)).rejects.toMatchObject({
      code: "Network",
      status: 0,
      isResponseTooLarge: true,
      message: "GET /api/v1/secrets: the response is larger than 1000 bytes",
    });
    expect(counted).toEqual(["GET <error>"]);
  });

  test("to connect is a Network error", async () => {
    const { peer, transport } = await over(undefined);
    await peer.close();
    await expect(transport.request(get)).rejects.toMatchObject({
      code: "Network",
      message: "GET /api/v1/secrets: ECONNREFUSED",
    });
    await expect(transport.stream(get)).rejects.toMatchObject({ code: "Network" });
  });
});

test("close aborts pending requests", async () => {
  const { peer, transport } = await over(undefined);
  const result = transport.request(get).catch((error: unknown) => error);
  await peer.arrived(1);
  await transport.close();
  expect(await result).toMatchObject({ code: "Network" });
});

function chunksOf(answer: StreamingResponse | ApiResponse): StreamingResponse["chunks"] {
  if (!("chunks" in answer)) throw new Error(`the stream is refused: ${answer.status}`);
  return answer.chunks;
}

function textOf(answer: StreamingResponse | ApiResponse): string {
  if ("chunks" in answer) throw new Error("the stream is open");
  return answer.text;
}

/** Everything of an error that a log or a debugger could show. */
function allOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return [
    error.stack,
    JSON.stringify(error),
    JSON.stringify(Object.getOwnPropertyDescriptors(error)),
    String(error.cause),
  ].join("\n");
}

describe("bodies", () => {
  const big = (characters: number): ApiRequest => ({
    ...post,
    body: { a: new SecretText("x".repeat(characters)) },
  });

  test("of requests and their expected responses are limited, also across transports", async () => {
    const bodies = new BodyLimiter(1_000_000);
    const [one, other] = [await over(undefined, { bodies }), await over(undefined, { bodies })];
    const sent = [
      one.transport.request(big(300_000)),
      other.transport.request(big(300_000)),
      one.transport.request({ ...get, responseBytes: 300_000 }),
      other.transport.request(get),
      other.transport.request(post),
    ];
    await one.peer.arrived(1);
    await other.peer.arrived(2);
    expect([one.peer.arrivals.length, other.peer.arrivals.length]).toEqual([1, 2]);
    expect(other.peer.arrivals.map(({ body }) => body.length)).toEqual([0, 7]);
    one.peer.arrivals[0]?.answer.end("{}");
    await one.peer.arrived(2);
    await other.peer.arrived(3);
    for (const { answer } of [...one.peer.arrivals, ...other.peer.arrivals]) answer.end("{}");
    await Promise.all(sent);
  });

  test("of large responses are parsed in turns of the yielder, small ones by the caller", async () => {
    let turns = 0;
    const yielder = {
      run: async <T>(work: () => T): Promise<T> => {
        turns += 1;
        return work();
      },
    };
    const text = (length: number): string => JSON.stringify({ a: "x".repeat(length) });
    const texts = [text(10), text(200_000), "x".repeat(200_000)];
    const { transport, peer } = await over(undefined, { yielder });
    const sent = texts.map(() => transport.request(get));
    await peer.arrived(3);
    peer.arrivals.forEach(({ answer }, at) => answer.end(texts[at]));
    const answers = await Promise.all(sent);
    expect(turns).toBe(2);
    expect(answers.map(({ json }) => json !== undefined)).toEqual(
      answers.map(({ text: sentText }) => sentText.startsWith("{") && sentText.length > 1000),
    );
    expect(new Set(answers.map((answer) => answer.text))).toEqual(new Set(texts));
  });

  test("of streams are not limited", async () => {
    const { transport } = await over(answerWith(200), { bodies: new BodyLimiter(1) });
    expect((await transport.stream(get)).status).toBe(200);
  });
});
