import { describe, expect, it } from "vitest";
import type { ReviewedRequest } from "../../src/api/access-review.ts";
import { group } from "../../src/api/names.ts";
import { completesBody, readOwnBody } from "../../src/gateway/own-body.ts";
import { ByteBudget } from "../../src/runtime/body.ts";
import { FakeExchange } from "../support/fake-exchange.ts";
import { settled, TestClock } from "../support/test-clock.ts";

const request: ReviewedRequest = {
  ...{ kind: "resource", verb: "create", group, resource: "sharedsecrets" },
  ...{ subresource: "", namespace: "web", name: "" },
};

function reading(contentType = "application/json", budgetBytes = 10_000_000) {
  const exchange = new FakeExchange({ method: "POST", fields: ["Content-Type", contentType] });
  const [clock, budget] = [new TestClock(), new ByteBudget(budgetBytes)];
  const late: string[] = [];
  const deps = { clock, budget, onLate: () => void late.push("late") };
  return { exchange, clock, budget, late, body: readOwnBody(exchange, { request }, deps) };
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
    const { exchange, body } = reading();
    exchange.body.end(sent);
    const read = await body;
    expect(read.kind === "body" && read.content.toString()).toBe(content);
  });

  it("counts from its first part until it was sent", async () => {
    const { exchange, budget, body } = reading();
    exchange.body.write('{"a":');
    await settled();
    expect(budget.used).toBe(5);
    exchange.body.end("1}");
    const read = await body;
    expect(budget.used).toBe(7);
    if (read.kind === "body") {
      read.release();
      read.release();
    }
    expect(budget.used).toBe(0);
  });

  it("is 429 if all bodies together are larger than 64 MiB, and counts no more", async () => {
    const { exchange, budget, body } = reading("application/json", 64 * 1024 * 1024);
    budget.take(64 * 1024 * 1024 - 5);
    exchange.body.write('{"a":');
    await settled();
    exchange.body.write("1");
    expect(await body).toMatchObject({ kind: "refusal", status: 429 });
    expect(budget.used).toBe(64 * 1024 * 1024 - 5);
  });

  it("is 413 if it is larger than 3 MiB", async () => {
    const { exchange, budget, body } = reading();
    exchange.body.write(Buffer.alloc(3 * 1024 * 1024));
    await settled();
    exchange.body.write("1");
    expect(await body).toMatchObject({ kind: "refusal", status: 413 });
    expect(budget.used).toBe(0);
  });

  it("is 400 without its words if it is not JSON", async () => {
    const { exchange, budget, body } = reading();
    exchange.body.end('{"canary"');
    const read = await body;
    expect(read).toMatchObject({ kind: "refusal", status: 400 });
    expect(JSON.stringify(read)).not.toContain("canary");
    expect(budget.used).toBe(0);
  });

  it("is late when it makes no progress for 30 seconds", async () => {
    const { exchange, clock, budget, late, body } = reading();
    body.catch(() => {});
    exchange.body.write("{");
    await clock.run(29_999);
    expect(late).toEqual([]);
    await clock.run(1);
    await expect(body).rejects.toThrow("no progress");
    expect([late, budget.used, clock.pending]).toEqual([["late"], 0, 0]);
  });

  it("is late after a minute, however often a byte arrives", async () => {
    const { exchange, clock, budget, late, body } = reading();
    body.catch(() => {});
    for (let second = 0; second < 60; second += 10) {
      exchange.body.write(" ");
      await clock.run(9_999);
      expect(late).toEqual([]);
      await clock.run(1);
    }
    await expect(body).rejects.toThrow("took too long");
    expect([late.length, budget.used]).toEqual([1, 0]);
  });

  it("that the client cuts off counts no more", async () => {
    const { exchange, budget, body } = reading("application/yaml");
    body.catch(() => {});
    exchange.body.write("spec:\n");
    await settled();
    exchange.isCut = true;
    exchange.body.end("  a: 1\n");
    await expect(body).rejects.toThrow("the client ended the request");
    expect(budget.used).toBe(0);
  });
});

describe("a body is read as a whole", () => {
  const framing = { kind: "body", length: 5 } as const;
  const completes = (fields: readonly string[], changes: object = {}) =>
    completesBody(
      { upstream: { kind: "management" }, framing, request: { ...request, ...changes } },
      new FakeExchange({ method: "POST", fields }),
    );

  it.each<[string, readonly string[], object, boolean]>([
    ["of an own object as JSON", ["Content-Type", "application/json"], {}, true],
    ["of an own object as YAML", ["Content-Type", "application/yaml; charset=utf-8"], {}, true],
    ["of an own object without a type", [], {}, true],
    ["not as protobuf", ["Content-Type", "application/vnd.kubernetes.protobuf"], {}, false],
    ["not if it is compressed", ["Content-Encoding", "gzip"], {}, false],
    ["not of another group", [], { group: "apps" }, false],
    ["not of a patch", [], { verb: "patch" }, false],
    ["not of a status", [], { subresource: "status" }, false],
  ])("%s", (_what, fields, changes, is) => {
    expect(completes(fields, changes)).toBe(is);
  });
});
