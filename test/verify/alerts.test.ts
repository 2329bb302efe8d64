import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dump } from "js-yaml";
import { afterAll, beforeAll, expect, it } from "vitest";
import { alertRules, rulesFile } from "../support/alert-rules.ts";
import { dashboardPanels } from "../support/dashboard.ts";
import { debianPrograms } from "../support/debian-programs.ts";

/** A series and its values in the notation of `promtool test rules`, one a minute. */
type Series = Readonly<Record<string, string>>;

const ready = (kind: string, condition: string, status: string, reason: string): string =>
  `latchkey_objects{instance="a",kind="${kind}",condition="${condition}",status="${status}",reason="${reason}"}`;
const constant = (value: number): string => `${value}x120`;

/** What a healthy installation has. */
const healthy: Series = {
  'leader_election_master_status{name="latchkey-controller",instance="a"}': constant(1),
  'leader_election_master_status{name="latchkey-controller",instance="b"}': constant(0),
  'latchkey_cache_fresh{cache="accesskeys",instance="a"}': constant(1),
  'latchkey_watch_opened_timestamp_seconds{resource="secrets",instance="a"}': "0+60x120",
  'latchkey_token_issuers_refused{instance="a"}': constant(0),
  'latchkey_token_issuer_keys_timestamp_seconds{issuer="https://oidc.example",instance="a"}':
    "0+60x120",
  [ready("SharedSecret", "Ready", "True", "Ready")]: constant(9),
  [ready("SharedSecret", "Ready", "False", "Progressing")]: constant(1),
  [ready("SharedSecret", "Ready", "False", "NameConflict")]: constant(0),
  [ready("SharedSecret", "Synced", "False", "NoTargets")]: constant(2),
  [ready("SharedSecret", "Synced", "False", "Conflict")]: constant(0),
  [ready("OwnedAccessKey", "Ready", "False", "Expired")]: constant(3),
  [ready("OwnedAccessKey", "Expiring", "False", "NotExpiring")]: constant(3),
  [ready("OwnedAccessKey", "Expiring", "True", "Expiring")]: constant(0),
  'latchkey_connected_cluster_reachable{cluster="cluster/east",instance="a"}': constant(1),
  'latchkey_connected_cluster_reachable{cluster="cluster/east",instance="b"}': constant(0),
  'latchkey_cluster_labels_trusted{cluster="cluster/east",instance="a"}': constant(1),
  'latchkey_cluster_agent_heartbeat_age_seconds{cluster="east",instance="a"}': constant(8),
  'latchkey_cluster_agent_heartbeat_age_seconds{cluster="east",instance="b"}': constant(400),
  'latchkey_outbox_secrets{cluster="east",instance="a"}': constant(40),
  'latchkey_outbox_secrets{cluster="new",instance="a"}': constant(0),
  'latchkey_outbox_withdrawals{cluster="east",instance="a"}': "0x30 3x5 0x85",
  'latchkey_policy_shipped{policy="latchkey-outbox",instance="a"}': constant(1),
  'latchkey_published_roles{state="published",instance="a"}': constant(4),
  'latchkey_published_roles{state="too-large",instance="a"}': constant(0),
  'latchkey_gateway_requests_total{verb="get",code="502",instance="a"}': "0+1x120",
  'latchkey_gateway_refusals_total{reason="limit",code="429",instance="a"}': constant(0),
  'controller_runtime_reconcile_errors_total{controller="copy",instance="a"}': "0+1x120",
  'latchkey_reconcile_unexpected_errors_total{controller="copy",instance="a"}': constant(0),
  'workqueue_longest_running_processor_seconds{name="copy",instance="a"}': constant(2),
  'latchkey_request_concurrency_limit{pool="copies",instance="a"}': constant(16),
  'controller_runtime_webhook_latency_seconds_bucket{webhook="/token-review",le="1",instance="a"}':
    "0+60x120",
  'controller_runtime_webhook_latency_seconds_bucket{webhook="/token-review",le="10",instance="a"}':
    "0+60x120",
  'controller_runtime_webhook_latency_seconds_bucket{webhook="/token-review",le="+Inf",instance="a"}':
    "0+60x120",
  'latchkey_http_refusals_total{server="http",reason="connection",instance="a"}': "0+1x120",
  'latchkey_revoked_list_confirmed_timestamp_seconds{instance="d"}': "0+60x120",
  'latchkey_certificate_problem{problem="ca-changed",instance="a"}': constant(0),
  'latchkey_certificate_expiry_timestamp_seconds{certificate="client",instance="a"}':
    constant(31_536_000),
};

/** For each alert, the series that differ from those of a healthy installation. */
const faults: Readonly<Record<string, Series>> = {
  LatchkeyNoLeader: {
    'leader_election_master_status{name="latchkey-controller",instance="a"}': "1x10 _x110",
  },
  LatchkeyCacheNotFresh: { 'latchkey_cache_fresh{cache="accesskeys",instance="a"}': constant(0) },
  LatchkeyTokenIssuersRefused: {
    'latchkey_token_issuers_refused{instance="a"}': constant(1),
  },
  LatchkeyTokenIssuerKeysOld: {
    'latchkey_token_issuer_keys_timestamp_seconds{issuer="https://oidc.example",instance="a"}':
      constant(-25_000),
  },
  LatchkeyWatchOld: {
    'latchkey_watch_opened_timestamp_seconds{resource="secrets",instance="a"}': constant(60),
  },
  LatchkeyObjectsNotReady: {
    [ready("SharedSecret", "Ready", "False", "NameConflict")]: constant(1),
  },
  LatchkeyCopiesStuck: { [ready("SharedSecret", "Synced", "False", "Conflict")]: constant(1) },
  LatchkeyLifetimesEnd: { [ready("OwnedAccessKey", "Expiring", "True", "Expiring")]: constant(1) },
  LatchkeyClusterUnreachable: {
    'latchkey_connected_cluster_reachable{cluster="cluster/east",instance="a"}': constant(0),
  },
  // One of two replicas.
  LatchkeyClusterLabelsNotTrusted: {
    'latchkey_cluster_labels_trusted{cluster="cluster/east",instance="b"}': constant(0),
  },
  LatchkeyClusterAgentSilent: {
    'latchkey_outbox_secrets{cluster="new",instance="a"}': constant(2),
  },
  LatchkeyWithdrawalsWait: {
    'latchkey_outbox_withdrawals{cluster="east",instance="a"}': constant(3),
  },
  LatchkeyPolicyChanged: {
    'latchkey_policy_shipped{policy="latchkey-outbox",instance="a"}': constant(0),
  },
  LatchkeyRolesLeftOut: {
    'latchkey_published_roles{state="too-large",instance="a"}': constant(2),
  },
  LatchkeyGatewayUpstream: {
    'latchkey_gateway_requests_total{verb="get",code="502",instance="a"}': "0+60x120",
  },
  LatchkeyGatewayFull: {
    'latchkey_gateway_refusals_total{reason="limit",code="429",instance="a"}': "0+1x120",
  },
  LatchkeyReconcileErrors: {
    'controller_runtime_reconcile_errors_total{controller="copy",instance="a"}': "0+60x120",
  },
  // The first error of a controller: its counter exists with 0.
  LatchkeyReconcileBug: {
    'latchkey_reconcile_unexpected_errors_total{controller="copy",instance="a"}': "0x55 1x64",
  },
  LatchkeyReconcileHangs: {
    'workqueue_longest_running_processor_seconds{name="copy",instance="a"}': "0+60x120",
  },
  LatchkeyRequestLimitLow: {
    'latchkey_request_concurrency_limit{pool="copies",instance="a"}': constant(2),
  },
  LatchkeyReviewsSlow: {
    'controller_runtime_webhook_latency_seconds_bucket{webhook="/token-review",le="1",instance="a"}':
      "0+30x120",
  },
  LatchkeyPortUnderPressure: {
    'latchkey_http_refusals_total{server="http",reason="connection",instance="a"}': "0+120x120",
  },
  LatchkeyRevokedListOld: {
    'latchkey_revoked_list_confirmed_timestamp_seconds{instance="d"}': constant(0),
  },
  LatchkeyCertificateProblem: {
    'latchkey_certificate_problem{problem="ca-changed",instance="a"}': constant(1),
  },
  LatchkeyClientCertificateEnds: {
    'latchkey_certificate_expiry_timestamp_seconds{certificate="client",instance="a"}':
      constant(86_400),
  },
};

const rules = alertRules();
const directory = mkdtempSync(join(tmpdir(), "alerts-"));
let promtool: string;

beforeAll(async () => {
  const report = (line: string): void => void process.stderr.write(`prometheus: ${line}\n`);
  promtool = join(await debianPrograms(["prometheus"], report), "usr/bin/promtool");
});
afterAll(() => rmSync(directory, { recursive: true }));

/** The alerts that fire after an hour of these series. */
function firing(series: Series): readonly string[] {
  const file = join(directory, "test.yaml");
  const test = {
    interval: "1m",
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    // ALERTS counts those that fire; the labels of an expected alert would repeat the rule.
    promql_expr_test: rules.map(({ alert }) => ({
      expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) > 0`,
      eval_time: "1h",
      exp_samples: [],
    })),
  };
  const content = { rule_files: [rulesFile], evaluation_interval: "1m", tests: [test] };
  writeFileSync(file, dump(content));
  try {
    execFileSync(promtool, ["test", "rules", file], { encoding: "utf8", stdio: "pipe" });
    return [];
  } catch (error) {
    const output = String(error instanceof Error && "stderr" in error ? error.stderr : error);
    const fired = rules.filter(({ alert }) => output.includes(`alertname=\\"${alert}\\"`));
    if (fired.length === 0) throw error;
    return fired.map(({ alert }) => alert);
  }
}

it("promtool accepts the rules", () => {
  const output = execFileSync(promtool, ["check", "rules", rulesFile], { encoding: "utf8" });
  expect(output).toContain(`${rules.length} rules found`);
});

it("promtool accepts the queries of the dashboard", () => {
  const queries = dashboardPanels().flatMap((panel) => panel.queries);
  const recorded = queries.map(({ expr }, index) => ({ record: `query_${index}`, expr }));
  const file = join(directory, "queries.yaml");
  writeFileSync(file, dump({ groups: [{ name: "dashboard", rules: recorded }] }));
  const output = execFileSync(promtool, ["check", "rules", file], { encoding: "utf8" });
  expect(output).toContain(`${queries.length} rules found`);
});

it("no alert fires in a healthy installation", () => {
  expect(firing(healthy)).toEqual([]);
});

it.each(rules)("$alert fires on its fault, alone", ({ alert }) => {
  expect(firing({ ...healthy, ...faults[alert] })).toEqual([alert]);
});
