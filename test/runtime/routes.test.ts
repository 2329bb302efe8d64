import { describe, expect, test } from "vitest";
import { createMetrics } from "../../src/runtime/metrics.ts";
import {
  gateOf,
  type Handler,
  healthRoute,
  type HttpRequest,
  metricsRoute,
  plain,
  type Readiness,
  readyRoute,
  revalidated,
  routed,
} from "../../src/runtime/routes.ts";

const anonymousClient = { clientName: undefined, address: "192.0.2.1" };
const asked = (path: string, method = "GET"): HttpRequest => ({ method, path, body: "" });

function handler(readiness: Readiness = { ready: true, reasons: [] }): Handler {
  const echo: Handler = (request) => plain(200, request.body);
  return routed([
    healthRoute(),
    readyRoute(() => readiness),
    metricsRoute(createMetrics()),
    { method: "POST", path: "/echo", handler: echo },
  ]);
}

describe("routes a request", () => {
  test.for<[string, string, number, string]>([
    ["GET", "/healthz", 200, "ok\n"],
    ["HEAD", "/healthz", 200, "ok\n"],
    ["GET", "/readyz", 200, "ok\n"],
    ["GET", "/nowhere", 404, "not found\n"],
    ["GET", "/healthz/", 404, "not found\n"],
    ["POST", "/healthz", 405, "method not allowed\n"],
    ["GET", "/echo", 405, "method not allowed\n"],
  ])("%s %s is %i", async ([method, path, status, text]) => {
    const response = await handler()(asked(path, method), anonymousClient);
    expect(response.status).toBe(status);
    expect(response.body).toBe(text);
  });
});

describe("a hidden route", () => {
  const routes = [
    { method: "POST", path: "/admit/x", handler: () => plain(200, "hidden"), isHidden: true },
    { method: "POST", path: "/open", handler: () => plain(200, "open") },
  ] as const;
  const isHiddenSegment = (segment: string): boolean => segment === "secret";
  test.for<[string, string, number]>([
    ["POST", "/secret/admit/x", 200],
    ["GET", "/secret/admit/x", 405],
    ["POST", "/admit/x", 404],
    ["POST", "/other/admit/x", 404],
    ["POST", "//admit/x", 404],
    ["POST", "/secret//admit/x", 404],
    ["POST", "/secret/secret/admit/x", 404],
    ["POST", "/secret/open", 404],
    ["POST", "/open", 200],
    ["POST", "/secret", 404],
  ])("responds to %s %s with %i, before the body is read", async ([method, path, status]) => {
    expect(
      (await routed(routes, isHiddenSegment)(asked(path, method), anonymousClient)).status,
    ).toBe(status);
    const found = gateOf(routes, isHiddenSegment)(asked(path, method), anonymousClient);
    expect("status" in found ? found.status : 200).toBe(status);
  });

  test.for<[string, boolean]>([
    ["/secret/admit/x", true],
    ["/open", false],
  ])("is one by the gate's answer, and others are not: %s", ([path, isHidden]) => {
    const found = gateOf(routes, isHiddenSegment)(asked(path, "POST"), anonymousClient);
    expect("status" in found ? found.status : (found.isHidden ?? false)).toBe(isHidden);
  });

  test("is not served without a segment", async () => {
    expect((await routed(routes)(asked("/secret/admit/x", "POST"), anonymousClient)).status).toBe(
      404,
    );
  });
});

test("a wrong method gets 405 with the allowed methods", async () => {
  const response = await handler()(asked("/echo"), anonymousClient);
  expect(response.headers["allow"]).toBe("POST");
});

test("readyz lists the reasons if the process is not ready", async () => {
  const response = await handler({
    ready: false,
    reasons: ["secrets are not synced yet", "policies are missing"],
  })(asked("/readyz"), anonymousClient);
  expect(response.status).toBe(503);
  expect(response.body).toBe("not ready\nsecrets are not synced yet\npolicies are missing\n");
});

test.each([
  [true, 200, "ok\nwarning: the CA changed\n"],
  [false, 503, "not ready\nshutting down\nwarning: the CA changed\n"],
])("a warning is printed and does not change the status (%s: %i)", async (ready, status, body) => {
  expect(
    await handler({ ready, reasons: ready ? [] : ["shutting down"], warnings: ["the CA changed"] })(
      asked("/readyz"),
      anonymousClient,
    ),
  ).toMatchObject({ status, body });
});

test("metrics are in the format of Prometheus", async () => {
  const response = await handler()(asked("/metrics"), anonymousClient);
  expect(response.headers["content-type"]).toMatch(/^text\/plain; version=0.0.4/);
  expect(response.body).toContain("# TYPE workqueue_depth gauge");
});

describe("a response with the tag of its content", () => {
  const whole = { status: 200, headers: { etag: '"a"' }, body: "text" };
  test.for<[string | undefined, number]>([
    [undefined, 200],
    ["", 200],
    ['"b"', 200],
    ["a", 200],
    ['"a"', 304],
    ['W/"a"', 304],
    ['"b", "a"', 304],
    ["*", 304],
  ])("is, with If-None-Match %j, a %i", ([ifNoneMatch, status]) => {
    expect(revalidated(whole, ifNoneMatch)).toEqual({
      ...whole,
      status,
      body: status === 200 ? "text" : "",
    });
  });

  test("is whole if it has no tag or is no success", () => {
    const [untagged, failed] = [
      { ...whole, headers: {} },
      { ...whole, status: 503 },
    ];
    expect([revalidated(untagged, "*"), revalidated(failed, "*")]).toEqual([untagged, failed]);
  });
});
