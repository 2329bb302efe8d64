import { readFileSync } from "node:fs";
import { join } from "node:path";
import { load, loadAll } from "js-yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chartsOf } from "../../release/chart/charts.ts";
import { nameOf } from "../../release/chart/kustomize.ts";
import { manifestFile, packageChart } from "../../release/chart/package.ts";
import type { Manifest } from "../../release/chart/template.ts";
import { registry } from "../../release/registry.ts";
import { isRecord, listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { publicNamesFile } from "../house/public-names.ts";
import { rulesFile } from "../support/alert-rules.ts";
import {
  byName,
  type Charts,
  ofEast,
  type Rendering,
  startCharts,
  withRenderer,
} from "./chart-fixture.ts";

let charts: Charts;

describe("the rendered charts", withRenderer, () => {
  beforeAll(async () => {
    charts = await startCharts();
  });
  afterAll(() => charts?.remove());

  /** What `kubectl apply -k` would write, with the image of the chart and arguments of Deployments. */
  function applied(
    manifests: readonly Manifest[],
    args: readonly string[] = [],
  ): readonly Manifest[] {
    return manifests
      .filter((manifest) => nameOf(manifest) !== "Namespace latchkey-system")
      .map((manifest) => withImage(manifest, args));
  }

  function withImage(deployment: Manifest, args: readonly string[]): Manifest {
    if (stringAt(deployment, "kind") !== "Deployment") return deployment;
    const spec = recordAt(deployment, "spec");
    const template = recordAt(spec, "template");
    const pod = recordAt(template, "spec");
    const containers = listAt(pod, "containers").map((container) => ({
      ...recordAt({ container }, "container"),
      args: [...listAt(container, "args"), ...args],
      image: `${registry}/latchkey:${latchkeyVersion}`,
    }));
    return {
      ...deployment,
      spec: { ...spec, template: { ...template, spec: { ...pod, containers } } },
    };
  }

  const segment = "a-path-segment-of-thirty-two-char";
  const certManager = { webhook: { certManager: { enabled: true }, admissionPath: segment } };
  const withComponent = ["webhook-without-configuration"];
  const gateway = { gateway: { enabled: true } };
  const monitor = { serviceMonitor: { enabled: true } };
  const podMonitor = { podMonitor: { enabled: true } };
  const rule = { prometheusRule: { enabled: true } };
  const dashboard = { grafanaDashboard: { enabled: true } };
  const eastArgs = ["--cluster-name=east", "--issuer=https://latchkey.example.com"];
  const endpoint = { directEndpoint: { enabled: true, ...ofEast } };
  const authorizer = { directAuthorizer: { enabled: true, ...ofEast } };
  const agent = { clusterAgent: { enabled: true } };

  type Folders = readonly (readonly [folder: string, components?: readonly string[]])[];
  type EqualRow = readonly [what: string, rendering: Rendering, folders: Folders];

  const chart = "latchkey-connected";
  const equalRows: readonly EqualRow[] = [
    ["1.37", {}, [["default"]]],
    ["1.36", { version: "v1.36.0" }, [["default"]]],
    ["a version with a suffix", { version: "v1.36.1-gke.100" }, [["default"]]],
    ["1.35", { version: "v1.35.4-eks-3abc" }, [["before-1.36"]]],
    ["1.35, as Argo CD gives it", { version: "1.35" }, [["before-1.36"]]],
    ["a version by value", { values: { kubernetesVersion: "1.35" } }, [["before-1.36"]]],
    ["the gateway", { values: gateway }, [["default"], ["gateway"]]],
    [
      "the gateway before 1.36",
      { values: gateway, version: "v1.35.0" },
      [["before-1.36"], ["gateway-before-1.36"]],
    ],
    ["cert-manager", { values: certManager }, [["default", withComponent]]],
    [
      "cert-manager before 1.36",
      { values: certManager, version: "v1.35.0" },
      [["before-1.36", withComponent]],
    ],
    ["a connected cluster", { chart, version: "v1.35.0" }, [["connected-policies"]]],
    ["the account of the gateway", { chart, values: gateway }, [["connected-cluster"]]],
    [
      "the account of the gateway before 1.36",
      { chart, values: gateway, version: "v1.35.0" },
      [["connected-cluster-before-1.36"]],
    ],
    ["the direct endpoint", { chart, values: endpoint }, [["direct-endpoint"]]],
    [
      "the direct endpoint before 1.36",
      { chart, values: endpoint, version: "v1.35.0" },
      [["direct-endpoint-before-1.36"]],
    ],
    ["the direct authorizer", { chart, values: authorizer }, [["direct-authorizer"]]],
    ["the cluster agent", { chart, values: agent }, [["cluster-agent"]]],
    ["the ServiceMonitor", { values: monitor }, [["default"], ["prometheus"]]],
    [
      "the ServiceMonitor of a connected cluster",
      { chart, values: monitor },
      [["connected-policies"], ["prometheus"]],
    ],
    ["the dashboard", { values: dashboard }, [["default"], ["grafana"]]],
  ];

  describe("the chart has the objects of config/", () => {
    test.each(equalRows)("for %s", async (_what, rendering, folders) => {
      const manifests = folders.flatMap(([folder, components]) =>
        charts.kustomize(folder, components),
      );
      const text = JSON.stringify(
        applied(
          manifests,
          rendering.values === endpoint || rendering.values === authorizer ? eastArgs : [],
        ),
      );
      const wanted: unknown = JSON.parse(
        text.replaceAll("replace-me-with-openssl-rand-hex-20", segment),
      );
      expect(Array.isArray(wanted)).toBe(true);
      expect(byName(await charts.rendered(rendering))).toEqual(
        byName(listAt({ wanted }, "wanted").filter(isRecord)),
      );
    });

    test("and so has the manifest for kubectl", () => {
      const manifests = charts.kustomize("before-1.36");
      const read = loadAll(manifestFile(manifests)).filter(isRecord);
      expect(read).toEqual(manifests.map((manifest) => withImage(manifest, [])));
    });

    test("for all of a connected cluster together", async () => {
      const all = await charts.rendered({
        chart,
        values: { ...gateway, ...endpoint, ...authorizer, ...agent },
      });
      const ways = ["connected-cluster", "direct-endpoint", "direct-authorizer"];
      const folders = [...ways, "cluster-agent"];
      const names = folders.flatMap((folder) => applied(charts.kustomize(folder)).map(nameOf));
      expect(Object.keys(byName(all)).toSorted()).toEqual([...new Set(names)].toSorted());
    });
  });

  test.each([
    ["latchkey", ["latchkey-management", "latchkey"]],
    [chart, ["latchkey"]],
  ])("the PrometheusRule of %s has the groups %j that Prometheus reads", async (name, wanted) => {
    const objects = byName(await charts.rendered({ chart: name, values: rule }));
    const groups = listAt(load(readFileSync(rulesFile, "utf8")), "groups").filter((group) =>
      wanted.includes(stringAt(group, "name") ?? ""),
    );
    expect(groups).toHaveLength(wanted.length);
    expect(objects["PrometheusRule latchkey"]).toMatchObject({
      apiVersion: "monitoring.coreos.com/v1",
      spec: { groups },
    });
  });

  test("a PodMonitor selects the pods of the Services that a ServiceMonitor selects", async () => {
    const values = { ...gateway, ...podMonitor };
    const objects = await charts.rendered({ values });
    const ports = objects
      .filter((object) => stringAt(object, "kind") === "Deployment")
      .map(portsOf);
    expect(ports).toHaveLength(3);
    expect(byName(objects)["PodMonitor latchkey"]).toMatchObject({
      spec: {
        selector: { matchLabels: { "app.kubernetes.io/name": "latchkey" } },
        podMetricsEndpoints: [{ port: "http", honorLabels: true }],
      },
    });
    for (const { labels, names } of ports) {
      expect(labels).toMatchObject({ "app.kubernetes.io/name": "latchkey" });
      expect(names).toContain("http");
    }
  });

  function portsOf(deployment: Manifest) {
    const template = recordAt(recordAt(deployment, "spec"), "template");
    const [container] = listAt(recordAt(template, "spec"), "containers");
    const names = listAt(container, "ports").map((port) => stringAt(port, "name"));
    return { labels: recordAt(recordAt(template, "metadata"), "labels"), names };
  }

  test("the archives are the same each time", () => {
    const again = join(charts.directory, "again");
    const digests = [charts.directory, again].map((directory) =>
      chartsOf(charts.kustomize).map((made) => packageChart(made, directory).digest),
    );
    expect(digests[0]).toHaveLength(2);
    expect(digests[0]).toEqual(digests[1]);
  });

  const requesters = { users: ["alice"] };
  const everything = [
    ["latchkey", { ...gateway, ...certManager, ...monitor, ...rule, ...dashboard }],
    ["latchkey", { ...podMonitor, requesters, projectSharers: requesters }],
    [chart, { ...gateway, ...endpoint, ...authorizer, ...monitor, ...rule }],
  ] as const;

  test.each(everything)("the objects of %s are public names: %j", async (name, values) => {
    const list = readFileSync(join(import.meta.dirname, "../..", publicNamesFile), "utf8");
    const listed = list.split("\n");
    for (const version of ["v1.37.2", "v1.35.0"]) {
      const objects = await charts.rendered({ chart: name, values, version });
      // A CRD is in the list as its kind.
      const others = objects.filter((object) => !nameOf(object).startsWith("CustomResource"));
      const names = others.map(
        (object) =>
          `object ${stringAt(object, "kind")} ${stringAt(recordAt(object, "metadata"), "name")}`,
      );
      expect(names.filter((one) => !listed.includes(one))).toEqual([]);
    }
  });

  test.each(["latchkey", chart])("helm lint --strict accepts %s", async (name) => {
    expect(await charts.lint({ chart: name })).toEqual([]);
  });

  test.each(everything)(
    "%s in another namespace differs only in its name",
    async (name, values) => {
      const [own, other] = await Promise.all(
        ["latchkey-system", "123"].map((namespace) =>
          charts.rendered({ chart: name, values, namespace }),
        ),
      );
      const moved = JSON.stringify(own).replaceAll("latchkey-system", "123");
      expect(JSON.stringify(other)).toBe(moved);
    },
  );

  describe("helm uninstall keeps", () => {
    const keeps = async (rendering: Rendering): Promise<readonly string[]> =>
      (await charts.rendered(rendering))
        .filter((manifest) => {
          const { "helm.sh/resource-policy": policy } = recordAt(
            recordAt(manifest, "metadata"),
            "annotations",
          );
          return policy === "keep";
        })
        .map(nameOf);
    const isPolicy = (name: string): boolean => /^\w+AdmissionPolicy(?:Binding)? /.test(name);
    const isDefinition = (name: string): boolean => name.startsWith("CustomResourceDefinition ");
    const stamp = "MutatingWebhookConfiguration latchkey-requester-annotations";

    test.each([
      ["v1.37.2", []],
      ["v1.35.0", [stamp]],
    ])("CRDs, policies and what holds the data of others on %s", async (version, others) => {
      const rendering = { values: { ...gateway, ...dashboard }, version };
      const names = (await charts.rendered(rendering)).map(nameOf);
      expect((await keeps(rendering)).toSorted()).toEqual(
        [
          ...names.filter((name) => isPolicy(name) || isDefinition(name)),
          ...others,
          ...["ConfigMap latchkey-clusters", "Namespace latchkey-clusters"],
        ].toSorted(),
      );
    });

    test("the kept keys of a connected cluster", async () => {
      const kept = await keeps({ chart, values: { ...gateway, ...endpoint, ...authorizer } });
      expect(kept.filter((name) => !isPolicy(name)).toSorted()).toEqual([
        "Secret latchkey-direct-authorizer-keys",
        "Secret latchkey-direct-endpoint-keys",
      ]);
      expect(kept.filter(isPolicy)).toHaveLength(6);
    });

    test("neither CRDs nor policies if the values say so", async () => {
      const values = { crds: { keep: false }, policies: { keep: false } };
      expect(await keeps({ values, version: "v1.35.0" })).toEqual([]);
    });
  });

  test.each(["latchkey", chart])("%s refuses Kubernetes 1.34", async (name) => {
    const { error } = await charts.render({ chart: name, version: "v1.34.9" });
    expect(error).toContain(">=1.35.0-0");
  });
});
