import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chartsOf } from "../../release/chart/charts.ts";
import { valuesPage } from "../../release/chart/value.ts";
import { recordAt } from "../../src/api/parse.ts";
import { byName, type Charts, ofEast, startCharts, withRenderer } from "./chart-fixture.ts";

let charts: Charts;

describe("values of the charts", withRenderer, () => {
  beforeAll(async () => {
    charts = await startCharts();
  });
  afterAll(() => charts?.remove());

  const chart = "latchkey-connected";
  const gateway = { gateway: { enabled: true } };
  const endpoint = { directEndpoint: { enabled: true, ...ofEast } };
  const authorizer = { directAuthorizer: { enabled: true, ...ofEast } };

  /** Values of a process, and what its Deployment then has. */
  const processRows: readonly (readonly [field: string, value: unknown, expected: object])[] = [
    ["replicas", 5, { spec: { replicas: 5 } }],
    ["strategy", { type: "Recreate" }, { spec: { strategy: { type: "Recreate" } } }],
    ["revisionHistoryLimit", 0, { spec: { revisionHistoryLimit: 0 } }],
    [
      "extraVolumes",
      [{ name: "a", emptyDir: {} }],
      pod({ volumes: hasItem({ name: "a", emptyDir: {} }) }),
    ],
    [
      "extraVolumeMounts",
      [{ name: "a", mountPath: "/a" }],
      container({ volumeMounts: hasItem({ name: "a", mountPath: "/a" }) }),
    ],
    ["options", { "log-level": "debug" }, container({ args: hasItem("--log-level=debug") })],
    [
      "extraEnv",
      [{ name: "A", value: "b" }],
      container({ env: hasItem({ name: "A", value: "b" }) }),
    ],
    [
      "resources",
      { limits: { memory: "1Gi" } },
      container({ resources: { limits: { memory: "1Gi" } } }),
    ],
    ["heapMegabytes", 900, container({ env: hasHeap(900) })],
    [
      "port",
      10250,
      container({
        ports: hasItem(expect.objectContaining({ containerPort: 10250 })),
        args: hasItem(expect.stringMatching(/^--[a-z]+-address=:10250$/)),
      }),
    ],
    [
      "httpPort",
      9080,
      container({
        ports: hasItem({ name: "http", containerPort: 9080 }),
        args: hasItem("--http-address=:9080"),
      }),
    ],
    ["hostNetwork", true, pod({ hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" })],
    ["nodeSelector", { a: "b" }, pod({ nodeSelector: { a: "b" } })],
    ["tolerations", [{ operator: "Exists" }], pod({ tolerations: [{ operator: "Exists" }] })],
    ["affinity", { podAffinity: {} }, pod({ affinity: { podAffinity: {} } })],
    [
      "topologySpreadConstraints",
      [{ maxSkew: 2 }],
      pod({ topologySpreadConstraints: [{ maxSkew: 2 }] }),
    ],
    ["priorityClassName", "high", pod({ priorityClassName: "high" })],
    [
      "podAnnotations",
      { a: "b" },
      { spec: { template: { metadata: { annotations: { a: "b" } } } } },
    ],
    ["podLabels", { a: "b" }, { spec: { template: { metadata: { labels: { a: "b" } } } } }],
  ];

  /** Values of a process that other objects have, by kind. */
  const otherRows: readonly (readonly [
    field: string,
    kind: string,
    values: object,
    expected: unknown,
  ])[] = [
    [
      "serviceAccount.annotations",
      "ServiceAccount",
      { serviceAccount: { annotations: { a: "b" } } },
      expect.objectContaining({ metadata: expect.objectContaining({ annotations: { a: "b" } }) }),
    ],
    [
      "podDisruptionBudget.maxUnavailable",
      "PodDisruptionBudget",
      { podDisruptionBudget: { maxUnavailable: "50%" } },
      expect.objectContaining({ spec: expect.objectContaining({ maxUnavailable: "50%" }) }),
    ],
    [
      "podDisruptionBudget.enabled",
      "PodDisruptionBudget",
      { podDisruptionBudget: { enabled: false } },
      undefined,
    ],
  ];

  /** Values of a process whose Service clients outside of the cluster use. */
  const serviceRows = [
    ["service.type", { type: "LoadBalancer" }, { spec: { type: "LoadBalancer" } }],
    [
      "service.loadBalancerClass",
      { loadBalancerClass: "a/b" },
      { spec: { loadBalancerClass: "a/b" } },
    ],
    ["service.annotations", { annotations: { a: "b" } }, { metadata: { annotations: { a: "b" } } }],
    [
      "service.ipFamilyPolicy",
      { ipFamilyPolicy: "PreferDualStack" },
      { spec: { ipFamilyPolicy: "PreferDualStack" } },
    ],
    [
      "service.ipFamilies",
      { ipFamilies: ["IPv6", "IPv4"] },
      { spec: { ipFamilies: ["IPv6", "IPv4"] } },
    ],
  ] as const;

  const services = [
    ["latchkey", "controller", "latchkey"],
    ["latchkey", "gateway", "latchkey-gateway"],
    [chart, "directEndpoint", "latchkey-direct-endpoint"],
  ] as const;

  const processes = [
    ["latchkey", "controller", "latchkey-controller"],
    ["latchkey", "webhook", "latchkey-webhook"],
    ["latchkey", "gateway", "latchkey-gateway"],
    [chart, "directEndpoint", "latchkey-direct-endpoint"],
    [chart, "directAuthorizer", "latchkey-direct-authorizer"],
    [chart, "clusterAgent", "latchkey-cluster-agent"],
  ] as const;

  /** Values of a process that is installed. */
  function valuesOf(key: string, values: object): object {
    const options = key.startsWith("direct") ? ofEast.options : {};
    const given = recordAt({ values }, "values");
    const enabled = ["controller", "webhook"].includes(key) ? {} : { enabled: true };
    return {
      [key]: { ...enabled, ...given, options: { ...options, ...recordAt(given, "options") } },
    };
  }

  /** Only Prometheus connects to the agent. */
  const isOf = (key: string, field: string): boolean => key !== "clusterAgent" || field !== "port";

  describe.each(processes)("in %s, the values of %s", (name, key, object) => {
    const rows = processRows.filter(([field]) => isOf(key, field));
    // None shows in a field of another, so all are set at once.
    const values = valuesOf(key, Object.fromEntries(rows));
    test.each(rows)("%s", async (_field, _value, expected) => {
      const objects = byName(await charts.rendered({ chart: name, values }));
      expect(objects[`Deployment ${object}`]).toMatchObject(expected);
    });

    test.each(otherRows)("%s", async (_field, kind, values, expected) => {
      const objects = byName(await charts.rendered({ chart: name, values: valuesOf(key, values) }));
      expect(objects[`${kind} ${object}`]).toEqual(expected);
    });
  });

  describe.each(services)("in %s, the Service of %s", (name, key, object) => {
    const service = Object.assign({}, ...serviceRows.map(([, values]) => values));
    test.each(serviceRows)("%s", async (_field, _values, expected) => {
      const values = valuesOf(key, { service });
      const objects = byName(await charts.rendered({ chart: name, values }));
      expect(objects[`Service ${object}`]).toMatchObject(expected);
    });
  });

  const address = { ingress: [{ from: [{ ipBlock: { cidr: "192.0.2.0/24" } }] }] };
  const addresses = { apiServerAddresses: ["192.0.2.0/24"], clientAddresses: ["192.0.2.0/24"] };
  const digest = `sha256:${"0".repeat(64)}`;
  const account = { namespace: "ci", name: "bot" };
  const subjects = { users: ["ann"], groups: ["dev:all"], serviceAccounts: [account] };
  const subjectsOf = {
    subjects: [
      { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "ann" },
      { apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "dev:all" },
      { kind: "ServiceAccount", ...account },
    ],
  };

  type OwnRow = readonly [fields: string, values: object, object: string, expected: object];

  const release = { release: "prometheus" };
  const monitored = { metadata: { labels: { "app.kubernetes.io/name": "latchkey", ...release } } };

  const ownRows: readonly OwnRow[] = [
    [
      "image.repository image.tag",
      { image: { repository: "r/l", tag: "2" } },
      "Deployment latchkey-webhook",
      container({ image: "r/l:2" }),
    ],
    [
      "image.digest",
      { image: { repository: "r/l", tag: "2", digest } },
      "Deployment latchkey-gateway",
      container({ image: `r/l@${digest}` }),
    ],
    [
      "image.pullPolicy",
      { image: { pullPolicy: "Always" } },
      "Deployment latchkey-controller",
      container({ imagePullPolicy: "Always" }),
    ],
    [
      "imagePullSecrets",
      { imagePullSecrets: [{ name: "r" }] },
      "Deployment latchkey-webhook",
      pod({ imagePullSecrets: [{ name: "r" }] }),
    ],
    [
      "commonLabels",
      { commonLabels: { team: "a" } },
      "Deployment latchkey-controller",
      {
        metadata: { labels: { team: "a" } },
        spec: { template: { metadata: { labels: { team: "a" } } } },
      },
    ],
    [
      "networkPolicy.apiServerAddresses",
      { networkPolicy: addresses },
      "NetworkPolicy latchkey-webhook-api-servers",
      { spec: address },
    ],
    [
      "networkPolicy.clientAddresses",
      { networkPolicy: addresses },
      "NetworkPolicy latchkey-gateway-clients",
      { spec: address },
    ],
    [
      "requesters.users requesters.groups requesters.serviceAccounts",
      { requesters: subjects },
      "ClusterRoleBinding latchkey-requester",
      subjectsOf,
    ],
    [
      "projectSharers.users projectSharers.groups projectSharers.serviceAccounts",
      { projectSharers: subjects },
      "ClusterRoleBinding latchkey-project-sharer",
      subjectsOf,
    ],
    [
      "issuers",
      { issuers: 'jwt:\n- issuer: { url: "https://a" }\n' },
      "ConfigMap latchkey-issuers",
      { data: { "issuers.yaml": 'jwt:\n- issuer: { url: "https://a" }\n' } },
    ],
    [
      "serviceMonitor.labels",
      { serviceMonitor: { enabled: true, labels: release } },
      "ServiceMonitor latchkey",
      monitored,
    ],
    [
      "serviceMonitor.interval",
      { serviceMonitor: { enabled: true, interval: "15s" } },
      "ServiceMonitor latchkey",
      { spec: { endpoints: [{ port: "http", honorLabels: true, interval: "15s" }] } },
    ],
    [
      "podMonitor.labels",
      { podMonitor: { enabled: true, labels: release } },
      "PodMonitor latchkey",
      monitored,
    ],
    [
      "podMonitor.interval",
      { podMonitor: { enabled: true, interval: "15s" } },
      "PodMonitor latchkey",
      { spec: { podMetricsEndpoints: [{ port: "http", honorLabels: true, interval: "15s" }] } },
    ],
    [
      "prometheusRule.labels",
      { prometheusRule: { enabled: true, labels: release } },
      "PrometheusRule latchkey",
      monitored,
    ],
    [
      "prometheusRule.runbookUrl",
      { prometheusRule: { enabled: true, runbookUrl: "https://wiki.example.com/latchkey?a=b" } },
      "PrometheusRule latchkey",
      { spec: { groups: hasItem(hasRule("LatchkeyNoLeader", runbookOf("latchkeynoleader"))) } },
    ],
  ];

  /** Values without which an object is left out. */
  const absentRows = [
    ["networkPolicy.enabled", { networkPolicy: { enabled: false } }, "NetworkPolicy"],
    ["crds.enabled", { crds: { enabled: false } }, "CustomResourceDefinition"],
  ] as const;

  /** Values without which an object is not there. */
  const presentRows = [
    ["serviceMonitor.enabled", { serviceMonitor: { enabled: true } }, "ServiceMonitor latchkey"],
    ["podMonitor.enabled", { podMonitor: { enabled: true } }, "PodMonitor latchkey"],
    ["prometheusRule.enabled", { prometheusRule: { enabled: true } }, "PrometheusRule latchkey"],
    [
      "grafanaDashboard.enabled",
      { grafanaDashboard: { enabled: true } },
      "ConfigMap latchkey-dashboard",
    ],
  ] as const;

  describe("in latchkey, the values", () => {
    test.each(ownRows)("%s", async (_fields, values, object, expected) => {
      const objects = byName(await charts.rendered({ values: { ...gateway, ...values } }));
      expect(objects[object]).toMatchObject(expected);
    });

    test.each(absentRows)("%s", async (_field, values, kind) => {
      const kindsIn = async (given: object): Promise<readonly string[]> =>
        (await charts.rendered({ values: given })).map((manifest) => String(manifest["kind"]));
      expect(await kindsIn({})).toContain(kind);
      expect(await kindsIn(values)).not.toContain(kind);
    });

    test.each(presentRows)("%s", async (_field, values, object) => {
      const namesIn = async (given: object): Promise<readonly string[]> =>
        Object.keys(byName(await charts.rendered({ values: given })));
      expect(await namesIn({})).not.toContain(object);
      expect(await namesIn(values)).toContain(object);
    });
  });

  describe("in latchkey-connected, the values", () => {
    test.each([
      ["apiServerAddresses", "NetworkPolicy latchkey-direct-authorizer-api-servers"],
      ["clientAddresses", "NetworkPolicy latchkey-direct-endpoint-clients"],
    ])("networkPolicy.%s", async (_field, object) => {
      const values = { ...endpoint, ...authorizer, networkPolicy: addresses };
      expect(byName(await charts.rendered({ chart, values }))[object]).toMatchObject({
        spec: address,
      });
    });
  });

  test("every value of the charts is in a row above", () => {
    // The rows about equality and about what Helm keeps have the others.
    const others = ["kubernetesVersion", "policies.keep", "crds.keep", "platformUser", "enabled"];
    const ways = ["gateway", "directEndpoint", "directAuthorizer"];
    const switches = [...ways, "clusterAgent"].map((key) => `${key}.enabled`);
    const issued = ["webhook.certManager.enabled", "webhook.admissionPath"];
    const fields = [...processRows.map(([field]) => field), ...otherRows.map(([field]) => field)];
    const covered = [
      ...[...others, ...switches, ...issued],
      ...ownRows.flatMap(([names]) => names.split(" ")),
      ...[...absentRows, ...presentRows].map(([name]) => name),
      ...processes.flatMap(([, key]) =>
        fields.filter((field) => isOf(key, field)).map((field) => `${key}.${field}`),
      ),
      ...services.flatMap(([, key]) => serviceRows.map(([field]) => `${key}.${field}`)),
    ];
    const names = chartsOf(charts.kustomize).flatMap(({ values }) =>
      values.map(({ name }) => name),
    );
    expect([...new Set(names)].toSorted()).toEqual(covered.toSorted());
  });

  describe("the schema refuses", () => {
    type Refusal = readonly [what: string, values: object, message: string, chart?: string];
    const refusals: readonly Refusal[] = [
      ["a misspelt process", { contoller: {} }, "'contoller'"],
      [
        "a misspelt field",
        { webhook: { replica: 3 } },
        "at '/webhook': additional properties 'replica' not allowed",
      ],
      [
        "an option that the process does not have",
        { webhook: { options: { "quota-token": 1 } } },
        "at '/webhook/options': additional properties 'quota-token' not allowed",
      ],
      [
        "an option that the chart sets",
        { webhook: { options: { namespace: "a" } } },
        "at '/webhook/options': additional properties 'namespace' not allowed",
      ],
      [
        "a switch that is text",
        { gateway: { enabled: "yes" } },
        "at '/gateway/enabled': got string, want boolean",
      ],
      [
        "another value of a label that selectors use",
        { webhook: { podLabels: { "app.kubernetes.io/name": "other" } } },
        "at '/webhook/podLabels/app.kubernetes.io~1name': 'not' failed",
      ],
      [
        "a common label that selectors use",
        { commonLabels: { "app.kubernetes.io/component": "other" } },
        "at '/commonLabels/app.kubernetes.io~1component': 'not' failed",
      ],
      [
        "a family that is none",
        { gateway: { service: { ipFamilies: ["IPv5"] } } },
        "at '/gateway/service/ipFamilies/0'",
      ],
      ["its own condition as false", { enabled: false }, "at '/enabled': value must be true"],
      ["a digest that is a tag", { image: { digest: "v1" } }, "at '/image/digest'"],
      [
        "an address without a size",
        { networkPolicy: { apiServerAddresses: ["10.0.0.1"] } },
        "at '/networkPolicy/apiServerAddresses/0'",
      ],
      [
        "an interval without a unit",
        { serviceMonitor: { interval: "15" } },
        "at '/serviceMonitor/interval'",
      ],
      [
        "a PodMonitor beside the ServiceMonitor",
        { serviceMonitor: { enabled: true }, podMonitor: { enabled: true } },
        "at '/podMonitor/enabled': value must be false",
      ],
      [
        "an address of the runbooks with a fragment",
        { prometheusRule: { runbookUrl: "https://wiki.example.com/#a" } },
        "at '/prometheusRule/runbookUrl'",
      ],
      [
        "cert-manager without a path segment",
        { webhook: { certManager: { enabled: true } } },
        "at '/webhook/admissionPath': minLength: got 0, want 32",
      ],
      [
        "a direct endpoint without the name of its cluster",
        { directEndpoint: { enabled: true } },
        "at '/directEndpoint/options': missing properties 'cluster-name', 'issuer'",
        chart,
      ],
      [
        "a direct authorizer without it",
        { directAuthorizer: { enabled: true } },
        "at '/directAuthorizer/options': missing properties 'cluster-name', 'issuer'",
        chart,
      ],
    ];

    const rows = refusals.map(
      ([what, values, message, of = "latchkey"]) => [what, of, values, message] as const,
    );
    test.each(rows)("%s, and names the field", async (_what, name, values, message) => {
      expect((await charts.render({ chart: name, values })).error).toContain(message);
    });

    test("no values of a chart that this one is part of", async () => {
      const { error } = await charts.render({ values: { global: { anything: 1 } } });
      expect(error).toBeUndefined();
    });
  });

  test("docs/chart-values.md has the values", () => {
    const page = readFileSync(join(import.meta.dirname, "../../docs/chart-values.md"), "utf8");
    expect(cellsOf(page)).toEqual(cellsOf(valuesPage(chartsOf(charts.kustomize))));
  });

  /** The text without the line breaks and the columns that the formatter makes. */
  function cellsOf(page: string): string {
    return page.replaceAll(/\| :?-+:? (?=\|)/g, "| - ").replaceAll(/\s+/g, " ");
  }

  function pod(expected: object): object {
    return { spec: { template: { spec: expected } } };
  }

  function container(expected: object): object {
    return pod({ containers: [expected] });
  }

  function hasItem(item: unknown): unknown {
    return expect.arrayContaining([item]);
  }

  function runbookOf(section: string): object {
    return { runbook_url: `https://wiki.example.com/latchkey?a=b#${section}` };
  }

  function hasRule(alert: string, annotations: object): unknown {
    const rule: unknown = expect.objectContaining({
      alert,
      annotations: expect.objectContaining(annotations),
    });
    return expect.objectContaining({ rules: hasItem(rule) });
  }

  function hasHeap(megabytes: number): unknown {
    const value: unknown = expect.stringContaining(`--max-old-space-size=${megabytes}`);
    return hasItem({ name: "NODE_OPTIONS", value });
  }
});
