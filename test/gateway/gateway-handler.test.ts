import { describe, expect, it } from "vitest";
import { gatewayHandler } from "../../src/gateway/gateway-handler.ts";
import { FakeExchange, type FakeRequest } from "../support/fake-exchange.ts";
import { type FakeGatewayDeps, fakeGatewayDeps } from "./gateway-deps.ts";
import { aliceKey, bobKey, keyOf } from "../support/gateway-fixture.ts";
import { settled } from "../support/test-clock.ts";

const watch = { path: "/api/v1/namespaces/web/pods?watch=1" };

/** Sends so many requests and answers none. */
async function send(
  deps: FakeGatewayDeps,
  request: FakeRequest,
  count = 1,
): Promise<readonly FakeExchange[]> {
  const handler = gatewayHandler(deps);
  const exchanges = Array.from({ length: count }, () => new FakeExchange(request));
  for (const exchange of exchanges) handler.onExchange(exchange);
  await settled();
  return exchanges;
}

const statuses = (exchanges: readonly FakeExchange[]) =>
  exchanges.flatMap(({ answer }) => (answer === undefined ? [] : [answer.status]));

describe("a replica", () => {
  it("has 1,128 requests with a short answer; one more is 503 with Retry-After", async () => {
    const deps = fakeGatewayDeps();
    for (let index = 0; index < 6; index += 1)
      deps.keys.set(`key-${index}`, keyOf(`user-${index}`));
    const first = await send(deps, { key: "key-0" }, 188);
    for (let index = 1; index < 6; index += 1)
      expect(statuses(await send(deps, { key: `key-${index}` }, 188))).toEqual([]);
    expect([statuses(first), deps.inFlight.count("answer")]).toEqual([[], 1_128]);
    const [refused] = await send(deps, {});
    expect(refused?.answer?.status).toBe(503);
    expect(refused?.answer?.headers.join(" ")).toContain("retry-after 1");
    first[0]?.close();
    expect(statuses(await send(deps, {}))).toEqual([]);
  });

  it("has 256 requests with a short answer with one access key; others go on", async () => {
    const deps = fakeGatewayDeps();
    expect(statuses(await send(deps, {}, 256))).toEqual([]);
    expect(statuses(await send(deps, {}))).toEqual([429]);
    expect(statuses(await send(deps, watch))).toEqual([]);
    expect(statuses(await send(deps, { key: bobKey }))).toEqual([]);
  });

  it.each<[string, FakeRequest]>([
    ["one access key", watch],
    ["one access key, logs", { path: "/api/v1/namespaces/web/pods/a/log?follow=1" }],
  ])("has 256 streams with %s; one more is 429 with Retry-After", async (_what, request) => {
    const deps = fakeGatewayDeps();
    expect(statuses(await send(deps, request, 256))).toEqual([]);
    const [refused] = await send(deps, request);
    expect(refused?.answer?.status).toBe(429);
    expect(refused?.answer?.headers.join(" ")).toContain("retry-after 1");
    expect(statuses(await send(deps, { ...request, key: bobKey }))).toEqual([]);
    expect(statuses(await send(deps, {}))).toEqual([]);
  });

  it("has 512 streams of one user, whatever the key", async () => {
    const deps = fakeGatewayDeps();
    for (const index of [1, 2, 3]) {
      const resolved = keyOf("alice");
      const metadata = { ...resolved.key.metadata, uid: `uid-${index}` };
      deps.keys.set(`key-${index}`, { ...resolved, key: { ...resolved.key, metadata } });
    }
    expect(statuses(await send(deps, { ...watch, key: "key-1" }, 256))).toEqual([]);
    expect(statuses(await send(deps, { ...watch, key: "key-2" }, 256))).toEqual([]);
    expect(statuses(await send(deps, { ...watch, key: "key-3" }))).toEqual([429]);
    expect(statuses(await send(deps, { ...watch, key: bobKey }))).toEqual([]);
  });

  it("has 2,000 streams of all users", async () => {
    const deps = fakeGatewayDeps();
    for (let index = 0; index < 8; index += 1)
      deps.keys.set(`key-${index}`, keyOf(`user-${index}`));
    for (let index = 0; index < 8; index += 1)
      expect(statuses(await send(deps, { ...watch, key: `key-${index}` }, 250))).toEqual([]);
    expect(statuses(await send(deps, { ...watch, key: bobKey }))).toEqual([]);
    expect([deps.inFlight.count("stream"), deps.cuts, deps.refusals]).toEqual([
      ...[2_000, ["displaced"], []],
    ]);
  });
});

describe("a request under way", () => {
  it("is none if its client left while it was admitted", async () => {
    const deps = fakeGatewayDeps();
    const exchange = new FakeExchange(watch);
    gatewayHandler(deps).onExchange(exchange);
    exchange.close();
    await settled();
    expect(deps.inFlight.counts()).toEqual({ answer: 0, stream: 0, upgrade: 0 });
    const alice = { user: "alice", key: "uid-alice" };
    expect(deps.inFlight.loadOf("streams", alice)).toEqual({
      all: 0,
      user: 0,
      key: 0,
      mostOfUser: 0,
    });
    expect(deps.forwarder.forwardings).toEqual([]);
  });

  it("is followed from before its first byte", async () => {
    const deps = fakeGatewayDeps();
    const forward = deps.forwarder.forward.bind(deps.forwarder);
    let under = 0;
    deps.forwarder.forward = (...args) => {
      under = deps.inFlight.count("answer");
      return forward(...args);
    };
    await send(deps, {});
    expect(under).toBe(1);
  });

  it("is cut at the end of its key's validity", async () => {
    const deps = fakeGatewayDeps();
    const created = Date.parse("2026-01-01T00:00:00Z");
    deps.keys.set(aliceKey, keyOf("alice", { ttl: 60 }));
    const [exchange] = await send(deps, watch);
    deps.forwarder.last().answer(200, "{}\n", { isOpen: true });
    await deps.clock.run(created + 59_999 - deps.clock.now());
    expect([exchange?.isEnded, deps.cuts]).toEqual([false, []]);
    await deps.clock.run(1);
    expect([exchange?.isEnded, deps.cuts]).toEqual([true, ["denied"]]);
    expect(exchange?.text).toContain('"code":401');
  });
});

describe("a failure inside the gateway", () => {
  const failing = (): FakeGatewayDeps => {
    const deps = fakeGatewayDeps();
    return {
      ...deps,
      authenticator: {
        authenticate() {
          throw new Error("canary");
        },
      },
    };
  };

  it("is 500 without its words, and is logged", async () => {
    const deps = failing();
    const [exchange] = await send(deps, {});
    expect(exchange?.status).toMatchObject({ code: 500, message: "internal error" });
    expect(deps.log.lines.map(({ level, message }) => [level, message])).toEqual([
      ["error", "gateway request failed"],
      ["debug", "gateway request refused"],
    ]);
    expect(deps.refusals).toEqual(["upstream 500"]);
  });

  it("aborts an answer that has begun", async () => {
    const deps = failing();
    const exchange = new FakeExchange();
    gatewayHandler(deps).onExchange(exchange);
    exchange.respond(200, []);
    await settled();
    expect([exchange.isAborted, exchange.text]).toEqual([true, ""]);
  });
});

it("logs nothing of the target, the query or a header", async () => {
  const deps = fakeGatewayDeps({ limits: { answers: { all: 1, user: 1, key: 1 } } });
  const canary = { path: "/api/v1/canaries?canary=1", fields: ["User-Agent", "canary"] };
  await send(deps, canary, 2);
  deps.forwarder.last().answer(200, "canary");
  await send(deps, { ...canary, key: "canary-key" });
  await deps.clock.run(100);
  expect(deps.log.lines.length).toBe(3);
  expect(JSON.stringify(deps.log.lines).replaceAll('"resource":"canaries"', "")).not.toContain(
    "canar",
  );
});

it("counts refusals by cause, and answers by verb", async () => {
  const deps = fakeGatewayDeps();
  await send(deps, { method: "OPTIONS" });
  await send(deps, { key: null });
  await send(deps, {});
  deps.forwarder.last().answer(200);
  expect([deps.refusals, deps.answers]).toEqual([
    ["method 405", "unauthenticated 401"],
    ["list 200"],
  ]);
});
