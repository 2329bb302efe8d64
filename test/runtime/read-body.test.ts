import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { BodyBudget } from "../../src/runtime/body-budget.ts";
import { bodyPatience, hasBody, readBody } from "../../src/runtime/read-body.ts";
import { settled, TestClock } from "../support/test-clock.ts";

function reading({
  most = 100,
  room = 100,
  length,
}: { readonly most?: number; readonly room?: number; readonly length?: number } = {}) {
  const [clock, budget, incoming] = [
    new TestClock(),
    new BodyBudget(room),
    new IncomingMessage(new Socket()),
  ];
  if (length !== undefined) incoming.headers["content-length"] = String(length);
  const body = readBody(incoming, { clock, most, budget, sender: "a" });
  return { clock, budget, incoming, body };
}

test("a body is read completely, and its bytes count until it is released", async () => {
  const { incoming, body, budget, clock } = reading();
  incoming.push("hel");
  incoming.push("lö");
  incoming.push(null);
  const read = await body;
  expect([read, budget.used, clock.pending]).toEqual([
    expect.objectContaining({ kind: "whole", text: "hellö" }),
    6,
    0,
  ]);
  if (read.kind === "whole") read.release();
  expect(budget.used).toBe(0);
});

describe("a body is rejected, and its bytes no longer count,", () => {
  test("if its Content-Length is too large, before a byte of it is read", async () => {
    const { body, clock } = reading({ length: 101 });
    expect([await body, clock.pending]).toEqual([{ kind: "too-large" }, 0]);
  });

  test("if it is too large without a Content-Length", async () => {
    const { incoming, body, budget } = reading();
    incoming.push("x".repeat(60));
    incoming.push("x".repeat(60));
    expect([await body, budget.used]).toEqual([{ kind: "too-large" }, 0]);
  });

  test("if the limit of all bodies is reached", async () => {
    const { incoming, body, budget } = reading({ room: 50 });
    incoming.push("x".repeat(40));
    await settled();
    expect(budget.used).toBe(40);
    incoming.push("x".repeat(40));
    expect([await body, budget.used]).toEqual([{ kind: "overloaded" }, 0]);
  });

  test("if another sender needs its bytes", async () => {
    const { incoming, body, budget } = reading({ room: 50 });
    incoming.push("x".repeat(40));
    await settled();
    expect(budget.open("b", () => {}).take(20)).toBe(true);
    expect([await body, budget.used]).toEqual([{ kind: "overloaded" }, 20]);
  });

  test("if no bytes arrive for too long", async () => {
    const { incoming, body, budget, clock } = reading();
    incoming.push("half");
    await clock.run(bodyPatience.silentMs);
    expect([await body, budget.used, clock.pending]).toEqual([{ kind: "too-slow" }, 0, 0]);
  });

  test("if it takes too long, even though bytes arrive", async () => {
    const { incoming, body, clock } = reading();
    for (let second = 0; second < bodyPatience.wholeMs / 1000; second++) {
      incoming.push("x");
      await clock.run(1_000);
    }
    expect([await body, clock.pending]).toEqual([{ kind: "too-slow" }, 0]);
  });

  test("if the client disconnects", async () => {
    const { incoming, body, budget } = reading();
    incoming.push("half");
    await settled();
    incoming.destroy();
    expect([await body, budget.used]).toEqual([{ kind: "broken" }, 0]);
  });
});

test.each<[Readonly<Record<string, string>>, boolean]>([
  [{}, false],
  [{ "content-length": "0" }, false],
  [{ "content-length": "1" }, true],
  [{ "transfer-encoding": "chunked" }, true],
])("headers %o announce a body: %s", (headers, expected) => {
  expect(hasBody({ headers })).toBe(expected);
});
