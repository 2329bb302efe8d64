import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "js-yaml";
import { listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import type { Part } from "./chart.ts";
import type { Kustomize } from "./kustomize.ts";
import { labelsPath, labelsText, moreLabels } from "./labels.ts";
import { at, requiredIf, switchOf } from "./shared-values.ts";
import type { Manifest, Substitutions } from "./template.ts";
import type { Schema, Value } from "./value.ts";

const name = "latchkey";
const rules = join(import.meta.dirname, "../../config/prometheus/rules.yaml");
/** Where the sections of the runbooks are, as rules.yaml says it. */
const runbooks = "docs/runbooks.md";

/** The objects that scrape the processes, and their fields with the ports. */
const monitors = [
  {
    key: "serviceMonitor",
    object: `ServiceMonitor ${name}`,
    field: "endpoints",
    help: "Create a ServiceMonitor, which requires the CRDs of the Prometheus Operator; label the namespace of Prometheus `metrics=enabled`",
  },
  {
    key: "podMonitor",
    object: `PodMonitor ${name}`,
    field: "podMetricsEndpoints",
    help: "Create a PodMonitor in place of the ServiceMonitor, for a Prometheus that selects pods",
  },
] as const;

/** The ServiceMonitor or PodMonitor, the alerts, and with all groups of them the dashboard. */
export function monitoringParts(
  kustomize: Kustomize,
  groups: "all" | "connected",
): readonly Part[] {
  const scraped = kustomize("prometheus");
  const part = (key: string, source: readonly Manifest[], directory = "prometheus"): Part => ({
    directory,
    source,
    when: `.Values.${key}.enabled`,
  });
  return [
    part("serviceMonitor", scraped),
    part("podMonitor", scraped.map(podMonitorOf)),
    part("prometheusRule", [prometheusRule(groups)]),
    ...(groups === "all" ? [part("grafanaDashboard", kustomize("grafana"), "grafana")] : []),
  ];
}

/** The pods have the labels of their Services, and the port has the same name. */
function podMonitorOf(serviceMonitor: Manifest): Manifest {
  const { endpoints, ...spec } = recordAt(serviceMonitor, "spec");
  return {
    ...serviceMonitor,
    kind: "PodMonitor",
    spec: { ...spec, podMetricsEndpoints: endpoints },
  };
}

/** Groups of config/prometheus/rules.yaml, which Prometheus itself reads, in an object. */
function prometheusRule(groups: "all" | "connected"): Manifest {
  const all = listAt(load(readFileSync(rules, "utf8")), "groups");
  const isIncluded = (group: unknown): boolean =>
    groups === "all" || stringAt(group, "name") === name;
  return {
    apiVersion: "monitoring.coreos.com/v1",
    kind: "PrometheusRule",
    metadata: { name, namespace: "latchkey-system", labels: { "app.kubernetes.io/name": name } },
    spec: { groups: all.filter(isIncluded) },
  };
}

/** Values of what Prometheus scrapes, and of the alerts. */
export const monitoringValues: readonly Value[] = [
  ...monitors.flatMap(({ key, object, field, help }): readonly Value[] => [
    switchOf(`${key}.enabled`, help),
    labelsOf(key, object),
    {
      name: `${key}.interval`,
      initial: "",
      schema: { type: "string", pattern: "^([0-9]+(ms|s|m|h))?$" },
      help: "Time between two scrapes, such as 30s; if empty, that of Prometheus",
      holes: {
        [object]: [{ path: ["spec", field, 0, "interval"], text: "{{ VALUE }}", when: "VALUE" }],
      },
    },
  ]),
  switchOf(
    "prometheusRule.enabled",
    "Create a PrometheusRule with the alerts, which requires the CRDs of the Prometheus Operator",
  ),
  labelsOf("prometheusRule", `PrometheusRule ${name}`),
  {
    name: "prometheusRule.runbookUrl",
    initial: runbooks,
    schema: { type: "string", pattern: "^[A-Za-z0-9/][^\\s#]*$" },
    help: "Where your copy of the runbooks is, such as `https://wiki.example.com/latchkey/runbooks`: `runbook_url` of an alert is this, `#` and its name in lower case",
  },
];

/** The value of the dashboard. */
export const dashboardValue = switchOf(
  "grafanaDashboard.enabled",
  'Create a ConfigMap with the dashboard and the label `grafana_dashboard: "1"`, by which the sidecar of the Helm chart of Grafana loads it',
);

/** A Prometheus with both monitors would scrape each process twice. */
export const oneMonitor: Schema = requiredIf(
  ["serviceMonitor", "enabled"],
  at("podMonitor", at("enabled", { const: false })),
);

/** The texts of the alerts that stand for a value. */
export const monitoringSubstitutions: Substitutions = {
  [runbooks]: ".Values.prometheusRule.runbookUrl",
};

function labelsOf(key: string, object: string): Value {
  return {
    name: `${key}.labels`,
    initial: {},
    schema: moreLabels,
    help: "More labels of the object, by which Prometheus selects it, such as `release: prometheus`",
    holes: { [object]: [{ path: labelsPath, text: labelsText }] },
  };
}
