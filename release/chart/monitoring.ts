import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load } from "js-yaml";
import { listAt } from "../../src/api/parse.ts";
import type { Part } from "./chart.ts";
import type { Kustomize } from "./kustomize.ts";
import { switchOf } from "./shared-values.ts";
import type { Manifest } from "./template.ts";
import type { Value } from "./value.ts";

const rules = join(import.meta.dirname, "../../config/prometheus/rules.yaml");

/** The ServiceMonitor of the processes in a cluster. */
export function serviceMonitorPart(kustomize: Kustomize): Part {
  return {
    directory: "prometheus",
    source: kustomize("prometheus"),
    when: ".Values.serviceMonitor.enabled",
  };
}

/** The alerts as a PrometheusRule. */
export function prometheusRulePart(): Part {
  return {
    directory: "prometheus",
    source: [prometheusRule()],
    when: ".Values.prometheusRule.enabled",
  };
}

/** The ConfigMap with the dashboard. */
export function grafanaDashboardPart(kustomize: Kustomize): Part {
  return {
    directory: "grafana",
    source: kustomize("grafana"),
    when: ".Values.grafanaDashboard.enabled",
  };
}

/** The groups of config/prometheus/rules.yaml, which Prometheus itself reads, in an object. */
function prometheusRule(): Manifest {
  const name = "latchkey";
  return {
    ...{ apiVersion: "monitoring.coreos.com/v1", kind: "PrometheusRule" },
    metadata: { name, namespace: "latchkey-system", labels: { "app.kubernetes.io/name": name } },
    spec: { groups: listAt(load(readFileSync(rules, "utf8")), "groups") },
  };
}

/** Values of the ServiceMonitor. */
export const serviceMonitorValues: readonly Value[] = [
  switchOf(
    "serviceMonitor.enabled",
    "Create a ServiceMonitor, which requires the CRDs of the Prometheus Operator; label the namespace of Prometheus `metrics=enabled`",
  ),
  labelsOf("serviceMonitor", "ServiceMonitor latchkey"),
  {
    name: "serviceMonitor.interval",
    initial: "",
    schema: { type: "string", pattern: "^([0-9]+(ms|s|m|h))?$" },
    help: "Time between two scrapes, such as 30s; if empty, that of Prometheus",
    holes: {
      "ServiceMonitor latchkey": [
        { path: ["spec", "endpoints", 0, "interval"], text: "{{ VALUE }}", when: "VALUE" },
      ],
    },
  },
];

/** Values of the alerts and of the dashboard: in the management cluster. */
export const alertsAndDashboardValues: readonly Value[] = [
  switchOf(
    "prometheusRule.enabled",
    "Create a PrometheusRule with the alerts, which requires the CRDs of the Prometheus Operator",
  ),
  labelsOf("prometheusRule", "PrometheusRule latchkey"),
  switchOf(
    "grafanaDashboard.enabled",
    'Create a ConfigMap with the dashboard and the label `grafana_dashboard: "1"`, by which the sidecar of the Helm chart of Grafana loads it',
  ),
];

function labelsOf(key: string, object: string): Value {
  const path = ["metadata", "labels", "+"];
  const own = { "app.kubernetes.io/name": { not: {} } };
  return {
    ...{ name: `${key}.labels`, initial: {} },
    schema: { type: "object", additionalProperties: { type: "string" }, properties: own },
    help: "More labels of the object, by which Prometheus selects it, such as `release: prometheus`",
    holes: { [object]: [{ path, text: "{{- toYaml VALUE | nindent @ }}", when: "VALUE" }] },
  };
}
