import { describe, expect, test } from "vitest";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { healthRoute, metricsRoute, plain, readyRoute, routed } from "../../src/runtime/routes.ts";
import type { Handler, Readiness } from "../../src/runtime/routes.ts";

const stranger = { clientName: undefined };

function handler(readiness: Readiness = { ready: true, reasons: [] }): Handler {
  const echo: Handler = async (request) => plain(200, await request.text());
  return routed([healthRoute(), readyRoute(() => readiness), metricsRoute(createMetrics()), { method: "POST", path: "/echo", handler: echo }]);
}

describe("each request has its answer", () => {
  test.for<[string, string, number, string]>([
    ["GET", "/healthz", 200, "ok\n"],
    ["HEAD", "/healthz", 200, "ok\n"],
    ["GET", "/healthz?verbose", 200, "ok\n"],
    ["GET", "/readyz", 200, "ok\n"],
    ["GET", "/nowhere", 404, "not found\n"],
    ["GET", "/healthz/", 404, "not found\n"],
    ["POST", "/healthz", 405, "method not allowed\n"],
    ["GET", "/echo", 405, "method not allowed\n"],
  ])("%s %s is %i", async ([method, path, status, text]) => {
    const response = await handler()(new Request(`http://localhost${path}`, { method }), stranger);
    expect(response.status).toBe(status);
    expect(await response.text()).toBe(text);
  });
});

test("a wrong method is told the right one", async () => {
  const response = await handler()(new Request("http://localhost/echo"), stranger);
  expect(response.headers.get("allow")).toBe("POST");
});

test("what is not ready says why", async () => {
  const response = await handler({ ready: false, reasons: ["secrets are not listed yet", "policies are missing"] })(new Request("http://localhost/readyz"), stranger);
  expect(response.status).toBe(503);
  expect(await response.text()).toBe("not ready\nsecrets are not listed yet\npolicies are missing\n");
});

test("metrics come in Prometheus' format", async () => {
  const response = await handler()(new Request("http://localhost/metrics"), stranger);
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0.0.4/);
  expect(await response.text()).toContain("# TYPE workqueue_depth gauge");
});
