import { expect, test } from "vitest";
import { createMetrics, metricTable } from "../../src/runtime/metrics.ts";

test("a controller counts its passes by result, their seconds, failures and bugs", async () => {
  const metrics = createMetrics();
  const controller = metrics.controller("sharedsecret");
  controller.ended("success", 0.02);
  controller.ended("requeue_after", 0.2);
  controller.ended("error", 2);
  controller.bug();
  const { text } = await metrics.render();
  expect(text).toContain('controller_runtime_reconcile_total{controller="sharedsecret",result="success"} 1');
  expect(text).toContain('controller_runtime_reconcile_total{controller="sharedsecret",result="requeue_after"} 1');
  expect(text).toContain('controller_runtime_reconcile_errors_total{controller="sharedsecret"} 1');
  expect(text).toContain('latchkey_reconcile_bugs_total{controller="sharedsecret"} 1');
  expect(text).toContain('controller_runtime_reconcile_time_seconds_bucket{le="0.025",controller="sharedsecret"} 1');
});

test("a queue shows its depth, adds and retries", async () => {
  const metrics = createMetrics();
  const queue = metrics.queue("token");
  queue.added(1);
  queue.added(2);
  queue.taken(1);
  queue.retried();
  const { text } = await metrics.render();
  expect(text).toContain('workqueue_depth{name="token"} 1');
  expect(text).toContain('workqueue_adds_total{name="token"} 2');
  expect(text).toContain('workqueue_retries_total{name="token"} 1');
});

test("requests, leadership and the process are shown", async () => {
  const metrics = createMetrics();
  metrics.request({ code: "200", method: "GET", host: "a:6443" });
  metrics.request({ code: "<error>", method: "PUT", host: "a:6443" });
  metrics.leading("latchkey-controller", true);
  const { text, contentType } = await metrics.render();
  expect(contentType).toMatch(/^text\/plain/);
  expect(text).toContain('rest_client_requests_total{code="200",method="GET",host="a:6443"} 1');
  expect(text).toContain('rest_client_requests_total{code="<error>",method="PUT",host="a:6443"} 1');
  expect(text).toContain('leader_election_master_status{name="latchkey-controller"} 1');
  expect(text).toContain("process_cpu_seconds_total");
  metrics.leading("latchkey-controller", false);
  expect((await metrics.render()).text).toContain('leader_election_master_status{name="latchkey-controller"} 0');
});

test("every metric of the table is in the output with its help, and two processes' metrics do not mix", async () => {
  createMetrics().controller("other").bug();
  const { text } = await createMetrics().render();
  for (const { name, help } of Object.values(metricTable)) expect(text).toContain(`# HELP ${name} ${help}`);
  expect(text).not.toContain("other");
});
