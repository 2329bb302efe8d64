import { describe, expect, it } from "vitest";
import type { ReviewedRequest } from "../../src/api/access-review.ts";
import { group } from "../../src/api/names.ts";
import { readingBounds } from "../../src/api/reading-bounds.ts";
import { bodyShares, OwnBodyReader, readsBody } from "../../src/gateway/own-body.ts";
import { FakeExchange } from "../support/fake-exchange.ts";
import { bodyBytes } from "./gateway-deps.ts";
import { settled, TestClock } from "../support/test-clock.ts";

const request: ReviewedRequest = {
  kind: "resource",
  verb: "create",
  group,
  resource: "sharedsecrets",
  subresource: "",
  namespace: "web",
  name: "",
};

const alice = { user: "alice", key: "a" };
const admitted = { upstream: { kind: "management" }, request, sharer: alice } as const;

function reading(
  contentType = "application/json",
  length?: number,
  { verb = "create", fields = [] }: { readonly verb?: string; readonly fields?: string[] } = {},
) {
  const exchange = new FakeExchange({
    method: verb === "patch" ? "PATCH" : "POST",
    fields: ["Content-Type", contentType, ...fields],
  });
  const [clock, bodies] = [new TestClock(), bodyShares()];
  const reader = new OwnBodyReader(
    { ...admitted, request: { ...request, verb }, framing: { kind: "body", length } },
    { clock, bodies },
  );
  /** Starts to read. */
  const read = () => reader.read(exchange);
  return { exchange, clock, bodies, reader, read };
}

describe("the body of an object of Latchkey", () => {
  it.each([
    ["stays as it is with kind", '{"kind":"a","apiVersion":"b"}', '{"kind":"a","apiVersion":"b"}'],
    [
      "gets kind and apiVersion",
      '{"spec":{}}',
      '{"apiVersion":"management.service/v1","kind":"SharedSecret","spec":{}}',
    ],
  ])("%s", async (_what, sent, content) => {
    const { exchange, read } = reading();
    exchange.body.end(sent);
    const body = await read();
    expect(body.kind === "body" && body.content.toString()).toBe(content);
  });

  it.each<[string, number | undefined, number]>([
    ["its length", 70_000, 70_000],
    ["its length, if small", 7, 7],
    ["3 MiB if its length is not known", undefined, readingBounds.bodyOfOwnKind.bytes],
  ])("counts with %s from its begin until it was sent", async (_what, length, bytes) => {
    const { exchange, bodies, reader, read } = reading("application/json", length);
    const body = read();
    expect(bodyBytes(bodies)).toBe(bytes);
    exchange.body.end('{"a":1}');
    await body;
    expect(bodyBytes(bodies)).toBe(bytes);
    reader.end();
    reader.end();
    expect(bodyBytes(bodies)).toBe(0);
  });

  it("waits for its share, and is 429 after 75 seconds", async () => {
    const { bodies, clock, read } = reading("application/json", 70_000);
    bodies.large.ask(alice, 8 * 1024 * 1024).enter(() => {});
    const body = read();
    await clock.run(74_999);
    expect(bodies.large.waiting).toBe(1);
    await clock.run(1);
    expect(await body).toMatchObject({ kind: "refusal", status: 429 });
    expect([bodies.large.waiting, bodies.large.used]).toEqual([0, 8 * 1024 * 1024]);
  });

  it("is read when its share is free, and leaves no timer", async () => {
    const { exchange, bodies, clock, read } = reading("application/json", 70_000);
    const other = bodies.large.ask(alice, 8 * 1024 * 1024);
    other.enter(() => {});
    const body = read();
    other.end();
    exchange.body.end("{}");
    expect(await body).toMatchObject({ kind: "body" });
    expect(clock.pending).toBe(0);
  });

  it("of a client that leaves while it waits is given up", async () => {
    const { bodies, clock, reader, read } = reading("application/json", 70_000);
    bodies.large.ask(alice, 8 * 1024 * 1024).enter(() => {});
    void read();
    reader.end();
    expect([bodies.large.waiting, clock.pending]).toEqual([0, 0]);
  });

  it("does not wait for large ones if it is small", async () => {
    const { exchange, bodies, read } = reading("application/json", 64 * 1024);
    bodies.large.ask(alice, 8 * 1024 * 1024).enter(() => {});
    exchange.body.end("{}");
    expect(await read()).toMatchObject({ kind: "body" });
  });

  it.each([
    ["by its header, before a byte of it is read", readingBounds.bodyOfOwnKind.bytes + 1, 0],
    ["by its bytes", undefined, readingBounds.bodyOfOwnKind.bytes + 1],
  ])("is 413 if it is larger than 3 MiB %s", async (_what, length, sent) => {
    const { exchange, bodies, read } = reading("application/json", length);
    const body = read();
    exchange.body.write(Buffer.alloc(sent));
    expect(await body).toMatchObject({ kind: "refusal", status: 413 });
    expect(bodyBytes(bodies)).toBe(0);
  });

  it("is 400 without its words if it is not JSON", async () => {
    const { exchange, bodies, read } = reading();
    exchange.body.end('{"canary"');
    const body = await read();
    expect(body).toMatchObject({ kind: "refusal", status: 400 });
    expect(JSON.stringify(body)).not.toContain("canary");
    expect(bodyBytes(bodies)).toBe(0);
  });

  it("is 408 when it does not move for 10 seconds", async () => {
    const { exchange, clock, bodies, read } = reading();
    const body = read();
    await clock.run(10_000);
    expect(await body).toMatchObject({ kind: "refusal", status: 408 });
    expect([bodyBytes(bodies), clock.pending, exchange.body.destroyed]).toEqual([0, 0, false]);
  });

  it("that the client cuts off is 400, and counts no more", async () => {
    const { exchange, bodies, read } = reading("application/yaml");
    const body = read();
    exchange.body.write("spec:\n");
    await settled();
    exchange.isCut = true;
    exchange.body.end("  a: 1\n");
    expect(await body).toMatchObject({ kind: "refusal", status: 400 });
    expect(bodyBytes(bodies)).toBe(0);
  });
});

const patch = { verb: "patch" };
const secret = "canary-7d1f0e";

describe("a body of a patch", () => {
  it.each([
    ["application/apply-patch+yaml", '{"spec":{"data":{"a":"YQ=="}}}'],
    ["application/apply-patch+yaml", "# a\nspec:\n  data: {a: YQ==}\n"],
    ["application/apply-patch+yaml", "spec: {data: !a [b]}\n"],
    ["application/apply-patch+yaml", "spec: ["],
    ["application/merge-patch+json", ' { "spec" : {"data":{"a":null}} } '],
    ["application/merge-patch+json", '{"a":'],
    ["application/json-patch+json", '[{"op":"remove","path":"/spec/data"}]'],
  ])("in %s passes as it is: %j", async (type, sent) => {
    const { exchange, read } = reading(type, undefined, patch);
    exchange.body.end(sent);
    const body = await read();
    expect(body.kind === "body" && body.content.toString()).toBe(sent);
  });

  it.each([
    ["application/apply-patch+yaml", `{"spec":{"data":{"a":["${secret}"]}}}`],
    ["application/apply-patch+yaml", `spec:\n  data:\n    a:\n    - ${secret}\n`],
    ["application/merge-patch+json", `{"spec":{"data":"${secret}"}}`],
    ["application/json-patch+json", `[{"op":"add","path":"/spec","value":["${secret}"]}]`],
  ])("in %s is 422 without its words: %j", async (type, sent) => {
    const { exchange, bodies, read } = reading(type, undefined, patch);
    exchange.body.end(sent);
    const body = await read();
    expect(body).toMatchObject({ kind: "refusal", status: 422 });
    expect(JSON.stringify(body)).toContain("spec");
    expect(JSON.stringify(body)).not.toContain(secret);
    expect(bodyBytes(bodies)).toBe(0);
  });
});

it.each([
  ["create", "application/json", `{"spec":{"data":{"a":["${secret}"]}}}`],
  ["update", "application/yaml", `spec: {data: ${secret}}`],
  ["create", "application/json", `{"kind":null,"spec":{"data":{"a":"${secret}"}}}`],
])("an object of a wrong shape is 422 without its words: %s of %s", async (verb, type, sent) => {
  const { exchange, read } = reading(type, undefined, { verb });
  exchange.body.end(sent);
  const body = await read();
  expect(body).toMatchObject({ kind: "refusal", status: 422 });
  expect(JSON.stringify(body)).not.toContain(secret);
});

it.each<[string, string, string[]]>([
  ["create", "application/vnd.kubernetes.protobuf", []],
  ["update", "application/json", ["Content-Encoding", "gzip"]],
  ["patch", "application/apply-patch+yaml", ["Content-Encoding", "identity"]],
  ["patch", "application/strategic-merge-patch+json", []],
  ["patch", "application/apply-patch+cbor", []],
])("a body is 415 before a byte of it is read: %s of %s %j", async (verb, type, fields) => {
  const { exchange, bodies, read } = reading(type, undefined, { verb, fields });
  expect(await read()).toMatchObject({ kind: "refusal", status: 415 });
  expect([exchange.bodiesAccepted, bodyBytes(bodies)]).toEqual([0, 0]);
});

describe("a body is read as a whole", () => {
  const framing = { kind: "body", length: 5 } as const;

  it.each<[string, object, boolean]>([
    ["of an own object", {}, true],
    [
      "of an own object in a space",
      { upstream: { kind: "space", project: "a", space: "b" } },
      true,
    ],
    ["of a patch", { request: { ...request, verb: "patch" } }, true],
    ["of a status", { request: { ...request, verb: "patch", subresource: "status" } }, true],
    ["not of another group", { request: { ...request, group: "apps" } }, false],
    ["not of a deletion", { request: { ...request, verb: "delete" } }, false],
    ["not of a connected cluster", { upstream: { kind: "cluster", cluster: "east" } }, false],
    ["not if there is none", { framing: { kind: "none" } }, false],
  ])("%s", (_what, changes, is) => {
    expect(readsBody({ ...admitted, framing, ...changes })).toBe(is);
  });
});
