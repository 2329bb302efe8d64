import { describe, expect, it } from "vitest";
import { refusal, unauthorized } from "../../src/domain/gateway/refusal.ts";
import { sendRefusal } from "../../src/gateway/send-refusal.ts";
import { warningsIn } from "../../src/kube/client/user-connection.ts";
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

  it.each([
    ["/kubernetes/management/api?timeout=32s", 505, true],
    ["/kubernetes/cluster/a/apis", 403, true],
    ["/apis", 404, true],
    ["/kubernetes/management/apis/apps/v1", 404, false],
    ["/kubernetes/management/api/v1/pods", 403, false],
    // kubectl has words of its own, and nothing else may differ.
    ["/apis", 401, false],
  ] as const)("of discovery is a warning, too: %s %d %s", (target, status, isWarning) => {
    const exchange = new FakeExchange();
    const head = { ...exchange.head, target };
    sendRefusal(Object.assign(exchange, { head }), refusal(status, "scope", 'no "ü"\r\n\\'));
    const { headers = [] } = exchange.answer ?? {};
    const at = headers.indexOf("warning");
    const warnings = at === -1 ? [] : [headers[at + 1]];
    expect(warnings).toEqual(isWarning ? [String.raw`299 - "no \"?\"??\\"`] : []);
    const texts = warnings.flatMap((warning) => warningsIn(warning));
    expect(texts).toEqual(isWarning ? ['no "?"??\\'] : []);
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
