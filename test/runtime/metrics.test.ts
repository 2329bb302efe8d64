import { expect, test } from "vitest";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { metricTable } from "../../src/runtime/metric-table.ts";

test("a controller counts its reconciles by result, their seconds, failures and unexpected errors", async () => {
  const metrics = createMetrics();
  const controller = metrics.controller("sharedsecret");
  controller.ended("success", 0.02);
  controller.ended("requeue_after", 0.2);
  controller.ended("error", 2);
  controller.unexpectedError();
  const { text } = await metrics.render();
  expect(text).toContain(
    'controller_runtime_reconcile_total{controller="sharedsecret",result="success"} 1',
  );
  expect(text).toContain(
    'controller_runtime_reconcile_total{controller="sharedsecret",result="requeue_after"} 1',
  );
  expect(text).toContain('controller_runtime_reconcile_errors_total{controller="sharedsecret"} 1');
  expect(text).toContain('latchkey_reconcile_unexpected_errors_total{controller="sharedsecret"} 1');
  expect(text).toContain(
    'controller_runtime_reconcile_time_seconds_bucket{le="0.025",controller="sharedsecret"} 1',
  );
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

test("requests, leadership and the process have metrics", async () => {
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
  expect((await metrics.render()).text).toContain(
    'leader_election_master_status{name="latchkey-controller"} 0',
  );
});

test("the output contains every metric of the table with its help, and two processes have separate metrics", async () => {
  createMetrics().controller("other").unexpectedError();
  const { text } = await createMetrics().render();
  for (const { name, help } of Object.values(metricTable))
    expect(text).toContain(`# HELP ${name} ${help}`);
  expect(text).not.toContain("other");
});

test("metrics of watches and caches are read on scrape", async () => {
  const metrics = createMetrics();
  let isFresh = true;
  metrics.watches(() => [{ resource: "secrets", openedAt: 1.5 }]);
  metrics.cacheFresh("accesskeys", () => isFresh);
  expect((await metrics.render()).text).toMatch(
    /latchkey_watch_opened_timestamp_seconds\{resource="secrets"\} 1.5[^]*latchkey_cache_fresh\{cache="accesskeys"\} 1/,
  );
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
  const own = [...types]
    .map(([name, type]) => ({ name, type, help: helps.get(name) ?? "", labels: labelsOf(name) }))
    .filter(({ name }) => tabled.some((metric) => metric.name === name));
  expect(own).toHaveLength(tabled.length);
  expect(own.flatMap(lint)).toEqual([]);
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
  metrics.revokedList.refused("older");
  const before = (await metrics.render()).text;
  expect(before).toContain('latchkey_revoked_list_refusals_total{reason="older"} 1');
  expect(before).not.toContain(`\n${name} `);
  metrics.revokedList.confirmedAt(() => 0);
  expect((await metrics.render()).text).toContain(`\n${name} 0`);
});
