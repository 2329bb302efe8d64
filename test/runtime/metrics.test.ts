import { expect, test } from "vitest";
import { gatewayMetrics } from "../../src/gateway/gateway-metrics.ts";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { createMetrics, type Metrics } from "../../src/runtime/metrics.ts";
import { metricTable } from "../../src/runtime/metric-table.ts";

async function linesOf(metrics: Metrics, name: RegExp): Promise<readonly string[]> {
  const { text } = await metrics.render();
  return text.split("\n").filter((line) => name.test(line));
}

test("a controller counts its reconciles by result, their seconds, failures and unexpected errors", async () => {
  const metrics = createMetrics();
  const controller = metrics.controller("copy", 4);
  const counts =
    /^controller_runtime_(?:reconcile_(?:total|errors)|active|max)|^latchkey_reconcile/;
  expect(await linesOf(metrics, counts)).toEqual([
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
  expect(await linesOf(metrics, counts)).toEqual([
    'controller_runtime_reconcile_total{controller="copy",result="success"} 1',
    'controller_runtime_reconcile_total{controller="copy",result="error"} 1',
    'controller_runtime_reconcile_total{controller="copy",result="requeue_after"} 1',
    'controller_runtime_reconcile_errors_total{controller="copy"} 1',
    'latchkey_reconcile_unexpected_errors_total{controller="copy"} 1',
    'controller_runtime_active_workers{controller="copy"} 2',
    'controller_runtime_max_concurrent_reconciles{controller="copy"} 4',
  ]);
  expect(await linesOf(metrics, /reconcile_time_seconds_bucket\{le="0.025"/)).toEqual([
    'controller_runtime_reconcile_time_seconds_bucket{le="0.025",controller="copy"} 1',
  ]);
});

test("a queue shows its depth, adds, retries, waits and work in progress, of the last queue of its name", async () => {
  const metrics = createMetrics();
  const shown = /^workqueue_(?!.*_bucket)/;
  metrics.queue("token").inProgress(() => [1000]);
  const queue = metrics.queue("token");
  queue.inProgress(() => [2, 0.5]);
  queue.added(1);
  queue.added(2);
  queue.taken(1, 3);
  queue.done(4);
  queue.retried();
  expect(await linesOf(metrics, shown)).toEqual([
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
  const requests = metrics.requests("a:6443");
  requests.ended({ code: "200", method: "GET" });
  requests.ended({ code: "418", method: "PUT" });
  requests.took("GET", 0.2);
  metrics.leading("latchkey-controller", true);
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
  metrics.leading("latchkey-controller", false);
  expect((await metrics.render()).text).toContain(
    'leader_election_master_status{name="latchkey-controller"} 0',
  );
});

test("a path of the webhook counts its requests by code, their seconds and those in progress", async () => {
  const metrics = createMetrics();
  const webhook = metrics.webhook("/token-review");
  for (let count = 0; count < 3; count += 1) webhook.began();
  webhook.ended(200, 0.002);
  webhook.ended(400, 20);
  expect(await linesOf(metrics, /^controller_runtime_webhook_(?!.*_bucket)/)).toEqual([
    'controller_runtime_webhook_requests_total{webhook="/token-review",code="200"} 1',
    'controller_runtime_webhook_requests_total{webhook="/token-review",code="500"} 0',
    'controller_runtime_webhook_requests_total{webhook="/token-review",code="400"} 1',
    'controller_runtime_webhook_latency_seconds_sum{webhook="/token-review"} 20.002',
    'controller_runtime_webhook_latency_seconds_count{webhook="/token-review"} 2',
    'controller_runtime_webhook_requests_in_flight{webhook="/token-review"} 1',
  ]);
});

test("counts of a closed set are 0 from the start", async () => {
  const metrics = createMetrics();
  const reviewed = metrics.reviews("token", ["authenticated", "refused"]);
  reviewed("refused");
  metrics.gateway.cuts(["denied"]);
  metrics.httpRefusals("http", ["connection"])("connection");
  gatewayMetrics(metrics).refused("limit", 429);
  expect(
    await linesOf(metrics, /^latchkey_(?:reviews|gateway_cuts|http|gateway_refusals.*"limit)/),
  ).toEqual([
    'latchkey_reviews_total{kind="token",result="authenticated"} 0',
    'latchkey_reviews_total{kind="token",result="refused"} 1',
    'latchkey_gateway_refusals_total{reason="limit",code="429"} 1',
    'latchkey_gateway_cuts_total{reason="denied"} 0',
    'latchkey_http_refusals_total{server="http",reason="connection"} 1',
  ]);
});

test("objects that are ready again have no series, and other processes none of objects", async () => {
  const metrics = createMetrics();
  const shown = /^latchkey_(?:objects_not|object_not|objects_exp|sync_targets)/;
  expect(await linesOf(metrics, shown)).toEqual([]);
  const targets = { synced: 1, conflict: 0, failed: 0, pending: 0 };
  let notReady = [{ kind: "SharedSecret", namespace: "team", name: "db", reason: "Conflict" }];
  metrics.objects(() => ({
    ...{ groups: [], targets, notReady, omitted: 3 },
    expiring: [{ kind: "OwnedAccessKey", within: "1d", count: 2 }],
  }));
  const others = [
    'latchkey_sync_targets{state="synced"} 1',
    'latchkey_sync_targets{state="conflict"} 0',
    'latchkey_sync_targets{state="failed"} 0',
    'latchkey_sync_targets{state="pending"} 0',
    "latchkey_objects_not_ready_omitted 3",
    'latchkey_objects_expiring{kind="OwnedAccessKey",within="1d"} 2',
  ];
  const named =
    'latchkey_object_not_ready{kind="SharedSecret",namespace="team",name="db",reason="Conflict"} 1';
  expect(await linesOf(metrics, shown)).toEqual(others.toSpliced(4, 0, named));
  notReady = [];
  expect(await linesOf(metrics, shown)).toEqual(others);
});

test("connected clusters that are gone have no series", async () => {
  const metrics = createMetrics();
  let named = [["cluster/east", false]] as [string, boolean][];
  metrics.gateway.clusters(() => ({ counts: { reachable: 4, unreachable: named.length }, named }));
  const shown = /^latchkey_connected/;
  expect(await linesOf(metrics, shown)).toEqual([
    'latchkey_connected_cluster_reachable{cluster="cluster/east"} 0',
    'latchkey_connected_clusters{state="reachable"} 4',
    'latchkey_connected_clusters{state="unreachable"} 1',
  ]);
  named = [];
  expect(await linesOf(metrics, shown)).toEqual([
    'latchkey_connected_clusters{state="reachable"} 4',
    'latchkey_connected_clusters{state="unreachable"} 0',
  ]);
});

test("the output contains every metric of the table with its help, and two processes have separate metrics", async () => {
  createMetrics().controller("other", 1).unexpectedError();
  const { text } = await createMetrics().render();
  for (const { name, help } of Object.values(metricTable))
    expect(text).toContain(`# HELP ${name} ${help}`);
  expect(text).not.toContain("other");
});

test("metrics of watches and caches are read on scrape", async () => {
  const metrics = createMetrics();
  let isFresh = true;
  metrics.watches(() => [{ resource: "secrets", openedAt: 1.5, objects: 7 }]);
  metrics.watchInterrupted("secrets", "Network");
  metrics.cacheFresh("accesskeys", () => isFresh);
  expect((await metrics.render()).text).toMatch(
    /latchkey_watch_opened_timestamp_seconds\{resource="secrets"\} 1.5[^]*latchkey_cache_fresh\{cache="accesskeys"\} 1/,
  );
  expect(
    await linesOf(metrics, /^latchkey_(?:watch_int|cache_obj).*(?:Network|Gone|\} 7)/),
  ).toEqual([
    'latchkey_watch_interruptions_total{resource="secrets",code="Network"} 1',
    'latchkey_watch_interruptions_total{resource="secrets",code="Gone"} 0',
    'latchkey_cache_objects{resource="secrets"} 7',
  ]);
  isFresh = false;
  expect((await metrics.render()).text).toContain('latchkey_cache_fresh{cache="accesskeys"} 0');
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
  const tabled: readonly { readonly name: string; readonly labelNames: readonly string[] }[] =
    Object.values(metricTable);
  const labelsOf = (name: string): readonly string[] =>
    tabled.find((metric) => metric.name === name)?.labelNames ?? [];
  const all = [...types].map(([name, type]) => ({
    ...{ name, type, help: helps.get(name) ?? "" },
    labels: labelsOf(name),
  }));
  expect(all.length).toBeGreaterThan(tabled.length);
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

test("the list of revoked tokens has a time only where it is read, 0 included", async () => {
  const name = "latchkey_revoked_list_confirmed_timestamp_seconds";
  const metrics = createMetrics();
  metrics.revokedList.refusals(["older"])("older");
  const before = (await metrics.render()).text;
  expect(before).toContain('latchkey_revoked_list_refusals_total{reason="older"} 1');
  expect(before).not.toContain(`\n${name} `);
  metrics.revokedList.confirmedAt(() => 0);
  expect((await metrics.render()).text).toContain(`\n${name} 0`);
});
