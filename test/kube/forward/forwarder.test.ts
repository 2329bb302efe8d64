import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { ForwardedRequest } from "../../../src/kube/forward/forwarder.ts";
import { type ForwarderFixture, post, send, startForwarder } from "./forwarder-fixture.ts";
import { answerText } from "../../support/upstream-recorder.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function started(
  options: Parameters<typeof startForwarder>[0] = {},
): Promise<ForwarderFixture> {
  const fixture = await startForwarder(options);
  closing.push(() => fixture.close());
  return fixture;
}

async function* parts(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) {
    await pause(5);
    yield Buffer.from(text);
  }
}

describe("a forwarded request", () => {
  it("is sent byte for byte, below the path of the server", async () => {
    const setup = await started({ prefix: "/clusters/one/" });
    const target = "/api/v1/pods?a=%2F&b=%zz;c";
    const headers = ["accept", "\u00fc", "impersonate-group", "a", "impersonate-group", "b"];
    expect(await send(setup, { target, headers }).ended).toBe("end");
    const [request] = setup.recorder.requests;
    expect([request?.method, request?.target]).toEqual(["GET", `/clusters/one${target}`]);
    expect(request?.fields).toEqual([
      ["host", `127.0.0.1:${setup.recorder.port}`],
      ["connection", "keep-alive"],
      ["authorization", "Bearer own-0"],
      ["accept", "\u00fc"],
      ["impersonate-group", "a"],
      ["impersonate-group", "b"],
    ]);
  });

  it.each<[string, Partial<ForwardedRequest>, string, string]>([
    ["read as a whole", { body: Buffer.from("hello") }, "content-length", "5"],
    ["of unknown length", { body: parts("he", "llo") }, "transfer-encoding", "chunked"],
    [
      "of known length",
      { body: parts("he", "llo"), headers: ["content-length", "5"] },
      "content-length",
      "5",
    ],
    ["of a DELETE", { method: "DELETE", body: parts("hello") }, "transfer-encoding", "chunked"],
  ])("has the body %s", async (_what, request, name, value) => {
    const setup = await started();
    expect(await send(setup, { ...post, ...request }).ended).toBe("end");
    const [sent] = setup.recorder.requests;
    expect(sent?.body.toString()).toBe("hello");
    expect(sent?.fields.filter(([found]) => /length|encoding/.test(found))).toEqual([
      [name, value],
    ]);
  });

  it.each([
    ["longer", "hello!"],
    ["shorter", "hell"],
  ])("is never whole if its body is %s than its length", async (_what, text) => {
    const setup = await started();
    const sent = send(setup, { ...post, headers: ["content-length", "5"], body: parts(text) });
    expect(await sent.ended).toBe("unreachable");
    expect(setup.recorder.requests).toEqual([]);
  });

  it("is never whole if its body fails", async () => {
    const setup = await started();
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from("hello");
      await pause(20);
      throw new Error("the client left");
    };
    expect(await send(setup, { ...post, body: failing() }).ended).toBe("unreachable");
    await pause(20);
    expect(setup.recorder.requests).toEqual([]);
    expect(setup.recorder.connections.every((connection) => connection.isClosed())).toBe(true);
  });

  it("reads its body only as fast as the API server does", async () => {
    const setup = await started();
    setup.recorder.onHead = (_request, socket) => void socket.pause();
    let given = 0;
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      for (; given < 500_000_000; given += 65_536) yield Buffer.alloc(65_536);
    };
    const sent = send(setup, { ...post, body: endless() });
    await pause(300);
    const before = given;
    await pause(200);
    expect(given).toBe(before);
    expect(given).toBeLessThan(50_000_000);
    sent.forwarding.abort();
    expect(await sent.ended).toBe("aborted");
  });
});

describe("a 401 about the forwarder's own credential", () => {
  const rejects = (setup: ForwarderFixture, times: number): void => {
    setup.recorder.respond = (_request, socket) =>
      void socket.write(answerText(setup.recorder.requests.length <= times ? 401 : 200));
  };
  const credentialsIn = ({ recorder }: ForwarderFixture) =>
    recorder.requests.map(({ fields }) => fields.find(([name]) => name === "authorization")?.[1]);

  it.each<[string, Partial<ForwardedRequest>]>([
    ["without a body", {}],
    ["that writes without a body", { method: "DELETE" }],
    ["whose body was read as a whole", { method: "POST", body: Buffer.from("hello") }],
    ["that is a stream", { kind: "stream" }],
  ])("has a request %s sent once more, with a credential read again", async (_what, request) => {
    const setup = await started();
    rejects(setup, 1);
    const seen = send(setup, request);
    expect(await seen.ended).toBe("end");
    expect(seen.heads.map(([status]) => status)).toEqual([200]);
    expect(credentialsIn(setup)).toEqual(["Bearer own-0", "Bearer own-1"]);
    const bodies = setup.recorder.requests.map(({ body }) => body);
    const whole = request.body ?? Buffer.alloc(0);
    expect(bodies).toEqual([whole, whole]);
  });

  it("ends the request at the second time", async () => {
    const setup = await started({ connections: 1 });
    rejects(setup, 2);
    const seen = send(setup);
    expect([await seen.ended, seen.heads]).toEqual(["unauthorized", []]);
    expect(credentialsIn(setup)).toEqual(["Bearer own-0", "Bearer own-1"]);
    expect([await send(setup).ended, credentialsIn(setup).at(-1)]).toEqual(["end", "Bearer own-2"]);
  });

  it("ends a request at once whose body passes, since a part of it may be gone", async () => {
    const setup = await started();
    rejects(setup, 1);
    expect(await send(setup, { ...post, body: parts("he", "llo") }).ended).toBe("unauthorized");
    expect(credentialsIn(setup)).toEqual(["Bearer own-0"]);
  });

  it("may be a backend's: it is the answer, and the next request gets another one", async () => {
    const setup = await started();
    rejects(setup, 1);
    const seen = send(setup, { isProxied: true });
    expect([await seen.ended, seen.heads.map(([status]) => status)]).toEqual(["end", [401]]);
    expect(await send(setup).ended).toBe("end");
    expect(credentialsIn(setup)).toEqual(["Bearer own-0", "Bearer own-1"]);
  });
});

describe("the forwarder's own credential", () => {
  it("that cannot be read is a failure, and frees its connection", async () => {
    const authorization = () => Promise.reject(new Error("no token file"));
    const setup = await started({ connections: 1, authorization });
    const ended = [send(setup), send(setup)].map((seen) => seen.ended);
    expect(await Promise.all(ended)).toEqual(["no-credential", "no-credential"]);
    expect(setup.recorder.requests).toEqual([]);
  });

  it("that is read for a request that was given up is not used", async () => {
    const first = Promise.withResolvers<string>();
    const read = [first.promise];
    const authorization = () => read.shift() ?? Promise.resolve("Bearer own");
    const setup = await started({ connections: 1, authorization });
    const seen = send(setup);
    expect(seen.forwarding.isWaiting).toBe(true);
    seen.forwarding.abort();
    expect(await seen.ended).toBe("aborted");
    first.resolve("Bearer own");
    expect(await send(setup, { target: "/next" }).ended).toBe("end");
    expect(setup.recorder.requests.map(({ target }) => target)).toEqual(["/next"]);
  });
});

describe("an answer", () => {
  it("arrives with its headers as they were sent, without interim answers and trailers", async () => {
    const setup = await started();
    setup.recorder.respond = (_request, socket) =>
      void socket.write(
        "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" +
          "HTTP/1.1 200 OK\r\nX-A: 1\r\nx-a: 2\r\nTransfer-Encoding: chunked\r\n\r\n" +
          "2\r\n{}\r\n0\r\nX-Trailer: 1\r\n\r\n",
      );
    const seen = send(setup);
    expect(await seen.ended).toBe("end");
    expect(seen.heads).toEqual([[200, ["x-a", "1", "x-a", "2", "transfer-encoding", "chunked"]]]);
    expect(seen.text).toBe("{}");
  });

  it.each([
    ["101", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"],
    ["no HTTP", "SSH-2.0-OpenSSH\r\n\r\n"],
    [
      "behind 17 interim ones",
      `${"HTTP/1.1 102 Processing\r\n\r\n".repeat(17)}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}`,
    ],
    ["a head of 17 KB", `HTTP/1.1 200 OK\r\nX: ${"a".repeat(17_000)}\r\n\r\n`],
  ])("that is %s is none", async (_what, bytes) => {
    const setup = await started();
    setup.recorder.respond = (_request, socket) => void socket.write(bytes);
    const seen = send(setup);
    expect([await seen.ended, seen.heads]).toEqual(["unreachable", []]);
  });

  it.each<[string, string]>([
    ["its length", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"],
    ["its last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"],
  ])(
    "that the API server ends before %s is an error, and is not asked for again",
    async (_what, bytes) => {
      const setup = await started();
      setup.recorder.respond = (_request, socket) => void socket.end(bytes);
      const seen = send(setup);
      expect([await seen.ended, seen.text]).toEqual(["unreachable", "{"]);
      expect(setup.recorder.requests).toHaveLength(1);
    },
  );

  it("whose head takes longer than its time is a timeout, and is not asked for again", async () => {
    const setup = await started({ headTimeoutMs: 500 });
    setup.recorder.respond = () => {};
    expect(await send(setup).ended).toBe("timeout");
    expect(setup.recorder.requests).toHaveLength(1);
  });

  it("whose interim answers go on for longer than its time is a timeout", async () => {
    const setup = await started({ headTimeoutMs: 1_000 });
    setup.recorder.respond = (_request, socket) => {
      const timer = setInterval(() => socket.write("HTTP/1.1 102 Processing\r\n\r\n"), 100);
      socket.once("close", () => clearInterval(timer)).on("error", () => {});
    };
    expect(await send(setup).ended).toBe("timeout");
    expect(setup.recorder.requests).toHaveLength(1);
  });

  it("that stops in the middle is a timeout, but a stream may be silent", async () => {
    const setup = await started({ silenceMs: 500 });
    setup.recorder.respond = (_request, socket) =>
      void socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n");
    const [answer, stream] = [send(setup), send(setup, { kind: "stream" })];
    expect(await answer.ended).toBe("timeout");
    await pause(1_500);
    expect([stream.end, stream.text]).toEqual([undefined, "{"]);
    stream.forwarding.abort();
  });

  it("pauses until its reader is ready", async () => {
    const setup = await started();
    const total = 8_000_000;
    setup.recorder.respond = (_request, socket) =>
      void socket.write(answerText(200, "a".repeat(total)));
    const seen = send(setup, {}, () => false);
    await pause(200);
    expect(seen.text.length).toBeLessThan(1_000_000);
    while (seen.end === undefined) {
      seen.forwarding.resume();
      await pause(1);
    }
    expect([seen.end, seen.text.length]).toEqual(["end", total]);
  });
});
