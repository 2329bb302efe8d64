import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { createForwarder, type ForwardedRequest } from "../../../src/kube/forward/forwarder.ts";
import { fakeCredentials } from "../../support/fake-credentials.ts";
import { type ForwarderFixture, post, send, startForwarder } from "./forwarder-fixture.ts";
import { probed } from "../../support/tcp-timers.ts";
import { TestClock } from "../../support/test-clock.ts";
import {
  answerText,
  type Respond,
  startUpstreamRecorder,
} from "../../support/upstream-recorder.ts";

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

it("requests go where the credentials lead now, and those under way end where they are", async () => {
  const [former, latter] = await Promise.all([startUpstreamRecorder(), startUpstreamRecorder()]);
  const { credentials } = fakeCredentials(former.url);
  let server = former.url;
  const forwarder = createForwarder({
    credentials: {
      ...credentials,
      get server() {
        return server;
      },
    },
    clock: new TestClock(),
    headTimeoutMs: 75_000,
    connections: 8,
  });
  closing.push(
    () => latter.close(),
    () => former.close(),
    () => forwarder.close(),
  );
  const held = Promise.withResolvers<() => void>();
  former.respond = (_request, socket) => held.resolve(() => void socket.write(answerText(200)));
  latter.respond = (_request, socket) => void socket.write(answerText(200));
  const first = send({ forwarder });
  const answer = await held.promise;
  server = `${latter.url}/prefix`;
  expect(await send({ forwarder }).ended).toBe("end");
  expect(latter.requests.map(({ target }) => target)).toEqual(["/prefix/api"]);
  answer();
  expect(await first.ended).toBe("end");
});

describe("a connection that ends before the first byte of an answer", () => {
  const endsOnce = (): Respond => {
    let isFirst = true;
    return (_request, socket) => {
      if (!isFirst) return void socket.write(answerText(200));
      isFirst = false;
      socket.destroy();
    };
  };

  it.each(["GET", "HEAD"] as const)("has its %s sent once more", async (method) => {
    const setup = await started();
    const respond = endsOnce();
    setup.recorder.respond = (request, socket) =>
      setup.recorder.requests.length === 1
        ? respond(request, socket)
        : void socket.write(answerText(200).replace(/\{\}\n$/, method === "HEAD" ? "" : "{}\n"));
    expect(await send(setup, { method }).ended).toBe("end");
    expect(setup.recorder.requests.map((request) => request.method)).toEqual([method, method]);
  });

  it("has its GET sent twice at most", async () => {
    const setup = await started();
    setup.recorder.respond = (_request, socket) => void socket.destroy();
    expect(await send(setup).ended).toBe("unreachable");
    expect(setup.recorder.requests).toHaveLength(2);
  });

  it.each<[string, Partial<ForwardedRequest>]>([
    ["POST", { method: "POST", body: Buffer.from("{}") }],
    ["POST without a body", { method: "POST" }],
    ["PUT", { method: "PUT", body: Buffer.from("{}") }],
    ["PATCH", { method: "PATCH", body: Buffer.from("{}") }],
    ["DELETE", { method: "DELETE" }],
  ])("has its %s never sent again", async (_what, request) => {
    const setup = await started();
    setup.recorder.respond = endsOnce();
    expect(await send(setup, request).ended).toBe("unreachable");
    expect(setup.recorder.requests).toHaveLength(1);
  });

  it("is another one when it was closed while idle: no request is lost", async () => {
    const setup = await started();
    expect(await send(setup).ended).toBe("end");
    for (const { socket } of setup.recorder.connections) socket.end();
    await pause(20);
    expect(await send(setup, { ...post, body: Buffer.from("{}") }).ended).toBe("end");
    expect(setup.recorder.requests.map(({ method }) => method)).toEqual(["GET", "POST"]);
  });
});

describe("the connections for answers", () => {
  it("are so many; other requests wait in order, streams never", async () => {
    const setup = await started({ connections: 2 });
    const answers: (() => void)[] = [];
    setup.recorder.respond = (_request, socket) =>
      void answers.push(() => socket.write(answerText(200)));
    const all = ["/1", "/2", "/3", "/4"].map((target) =>
      send(setup, { target, sharer: { user: target, key: "a" } }),
    );
    const stream = send(setup, { kind: "stream", target: "/stream" });
    await setup.recorder.arrived(3);
    await pause(20);
    expect(setup.recorder.requests.map(({ target }) => target).toSorted()).toEqual([
      ...["/1", "/2", "/stream"],
    ]);
    expect(setup.forwarder.waiting()).toBe(2);
    for (const answer of answers.splice(0)) answer();
    await setup.recorder.arrived(5);
    for (const answer of answers.splice(0)) answer();
    expect(await Promise.all([...all, stream].map(({ ended }) => ended))).toEqual(
      Array.from({ length: 5 }, () => "end"),
    );
    expect(setup.forwarder.waiting()).toBe(0);
  });

  it("are waited for at most 75 seconds", async () => {
    const clock = new TestClock();
    const setup = await started({ connections: 1, clock });
    const answers: (() => void)[] = [];
    setup.recorder.respond = (_request, socket) =>
      void answers.push(() => socket.write(answerText(200)));
    const first = send(setup);
    await setup.recorder.arrived(1);
    const next = send(setup, { target: "/next" });
    await clock.run(37_500);
    const last = send(setup, { target: "/last" });
    await clock.run(37_499);
    for (const answer of answers.splice(0)) answer();
    expect(await first.ended).toBe("end");
    await setup.recorder.arrived(2);
    await clock.run(37_501);
    expect([next.end, await last.ended, setup.forwarder.waiting()]).toEqual([
      ...[undefined, "busy", 0],
    ]);
    for (const answer of answers.splice(0)) answer();
    expect([await next.ended, clock.pending]).toEqual(["end", 0]);
    expect(setup.recorder.requests.map(({ target }) => target)).toEqual(["/api", "/next"]);
  });

  it("are never asked for by requests that were given up while they waited", async () => {
    const setup = await started({ connections: 1 });
    setup.recorder.respond = () => {};
    const first = send(setup);
    await setup.recorder.arrived(1);
    const waiting = Array.from({ length: 1_000 }, () => send(setup, { target: "/waiting" }));
    expect(setup.forwarder.waiting()).toBe(1_000);
    for (const { forwarding } of waiting) forwarding.abort();
    expect(await Promise.all(waiting.map(({ ended }) => ended))).toEqual(
      waiting.map(() => "aborted"),
    );
    expect(setup.forwarder.waiting()).toBe(0);
    first.forwarding.abort();
    setup.recorder.respond = (_request, socket) => void socket.write(answerText(200));
    expect(await send(setup, { target: "/last" }).ended).toBe("end");
    expect(setup.recorder.requests.map(({ target }) => target)).toEqual(["/api", "/last"]);
  });

  it("are free again after each way that a request can end", async () => {
    const setup = await started({ connections: 1, headTimeoutMs: 500 });
    const ways: Respond[] = [
      (_request, socket) => void socket.destroy(),
      (_request, socket) => void socket.write("no HTTP\r\n\r\n"),
      (_request, socket) => void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"),
      () => {},
    ];
    for (const way of ways) {
      setup.recorder.respond = way;
      expect(await send(setup, post).ended).not.toBe("end");
    }
    const aborted = send(setup, post);
    await setup.recorder.arrived(ways.length + 1);
    aborted.forwarding.abort();
    setup.recorder.respond = (_request, socket) => void socket.write(answerText(200));
    expect(await send(setup).ended).toBe("end");
  });

  it.each(["answer", "stream"] as const)(
    "are probed every 30 seconds while they are silent: %s",
    async (kind) => {
      const setup = await started();
      setup.recorder.respond = () => {};
      const sent = send(setup, { kind });
      await setup.recorder.arrived(1);
      await expect(probed(setup.recorder.port, 1)).resolves.toBeUndefined();
      sent.forwarding.abort();
    },
  );

  it("end what waits for them when the forwarder is closed", async () => {
    const setup = await started({ connections: 1 });
    setup.recorder.respond = () => {};
    const all = Array.from({ length: 2_000 }, () => send(setup));
    await setup.recorder.arrived(1);
    await setup.forwarder.close();
    expect(new Set(await Promise.all(all.map(({ ended }) => ended)))).toEqual(
      new Set(["unreachable"]),
    );
  });
});
