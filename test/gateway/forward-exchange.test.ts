import { describe, expect, it } from "vitest";
import { gatewayHandler } from "../../src/gateway/gateway-handler.ts";
import { FakeExchange, type FakeRequest } from "../support/fake-exchange.ts";
import { type FakeGatewayDeps, fakeGatewayDeps, type FakeGatewayOptions } from "./gateway-deps.ts";
import { aliceKey, keyOf } from "../support/gateway-fixture.ts";
import { settled } from "../support/test-clock.ts";

interface Setup {
  readonly deps: FakeGatewayDeps;
  readonly exchange: FakeExchange;
}

async function forwarded(
  request: FakeRequest = {},
  options: FakeGatewayOptions = {},
): Promise<Setup> {
  const deps = fakeGatewayDeps(options);
  const exchange = new FakeExchange(request);
  gatewayHandler(deps).onExchange(exchange);
  await settled();
  return { deps, exchange };
}

const watch = { path: "/api/v1/namespaces/web/pods?watch=1" };
const post = { method: "POST", fields: ["Content-Type", "text/plain", "Content-Length", "5"] };
const event = '{"type":"ADDED"}\n';

/** Takes alice's key away, and lets the gateway notice. */
async function revoke({ deps }: Setup): Promise<void> {
  deps.keys.set(aliceKey, keyOf("alice", { disabled: true }));
  deps.inFlight.changed();
  await deps.clock.run(250);
}

describe("a forwarded answer", () => {
  it("is the API server's, byte for byte", async () => {
    const { deps, exchange } = await forwarded();
    deps.forwarder.last().answer(409, '{"kind":"Status"}', { headers: ["Audit-Id", "a"] });
    expect(exchange.answer).toEqual({
      status: 409,
      headers: ["content-type", "application/json", "audit-id", "a"],
    });
    expect([exchange.text, exchange.isEnded, exchange.isAborted]).toEqual([
      ...['{"kind":"Status"}', true, false],
    ]);
    expect([deps.answers, deps.inFlight.count("answer")]).toEqual([["list 409"], 0]);
  });

  it("waits for a client that is slow, and goes on when it has read", async () => {
    const { deps, exchange } = await forwarded();
    const forwarding = deps.forwarder.last();
    forwarding.answer(200, "", { isOpen: true });
    exchange.reads = false;
    expect(forwarding.handler.onData(Buffer.from("a"))).toBe(false);
    exchange.drain();
    expect(forwarding.resumes).toBe(1);
  });

  it("is cut after a minute in which its client reads nothing, all in all", async () => {
    const { deps, exchange } = await forwarded();
    const forwarding = deps.forwarder.last();
    forwarding.answer(200, "", { isOpen: true });
    exchange.reads = false;
    forwarding.handler.onData(Buffer.from("a"));
    await deps.clock.run(59_000);
    exchange.drain();
    await deps.clock.run(60_000);
    forwarding.handler.onData(Buffer.from("a"));
    await deps.clock.run(999);
    expect(exchange.isAborted).toBe(false);
    await deps.clock.run(2);
    expect([exchange.isAborted, forwarding.isAborted]).toEqual([true, true]);
    expect([deps.inFlight.count("answer"), deps.clock.pending]).toEqual([0, 0]);
  });

  it("that is a stream waits for its client for ever", async () => {
    const { deps, exchange } = await forwarded(watch);
    exchange.reads = false;
    deps.forwarder.last().answer(200, event, { isOpen: true });
    await deps.clock.run(86_400_000);
    expect([exchange.isAborted, deps.inFlight.count("stream")]).toEqual([false, 1]);
  });

  it("counts as under way until its client has it", async () => {
    const { deps, exchange } = await forwarded();
    exchange.reads = false;
    deps.forwarder.last().answer(200);
    expect([exchange.isEnded, deps.inFlight.count("answer"), deps.answers]).toEqual([true, 1, []]);
    exchange.close();
    expect([deps.inFlight.count("answer"), deps.answers]).toEqual([0, ["list 200"]]);
  });

  it("is given up when the client leaves", async () => {
    const { deps, exchange } = await forwarded(watch);
    exchange.close();
    expect([deps.forwarder.last().isAborted, deps.inFlight.count("stream")]).toEqual([true, 0]);
  });

  it("that the API server breaks off does not look whole", async () => {
    const { deps, exchange } = await forwarded();
    deps.forwarder.last().answer(200, "{", { isOpen: true });
    deps.forwarder.last().handler.onError("unreachable");
    expect([exchange.isAborted, exchange.isEnded, exchange.text]).toEqual([true, false, "{"]);
  });

  it.each([
    ["unreachable", 502],
    ["proxy", 502],
    ["timeout", 504],
    ["busy", 503],
    ["no-credential", 502],
    ["unauthorized", 502],
  ] as const)("that never comes (%s) is %i", async (failure, status) => {
    const { deps, exchange } = await forwarded();
    deps.forwarder.last().handler.onError(failure);
    expect(exchange.status).toMatchObject({ kind: "Status", status: "Failure", code: status });
    expect(exchange.answer?.status).toBe(status);
  });

  it("with a redirect within the API server leads to the gateway", async () => {
    const { deps, exchange } = await forwarded();
    deps.forwarder.last().answer(301, "", { headers: ["Location", "/api/v1/pods/"] });
    expect(exchange.answer?.headers).toContain("/kubernetes/management/api/v1/pods/");
  });

  it("with a redirect to another server is 502, and follows nothing", async () => {
    const { deps, exchange } = await forwarded();
    deps.forwarder.last().answer(302, "", { headers: ["Location", "https://elsewhere/api"] });
    expect([exchange.answer?.status, deps.forwarder.last().isAborted]).toEqual([502, true]);
    expect(exchange.text).not.toContain("elsewhere");
    expect(deps.forwarder.forwardings).toHaveLength(1);
  });
});

describe("a 401", () => {
  it.each([
    ["GET", "/api/v1/namespaces/web/pods/a/proxy/login"],
    ["POST", "/api/v1/namespaces/web/pods/a/proxy/login"],
    ["GET", "/api/v1/namespaces/web/services/https:a:443/proxy/login"],
    ["DELETE", "/api/v1/nodes/a/proxy/login"],
    ["GET", "/api/v1/proxy/nodes/a/login"],
  ])("to %s %s may be a backend's, and is passed on", async (method, path) => {
    const { deps, exchange } = await forwarded({ method, path });
    expect(deps.forwarder.last().request.isProxied).toBe(true);
    deps.forwarder.last().answer(401, "who?", { headers: ["WWW-Authenticate", 'Basic realm="a"'] });
    expect([exchange.answer, exchange.text]).toEqual([
      {
        status: 401,
        headers: ["content-type", "application/json", "www-authenticate", 'Basic realm="a"'],
      },
      "who?",
    ]);
  });

  it("to any other request is about the gateway's own credential", async () => {
    const { deps } = await forwarded();
    expect(deps.forwarder.last().request.isProxied).toBe(false);
  });
});

describe("the body of a forwarded request", () => {
  it("is asked for when the API server reads it, and ends as the client's", async () => {
    const { deps, exchange } = await forwarded(post);
    const { body, headers } = deps.forwarder.last().request;
    expect([exchange.bodiesAccepted, headers.slice(-2)]).toEqual([0, ["content-length", "5"]]);
    exchange.body.end("hello");
    expect(await textOf(body)).toBe("hello");
    expect(exchange.bodiesAccepted).toBe(1);
  });

  it("that moves a byte every nine seconds is 408", async () => {
    const { deps, exchange } = await forwarded(post);
    const { request, handler } = deps.forwarder.last();
    const reading = textOf(request.body).catch(() => handler.onError("unreachable"));
    exchange.body.write("he");
    await deps.clock.run(9_000);
    exchange.body.write("l");
    await deps.clock.run(999);
    expect(exchange.hasResponded).toBe(false);
    await deps.clock.run(2);
    await reading;
    expect(exchange.answer?.status).toBe(408);
  });

  it("that the client cuts off without an error is no whole body", async () => {
    const { deps, exchange } = await forwarded(post);
    const reading = textOf(deps.forwarder.last().request.body);
    exchange.isCut = true;
    exchange.body.end("hel");
    await expect(reading).rejects.toThrow("the client ended the request");
  });

  it("may come while the API server has no answer, for as long as it goes on", async () => {
    const { deps, exchange } = await forwarded(post);
    void textOf(deps.forwarder.last().request.body);
    exchange.body.end("hello");
    await deps.clock.run(120_000);
    expect([exchange.hasResponded, deps.clock.pending]).toEqual([false, 0]);
  });
});

describe("a request that is not allowed any more", () => {
  it("gets 401 if it has no answer yet", async () => {
    const setup = await forwarded();
    await revoke(setup);
    const { deps, exchange } = setup;
    expect([exchange.answer?.status, deps.forwarder.last().isAborted]).toEqual([401, true]);
    expect([deps.inFlight.count("answer"), deps.cuts]).toEqual([0, ["denied"]]);
    expect(deps.answers).toEqual(["list 401"]);
  });

  it("ends as a watch with an ERROR event between two lines", async () => {
    const setup = await forwarded(watch);
    setup.deps.forwarder.last().answer(200, event, { isOpen: true });
    await revoke(setup);
    const { exchange } = setup;
    const [, error = ""] = exchange.text.split("\n");
    expect(JSON.parse(error)).toMatchObject({ type: "ERROR", object: { code: 401 } });
    expect([exchange.isEnded, exchange.isAborted]).toEqual([true, false]);
  });

  it.each<[string, FakeRequest, string, readonly string[]]>([
    ["a watch inside a line", watch, '{"type":', []],
    ["a compressed watch", watch, event, ["Content-Encoding", "gzip"]],
    ["a list", {}, "{}\n", []],
    ["a log", { path: "/api/v1/namespaces/web/pods/a/log?follow=true" }, "line\n", []],
  ])("does not look whole as %s", async (_what, request, text, headers) => {
    const setup = await forwarded(request);
    setup.deps.forwarder.last().answer(200, text, { headers, isOpen: true });
    await revoke(setup);
    expect([setup.exchange.isAborted, setup.exchange.isEnded]).toEqual([true, false]);
    expect(setup.exchange.text).toBe(text);
  });

  it("does not look whole as a watch of another format", async () => {
    const setup = await forwarded(watch);
    const { handler } = setup.deps.forwarder.last();
    handler.onHead(200, ["content-type", "application/vnd.kubernetes.protobuf;stream=watch"]);
    handler.onData(Buffer.from("a\n"));
    await revoke(setup);
    expect([setup.exchange.isAborted, setup.exchange.text]).toEqual([true, "a\n"]);
  });

  it("is aborted if its answer was sent and not read", async () => {
    const setup = await forwarded(watch);
    setup.exchange.reads = false;
    setup.deps.forwarder.last().answer(200, event);
    await revoke(setup);
    expect([setup.exchange.isAborted, setup.exchange.text]).toEqual([true, event]);
  });
});

describe("a stream of a gateway that stops", () => {
  it.each<[string, string, boolean]>([
    ["between two lines ends", event, false],
    ["inside a line does not look whole", '{"type":', true],
  ])("%s", async (_what, text, isAborted) => {
    const { deps, exchange } = await forwarded(watch);
    deps.forwarder.last().answer(200, text, { isOpen: true });
    const ended = deps.inFlight.endStreams(1_000);
    await deps.clock.run(1_000);
    await ended;
    expect([exchange.isAborted, exchange.isEnded]).toEqual([isAborted, !isAborted]);
  });
});

async function textOf(body: unknown): Promise<string> {
  let text = "";
  if (body !== null && typeof body === "object" && Symbol.asyncIterator in body)
    for await (const chunk of body as AsyncIterable<Uint8Array>)
      text += Buffer.from(chunk).toString();
  return text;
}
