import { expect, test } from "vitest";
import { refusalCounter } from "../../src/runtime/http-server.ts";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { metricTable } from "../../src/runtime/metric-table.ts";
import { controllerMetrics, queueMetrics, requestMetrics } from "../../src/runtime/work-metrics.ts";
import { metricLines } from "../support/metric-lines.ts";

test("a controller counts its reconciles by result, their seconds, failures and unexpected errors", async () => {
  const metrics = createMetrics();
  const controller = controllerMetrics("copy", 4, metrics);
  const counts =
    /^controller_runtime_(?:reconcile_(?:total|errors)|active|max)|^latchkey_reconcile/;
  expect(await metricLines(metrics, counts)).toEqual([
    'controller_runtime_reconcile_total{controller="copy",result="success"} 0',
    'controller_runtime_reconcile_total{controller="copy",result="error"} 0',
    'controller_runtime_reconcile_total{controller="copy",result="requeue_after"} 0',
    'controller_runtime_reconcile_errors_total{controller="copy"} 0',
    'latchkey_reconcile_unexpected_errors_total{controller="copy"} 0',
    'controller_runtime_active_workers{controller="copy"} 0',
    'controller_runtime_max_concurrent_reconciles{controller="copy"} 4',
  ]);
  for (let count = 0; count < 5; count += 1) controller.began();
  controller.ended("success", 0.02);
  controller.ended("requeue_after", 0.2);
  controller.ended("error", 2);
  controller.unexpectedError();
  expect(await metricLines(metrics, counts)).toEqual([
    'controller_runtime_reconcile_total{controller="copy",result="success"} 1',
    'controller_runtime_reconcile_total{controller="copy",result="error"} 1',
    'controller_runtime_reconcile_total{controller="copy",result="requeue_after"} 1',
    'controller_runtime_reconcile_errors_total{controller="copy"} 1',
    'latchkey_reconcile_unexpected_errors_total{controller="copy"} 1',
    'controller_runtime_active_workers{controller="copy"} 2',
    'controller_runtime_max_concurrent_reconciles{controller="copy"} 4',
  ]);
  expect(await metricLines(metrics, /reconcile_time_seconds_bucket\{le="0.025"/)).toEqual([
    'controller_runtime_reconcile_time_seconds_bucket{le="0.025",controller="copy"} 1',
  ]);
});

test("a queue shows its depth, adds, retries, waits and work in progress, of the last queue of its name", async () => {
  const metrics = createMetrics();
  const shown = /^workqueue_(?!.*_bucket)/;
  queueMetrics("token", metrics).inProgress(() => [1000]);
  const queue = queueMetrics("token", metrics);
  queue.inProgress(() => [2, 0.5]);
  queue.added(1);
  queue.added(2);
  queue.taken(1, 3);
  queue.done(4);
  queue.retried();
  expect(await metricLines(metrics, shown)).toEqual([
    'workqueue_depth{name="token"} 1',
    'workqueue_adds_total{name="token"} 2',
    'workqueue_retries_total{name="token"} 1',
    'workqueue_queue_duration_seconds_sum{name="token"} 3',
    'workqueue_queue_duration_seconds_count{name="token"} 1',
    'workqueue_work_duration_seconds_sum{name="token"} 4',
    'workqueue_work_duration_seconds_count{name="token"} 1',
    'workqueue_unfinished_work_seconds{name="token"} 2.5',
    'workqueue_longest_running_processor_seconds{name="token"} 2',
  ]);
});

test("requests, leadership and the process have metrics", async () => {
  const metrics = createMetrics();
  const requests = requestMetrics("a:6443", metrics);
  requests.ended({ code: "200", method: "GET" });
  requests.ended({ code: "418", method: "PUT" });
  requests.took("GET", 0.2);
  metrics.gauge("leader_election_master_status", { name: "latchkey-controller" }).set(1);
  const { text, contentType } = await metrics.render();
  expect(contentType).toMatch(/^text\/plain/);
  expect(text).toContain('rest_client_requests_total{code="200",method="GET",host="a:6443"} 1');
  expect(text).toContain('rest_client_requests_total{code="418",method="PUT",host="a:6443"} 1');
  expect(text).toContain('rest_client_requests_total{code="<error>",method="PUT",host="a:6443"} 0');
  expect(text).toContain(
    'rest_client_request_duration_seconds_bucket{le="0.25",verb="GET",host="a:6443"} 1',
  );
  expect(text).toContain('leader_election_master_status{name="latchkey-controller"} 1');
  expect(text).toContain("process_cpu_seconds_total");
  expect(text).toContain(`latchkey_build_info{version="${latchkeyVersion}"} 1`);
  metrics.gauge("leader_election_master_status", { name: "latchkey-controller" }).set(0);
  expect((await metrics.render()).text).toContain(
    'leader_election_master_status{name="latchkey-controller"} 0',
  );
});

test("counts of a closed set are 0 from the start", async () => {
  const metrics = createMetrics();
  const results = ["authenticated", "refused"] as const;
  const reviewed = metrics.counterOf("latchkey_reviews_total", results, (result) => ({
    result,
    kind: "token",
  }));
  reviewed("refused");
  refusalCounter("http", ["connection"], metrics)("connection");
  expect(await metricLines(metrics, /^latchkey_(?:reviews|http)/)).toEqual([
    'latchkey_reviews_total{kind="token",result="authenticated"} 0',
    'latchkey_reviews_total{kind="token",result="refused"} 1',
    'latchkey_http_refusals_total{server="http",reason="connection"} 1',
  ]);
});

test("a gauge without labels has a value once it is set, 0 included", async () => {
  const metrics = createMetrics();
  metrics.gauge("latchkey_revoked_list_confirmed_timestamp_seconds", {}).set(0);
  expect(await metricLines(metrics, /^latchkey_revoked/)).toEqual([
    "latchkey_revoked_list_confirmed_timestamp_seconds 0",
  ]);
});

test("the same labels are the same series", async () => {
  const metrics = createMetrics();
  for (const seconds of [0.001, 3]) {
    metrics.counter("workqueue_adds_total", { name: "copy" }).inc();
    metrics.histogram("workqueue_work_duration_seconds", { name: "copy" }).observe(seconds);
  }
  expect(await metricLines(metrics, /^workqueue_(?:adds|work_.*_count)/)).toEqual([
    'workqueue_adds_total{name="copy"} 2',
    'workqueue_work_duration_seconds_count{name="copy"} 2',
  ]);
});

test("processes that count no objects and no revoked tokens have no series of them", async () => {
  const shown = /^latchkey_(?:objects_not|object_not|objects_exp|sync_targets|revoked)/;
  expect(await metricLines(createMetrics(), shown)).toEqual([]);
});

test("the output contains every metric of the table with its help, and two processes have separate metrics", async () => {
  controllerMetrics("other", 1, createMetrics()).unexpectedError();
  const { text } = await createMetrics().render();
  for (const [name, { help }] of Object.entries(metricTable))
    expect(text).toContain(`# HELP ${name} ${help}`);
  expect(text).not.toContain("other");
});

/**
 * The problems that `promtool check metrics` reports for a metric (client_golang,
 * prometheus/testutil/promlint): the rules for names, help, units and labels.
 */
function lint({
  name,
  help,
  type,
  labels,
}: {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labels: readonly string[];
}): readonly string[] {
  const words = name.split("_");
  const baseUnits = [
    ...["seconds", "bytes", "celsius", "meters", "volts", "amperes", "joules", "grams", "ratio"],
  ];
  const otherUnits = [
    ...["milliseconds", "microseconds", "nanoseconds", "minutes", "hours", "days", "weeks"],
    ...["kilobytes", "megabytes", "gigabytes", "bits", "percent", "fahrenheit", "kelvin"],
  ];
  const abbreviations = [
    ...["s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d"],
  ];
  const unit = words.findIndex((word) => baseUnits.includes(word));
  const problems: readonly (readonly [boolean, string])[] = [
    [help.trim() === "", "no help text"],
    [type === "counter" && !name.endsWith("_total"), 'counter metrics should have "_total" suffix'],
    [
      type !== "counter" && name.endsWith("_total"),
      'non-counter metrics should not have "_total" suffix',
    ],
    [
      type !== "histogram" && name.endsWith("_bucket"),
      'non-histogram metrics should not have "_bucket" suffix',
    ],
    [
      !["histogram", "summary"].includes(type) && /_(count|sum)$/.test(name),
      'non-histogram and non-summary metrics should not have "_count" or "_sum" suffix',
    ],
    [
      type !== "histogram" && labels.includes("le"),
      'non-histogram metrics should not have "le" label',
    ],
    [
      type !== "summary" && labels.includes("quantile"),
      'non-summary metrics should not have "quantile" label',
    ],
    [words.includes(type), `metric name should not include type '${type}'`],
    [/:/.test(name), "metric names should not contain ':'"],
    [
      [name, ...labels].some((text) => /[a-z][A-Z]/.test(text)),
      "names should be written in 'snake_case' not 'camelCase'",
    ],
    [
      words.some((word) => abbreviations.includes(word)),
      "metric names should not contain abbreviated units",
    ],
    [words.some((word) => otherUnits.includes(word)), "use base unit"],
    [
      unit !== -1 &&
        ![name.replace(/_total$/, ""), name].some((text) => text.endsWith(words[unit] ?? "")),
      "the unit should be the suffix",
    ],
  ];
  return problems.filter(([isWrong]) => isWrong).map(([, problem]) => `${name}: ${problem}`);
}

test("all metrics pass the rules of promtool check metrics", async () => {
  const { text } = await createMetrics().render();
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(
      ([, name = "", type = ""]) => [name, type] as const,
    ),
  );
  const helps = new Map(
    [...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(
      ([, name = "", help = ""]) => [name, help] as const,
    ),
  );
  const tabled = new Map(Object.entries(metricTable));
  const all = [...types].map(([name, type]) => ({
    name,
    type,
    help: helps.get(name) ?? "",
    labels: tabled.get(name)?.labels ?? [],
  }));
  expect(all.length).toBeGreaterThan(tabled.size);
  expect(all.flatMap(lint)).toEqual([]);
});

test.each([
  [{ name: "latchkey_keys", type: "counter" }, "_total"],
  [{ name: "latchkey_keys_total", type: "gauge" }, "_total"],
  [{ name: "latchkey_wait_milliseconds", type: "gauge" }, "base unit"],
  [{ name: "latchkey_wait_ms", type: "gauge" }, "abbreviated"],
  [{ name: "latchkey_seconds_of_wait", type: "gauge" }, "suffix"],
  [{ name: "latchkey_waitTime", type: "gauge" }, "snake_case"],
  [{ name: "latchkey_gauge_of_keys", type: "gauge" }, "type 'gauge'"],
  [{ name: "latchkey_keys_count", type: "gauge" }, "_count"],
  [{ name: "latchkey_keys", type: "gauge", help: "" }, "no help"],
  [{ name: "latchkey_keys", type: "gauge", labels: ["le"] }, '"le"'],
])("the rules detect the problem of %o", (metric, problem) => {
  expect(lint({ help: "Keys.", labels: [], ...metric })).toEqual([
    expect.stringContaining(problem),
  ]);
});
