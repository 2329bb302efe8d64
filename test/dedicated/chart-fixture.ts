import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { loadAll } from "js-yaml";
import { expect } from "vitest";
import { chartsOf } from "../../release/chart/charts.ts";
import { findKustomize, type Kustomize, nameOf } from "../../release/chart/kustomize.ts";
import { packageChart } from "../../release/chart/package.ts";
import type { Manifest } from "../../release/chart/template.ts";
import { isRecord, recordAt, stringAt } from "../../src/api/parse.ts";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { kubectl, type KubectlAccess } from "../support/kubectl.ts";
import {
  chartRenderer,
  type ChartRenderer,
  type RenderedChart,
  startChartRenderer,
} from "../support/chart-renderer.ts";
import { orMissing } from "../support/prepared.ts";
import { skippedWithout } from "../support/skipped.ts";

/** What is rendered: with the defaults, the chart latchkey on 1.37 in latchkey-system. */
export interface Rendering {
  /** Its name, or the path of another chart. */
  readonly chart?: string;
  readonly values?: object;
  readonly version?: string;
  readonly namespace?: string;
}

/** The packaged charts in a directory. */
export interface PackagedCharts {
  readonly directory: string;
  readonly kustomize: Kustomize;
  remove(): void;
}

/** The packaged charts, and what renders them. */
export interface Charts extends PackagedCharts {
  /** What `helm template` prints, or its error. */
  render(rendering: Rendering): ReturnType<ChartRenderer["render"]>;
  /** The objects, rendered once and to be left as they are; the test fails if they cannot be. */
  rendered(rendering: Rendering): Promise<readonly Manifest[]>;
  /** What `helm lint --strict` fails on. */
  lint(rendering: Rendering): Promise<readonly string[]>;
}

const usual: Required<Rendering> = {
  chart: "latchkey",
  values: {},
  version: "v1.37.2",
  namespace: "latchkey-system",
};

/** The options of tests that render charts: skipped where this machine cannot. */
export const withRenderer = skippedWithout(await orMissing(chartRenderer(() => {})));

/** Packages the charts in a temporary directory. */
export async function packageCharts(): Promise<PackagedCharts> {
  const kustomize = await findKustomize(report);
  const directory = mkdtempSync(join(tmpdir(), "latchkey-charts-"));
  for (const chart of chartsOf(kustomize)) packageChart(chart, directory);
  return { directory, kustomize, remove: () => rmSync(directory, { recursive: true }) };
}

/** Packages the charts, and starts what renders them. */
export async function startCharts(): Promise<Charts> {
  const [packaged, renderer] = await Promise.all([packageCharts(), startChartRenderer(report)]);
  const whole = (rendering: Rendering) => {
    const { chart, ...others } = { ...usual, ...rendering };
    const archive = join(packaged.directory, `${chart}-${latchkeyVersion}.tgz`);
    return { ...others, chart: isAbsolute(chart) ? chart : archive };
  };
  const done = new Map<string, Promise<readonly Manifest[]>>();
  const manifestsOf = async (rendering: RenderedChart) => {
    const { manifests, error } = await renderer.render(rendering);
    expect(error).toBeUndefined();
    return loadAll(manifests).filter(isRecord);
  };
  return {
    ...packaged,
    render: (rendering) => renderer.render(whole(rendering)),
    rendered(rendering) {
      const key = JSON.stringify(whole(rendering));
      const manifests = done.get(key) ?? manifestsOf(whole(rendering));
      done.set(key, manifests);
      return manifests;
    },
    // helm lint reads the names of files in a directory only.
    lint: ({ chart = usual.chart }) =>
      renderer.lint({ ...usual, chart: join(packaged.directory, chart) }),
    remove() {
      renderer.stop();
      packaged.remove();
    },
  };
}

/** Applies the objects of a chart for the version of the cluster: namespaces first, as helm does. */
export async function applyChart(
  charts: Pick<Charts, "rendered">,
  access: KubectlAccess,
  rendering: Rendering,
): Promise<void> {
  const server: unknown = JSON.parse(await kubectl(access, ["version", "--output=json"]));
  const version = stringAt(recordAt(server, "serverVersion"), "gitVersion") ?? "";
  const objects = await charts.rendered({ ...rendering, version });
  const isNamespace = (object: Manifest) => stringAt(object, "kind") === "Namespace";
  const ordered = [...objects.filter(isNamespace), ...objects.filter((one) => !isNamespace(one))];
  const input = ordered.map((object) => JSON.stringify(object)).join("\n---\n");
  await kubectl(access, ["apply", "--server-side", "--filename=-"], { input });
}

const report = (line: string): void => void process.stderr.write(`charts: ${line}\n`);

/** The objects without the annotation with which Helm keeps them and without the labels of a release, by their names. */
export function byName(manifests: readonly Manifest[]): Readonly<Record<string, unknown>> {
  const names = manifests.map(nameOf);
  expect(names).toEqual([...new Set(names)]);
  return Object.fromEntries(
    manifests.map((manifest) => [nameOf(manifest), withoutReleaseLabels(withoutKeep(manifest))]),
  );
}

/** The recommended labels but for those that selectors use. */
export const releaseLabels = [
  "helm.sh/chart",
  ...["instance", "version", "managed-by", "part-of"].map((name) => `app.kubernetes.io/${name}`),
];

/** An object, and its pods, without labels that differ between releases. */
function withoutReleaseLabels(manifest: Manifest): Manifest {
  const others = (metadata: unknown) => {
    const labels = Object.entries(recordAt({ metadata }, "metadata")["labels"] ?? {});
    const rest = labels.filter(([name]) => !releaseLabels.includes(name));
    return {
      ...recordAt({ metadata }, "metadata"),
      ...(labels.length > 0 && { labels: Object.fromEntries(rest) }),
    };
  };
  const spec = recordAt(manifest, "spec");
  const template = recordAt(spec, "template");
  const pods = { ...template, metadata: others(template["metadata"]) };
  return {
    ...manifest,
    metadata: others(manifest["metadata"]),
    ...(stringAt(manifest, "kind") === "Deployment" && { spec: { ...spec, template: pods } }),
  };
}

function withoutKeep(manifest: Manifest): Manifest {
  const { annotations, ...metadata } = recordAt(manifest, "metadata");
  const { "helm.sh/resource-policy": _, ...others } = recordAt({ annotations }, "annotations");
  const rest = Object.keys(others).length === 0 ? {} : { annotations: others };
  return { ...manifest, metadata: { ...metadata, ...rest } };
}

/** Values that install a process of a connected cluster. */
export const ofEast = {
  options: { "cluster-name": "east", issuer: "https://latchkey.example.com" },
};
