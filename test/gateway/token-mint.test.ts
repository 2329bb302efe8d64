import { describe, expect, it } from "vitest";
import { apiVersion } from "../../src/api/names.ts";
import { gatewayHandler } from "../../src/gateway/gateway-handler.ts";
import { FakeExchange, type FakeRequest } from "../support/fake-exchange.ts";
import type { FakeForwarding } from "../support/fake-forwarder.ts";
import { type FakeGatewayDeps, fakeGatewayDeps, bodyBytes } from "./gateway-deps.ts";
import { aliceKey, keyOf } from "../support/gateway-fixture.ts";
import { settled } from "../support/test-clock.ts";

const collection = `/apis/${apiVersion}/directclusterendpointtokens`;
const pending = JSON.stringify({ metadata: { name: "one" } });
const minted = JSON.stringify({ metadata: { name: "one" }, status: { token: "t" } });
const stalled = JSON.stringify({
  metadata: { name: "one" },
  status: { conditions: [{ type: "Stalled", status: "True" }] },
});

async function minting(request: FakeRequest = {}, sent: string | null = '{"spec":{}}') {
  const deps = fakeGatewayDeps();
  const exchange = new FakeExchange({
    method: "POST",
    path: collection,
    ...request,
    fields: ["Content-Type", "application/json", "Content-Length", "99", ...(request.fields ?? [])],
  });
  gatewayHandler(deps).onExchange(exchange);
  if (sent !== null) exchange.body.end(sent);
  await settled();
  return { deps, exchange };
}

/** Answers the last request, and lets the gateway look again. */
async function answer(
  { forwarder, clock }: FakeGatewayDeps,
  status: number,
  text: string,
): Promise<FakeForwarding> {
  const last = forwarder.last();
  last.answer(status, text);
  await clock.run(100);
  return last;
}

describe("the creation of a token", () => {
  it("is answered with 201 and the token, once it is there", async () => {
    const { deps, exchange } = await minting();
    const created = await answer(deps, 201, pending);
    expect(created.request).toMatchObject({ method: "POST", target: collection });
    const { body } = created.request;
    expect(Buffer.isBuffer(body) && body.toString()).toContain(
      '"kind":"DirectClusterEndpointToken"',
    );
    const look = await answer(deps, 200, pending);
    expect(look.request).toMatchObject({ method: "GET", target: `${collection}/one` });
    expect(exchange.hasResponded).toBe(false);
    await answer(deps, 200, minted);
    expect([exchange.answer?.status, exchange.text]).toEqual([201, minted]);
    expect(deps.answers).toEqual(["create 201"]);
  });

  it("is looked at as the requester, without the key's own limits", async () => {
    const { deps } = await minting();
    const created = await answer(deps, 201, pending);
    const names = ({ request: { headers } }: FakeForwarding) =>
      headers.filter((text, at) => at % 2 === 0 && text.startsWith("impersonate-"));
    expect(names(created).some((name) => name.startsWith("impersonate-extra-"))).toBe(true);
    expect(names(deps.forwarder.last())).toEqual(["impersonate-user", "impersonate-group"]);
  });

  it("is looked at every 250 ms in the end, for 30 seconds at most", async () => {
    const { deps, exchange } = await minting();
    await answer(deps, 201, pending);
    const began = deps.clock.monotonic();
    while (!exchange.hasResponded && deps.clock.monotonic() - began < 60_000)
      await answer(deps, 200, pending);
    expect([exchange.answer?.status, exchange.text]).toEqual([201, pending]);
    expect(deps.clock.monotonic() - began).toBeLessThanOrEqual(30_000);
    expect(deps.forwarder.forwardings.length).toBeLessThan(130);
    expect(deps.clock.pending).toBe(0);
  });

  it.each([
    ["an object that never gets one", 200, stalled, stalled],
    ["the created object, if the requester may not read it", 403, "{}", pending],
  ])("is answered with %s", async (_what, status, text, shown) => {
    const { deps, exchange } = await minting();
    await answer(deps, 201, pending);
    for (let look = 0; look < 400 && !exchange.hasResponded; look += 1)
      await answer(deps, status, text);
    expect([exchange.answer?.status, exchange.text]).toEqual([201, shown]);
  });

  it("is answered in the format that the client accepts", async () => {
    const { deps, exchange } = await minting({ fields: ["Accept", "application/yaml"] });
    await answer(deps, 201, pending);
    await answer(deps, 200, minted);
    const shown = await answer(deps, 200, "status: {token: t}\n");
    const { headers } = shown.request;
    expect(headers[headers.indexOf("accept") + 1]).toBe("application/yaml");
    expect(exchange.text).toBe("status: {token: t}\n");
  });

  it.each([undefined, "application/yaml"])(
    "is answered with the warnings of the creation, as %s",
    async (accept) => {
      const { deps, exchange } = await minting({
        fields: accept === undefined ? [] : ["Accept", accept],
      });
      const headers = ["Warning", '299 - "one"', "warning", '299 - "two"'];
      deps.forwarder.last().answer(201, pending, { headers });
      await deps.clock.run(100);
      await answer(deps, 200, minted);
      if (accept !== undefined) await answer(deps, 200, minted);
      const sent = exchange.answer?.headers ?? [];
      const found = sent.filter((_text, at) => sent[at - 1]?.toLowerCase() === "warning");
      expect(found).toEqual(['299 - "one"', '299 - "two"']);
    },
  );

  it.each([[403], [409], [422], [500]])(
    "that the API server refuses with %i is answered so, at once",
    async (status) => {
      const { deps, exchange } = await minting();
      await answer(deps, status, '{"kind":"Status"}');
      expect([exchange.answer?.status, exchange.text]).toEqual([status, '{"kind":"Status"}']);
      expect(deps.forwarder.forwardings).toHaveLength(1);
    },
  );

  it.each([
    ["unreachable", 502],
    ["timeout", 504],
    ["busy", 503],
    ["unauthorized", 502],
  ] as const)("that fails as %s is %i", async (failure, status) => {
    const { deps, exchange } = await minting();
    deps.forwarder.last().handler.onError(failure);
    await settled();
    expect(exchange.answer?.status).toBe(status);
  });

  it("with an answer of more than 4 MiB is 502, and the answer is read no further", async () => {
    const { deps, exchange } = await minting();
    const { handler } = deps.forwarder.last();
    handler.onHead(201, []);
    const part = Buffer.alloc(64 * 1024, "x");
    for (let parts = 0; parts < 64; parts += 1) handler.onData(part);
    await settled();
    expect([exchange.hasResponded, deps.forwarder.last().isAborted]).toEqual([false, false]);
    handler.onData(part);
    await settled();
    expect(exchange.answer?.status).toBe(502);
    expect(exchange.text).toContain("the answer of the API server is larger than 4194304 bytes");
    expect(deps.forwarder.last().isAborted).toBe(true);
    expect(deps.clock.pending).toBe(0);
  });

  it("with an answer that trickles is 504 after 75 seconds", async () => {
    const { deps, exchange } = await minting();
    const { handler } = deps.forwarder.last();
    handler.onHead(201, []);
    for (let second = 0; second < 75; second += 1) {
      expect(exchange.hasResponded).toBe(false);
      handler.onData(Buffer.from("x"));
      await deps.clock.run(1_000);
    }
    expect([exchange.answer?.status, deps.forwarder.last().isAborted]).toEqual([504, true]);
    expect(deps.clock.pending).toBe(0);
  });

  it("is answered with the created object if what shows it is too large", async () => {
    const { deps, exchange } = await minting();
    await answer(deps, 201, pending);
    await deps.clock.run(20);
    deps.forwarder.last().answer(200, "x".repeat(4 * 1024 * 1024 + 1));
    await settled();
    expect([exchange.answer?.status, exchange.text]).toEqual([201, pending]);
  });

  it("is answered with the created object if the API server goes away afterwards", async () => {
    const { deps, exchange } = await minting();
    await answer(deps, 201, pending);
    await deps.clock.run(20);
    deps.forwarder.last().handler.onError("unreachable");
    await settled();
    expect([exchange.answer?.status, exchange.text]).toEqual([201, pending]);
  });

  it("gives its body's bytes back when the API server has it", async () => {
    const { deps } = await minting();
    expect(bodyBytes(deps.bodies)).toBeGreaterThan(0);
    await answer(deps, 201, pending);
    expect(bodyBytes(deps.bodies)).toBe(0);
  });
});

describe("the creation of a token ends", () => {
  it("with 408 if its body makes no progress, and nothing is sent", async () => {
    const { deps, exchange } = await minting({}, null);
    await deps.clock.run(30_000);
    expect([exchange.answer?.status, deps.forwarder.forwardings.length]).toEqual([408, 0]);
  });

  it("with 400 if its client cuts the body off, and nothing is sent", async () => {
    const { deps, exchange } = await minting({}, null);
    exchange.isCut = true;
    exchange.body.end('{"spec":{}}');
    await settled();
    expect([exchange.answer?.status, deps.forwarder.forwardings.length]).toEqual([400, 0]);
  });

  it("when its client leaves; the object stays, and nothing looks at it", async () => {
    const { deps, exchange } = await minting();
    await answer(deps, 201, pending);
    const count = deps.forwarder.forwardings.length;
    exchange.close();
    await deps.clock.run(20_000);
    expect([deps.forwarder.forwardings.length, deps.inFlight.count("answer")]).toEqual([count, 0]);
    expect(deps.clock.pending).toBe(0);
  });

  it("when its key is not valid any more", async () => {
    const { deps, exchange } = await minting();
    await answer(deps, 201, pending);
    deps.keys.set(aliceKey, keyOf("alice", { disabled: true }));
    deps.inFlight.changed();
    await deps.clock.run(250);
    expect([exchange.answer?.status, exchange.text.includes('"t"')]).toEqual([401, false]);
  });
});

it.each<[string, FakeRequest]>([
  ["a dry run", { path: `${collection}?dryRun=All` }],
  ["an update", { method: "PUT", path: `${collection}/one` }],
])("%s is not waited for", async (_what, request) => {
  const { deps, exchange } = await minting(request);
  await answer(deps, 201, pending);
  expect([exchange.answer?.status, exchange.text]).toEqual([201, pending]);
  expect(deps.forwarder.forwardings).toHaveLength(1);
});
