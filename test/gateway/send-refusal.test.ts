import { describe, expect, it } from "vitest";
import { refusal, unauthorized } from "../../src/domain/gateway/refusal.ts";
import { sendRefusal } from "../../src/gateway/send-refusal.ts";
import { FakeExchange } from "../support/fake-exchange.ts";

describe("a refusal", () => {
  it("is a Status object that kubectl prints", () => {
    const exchange = new FakeExchange();
    sendRefusal(exchange, unauthorized);
    expect(exchange.status).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: "Unauthorized",
      reason: "Unauthorized",
      code: 401,
    });
    expect(exchange.answer).toEqual({
      status: 401,
      headers: [
        ...["content-type", "application/json", "content-length", String(exchange.text.length)],
        ...["cache-control", "no-cache, private", "www-authenticate", "Bearer"],
      ],
    });
    expect(exchange.isEnded).toBe(true);
  });

  it("has no body for HEAD", () => {
    const exchange = new FakeExchange({ method: "HEAD" });
    sendRefusal(exchange, unauthorized);
    expect([exchange.answer?.status, exchange.text, exchange.isEnded]).toEqual([401, "", true]);
  });

  it("aborts an answer that has begun", () => {
    const exchange = new FakeExchange();
    exchange.respond(200, []);
    sendRefusal(exchange, unauthorized);
    expect([exchange.isAborted, exchange.answer?.status]).toEqual([true, 200]);
  });

  it.each([
    ["malformed", 400, true],
    ["method", 405, true],
    ["unauthenticated", 401, false],
    ["scope", 403, false],
    ["limit", 429, false],
  ] as const)(
    "for %s leaves the begin of the next request in doubt: %s %s",
    (cause, status, is) => {
      const exchange = new FakeExchange();
      sendRefusal(exchange, refusal(status, cause, "no"));
      expect(exchange.isLastRequest).toBe(is);
    },
  );
});
