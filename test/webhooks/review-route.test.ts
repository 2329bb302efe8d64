import { expect, test } from "vitest";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { gateOf, plain, routed } from "../../src/runtime/routes.ts";
import { apiServerName, requireApiServer, timed } from "../../src/webhooks/review-route.ts";
import { metricLines } from "../support/metric-lines.ts";
import { posted } from "../support/review-fixture.ts";
import { TestClock } from "../support/test-clock.ts";

test.each<[string | undefined, number]>([
  [apiServerName, 200],
  ["latchkey:somebody", 401],
  [undefined, 401],
])(
  "responds to a client certificate of %s with %i, before it reads the body",
  async (clientName, status) => {
    let asked = 0;
    const handler = () => {
      asked += 1;
      return plain(200, "secret");
    };
    const routes = [
      { method: "POST", path: "/review", handler, refuses: requireApiServer },
    ] as const;
    const peer = { clientName, address: "192.0.2.1" };
    const found = gateOf(routes)(posted({}), peer);
    expect("status" in found ? found.status : 200).toBe(status);
    expect(asked).toBe(0);
    expect((await routed(routes)(posted({}), peer)).status).toBe(status);
    expect(asked).toBe(status === 200 ? 1 : 0);
  },
);

test("a path counts its requests by code, their seconds and those in progress", async () => {
  const metrics = createMetrics();
  const clock = new TestClock();
  const statuses = [200, 400, undefined];
  const handler = timed(
    "/token-review",
    async () => {
      const status = statuses.shift();
      clock.advance(status === 200 ? 2 : 20_000);
      return status === undefined ? new Promise(() => {}) : plain(status, "");
    },
    { metrics, clock, certificates: { shown() {} } },
  );
  const peer = { clientName: apiServerName, address: "192.0.2.1" };
  await handler(posted({}), peer);
  await handler(posted({}), peer);
  void handler(posted({}), peer);
  expect(await metricLines(metrics, /^controller_runtime_webhook_(?!.*_bucket)/)).toEqual([
    'controller_runtime_webhook_requests_total{webhook="/token-review",code="200"} 1',
    'controller_runtime_webhook_requests_total{webhook="/token-review",code="500"} 0',
    'controller_runtime_webhook_requests_total{webhook="/token-review",code="400"} 1',
    'controller_runtime_webhook_latency_seconds_sum{webhook="/token-review"} 20.002',
    'controller_runtime_webhook_latency_seconds_count{webhook="/token-review"} 2',
    'controller_runtime_webhook_requests_in_flight{webhook="/token-review"} 1',
  ]);
});
