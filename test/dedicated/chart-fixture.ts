import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadAll } from "js-yaml";
import { expect } from "vitest";
import { chartsOf } from "../../release/chart/charts.ts";
import { findKustomize, type Kustomize, nameOf } from "../../release/chart/kustomize.ts";
import { packageChart } from "../../release/chart/package.ts";
import type { Manifest } from "../../release/chart/template.ts";
import { isRecord, recordAt } from "../../src/api/parse.ts";
import { latchkeyVersion } from "../../src/runtime/latchkey-version.ts";
import { findHelm, type Helm, type HelmResult } from "../support/helm.ts";

/** What `helm template` renders: with the defaults, the chart latchkey on 1.36 in latchkey-system. */
export interface Rendering {
  readonly chart?: string;
  readonly values?: object;
  readonly version?: string;
  readonly namespace?: string;
}

/** The packaged charts in a directory, and the programs to try them. */
export interface Charts {
  readonly directory: string;
  readonly helm: Helm;
  readonly kustomize: Kustomize;
  render(rendering: Rendering): Promise<HelmResult>;
  /** The objects, rendered once and to be left as they are; the test fails if helm does. */
  rendered(rendering: Rendering): Promise<readonly Manifest[]>;
  remove(): void;
}

const usual: Required<Rendering> = {
  ...{ chart: "latchkey", values: {}, version: "v1.36.3", namespace: "latchkey-system" },
};

/** Packages the charts in a temporary directory. */
export async function packageCharts(): Promise<Charts> {
  const report = (line: string): void => void process.stderr.write(`${line}\n`);
  const [helm, kustomize] = await Promise.all([findHelm(), findKustomize(report)]);
  const directory = mkdtempSync(join(tmpdir(), "latchkey-charts-"));
  for (const chart of chartsOf(kustomize)) packageChart(chart, directory);
  const render = ({ chart, values, version, namespace }: Required<Rendering>) =>
    helm(
      [
        ...["template", "r", join(directory, `${chart}-${latchkeyVersion}.tgz`)],
        ...["-n", namespace, "--kube-version", version, "-f", "-"],
      ],
      JSON.stringify(values),
    );
  const done = new Map<string, Promise<readonly Manifest[]>>();
  const manifestsOf = async (rendering: Required<Rendering>) => {
    const { code, stdout, stderr } = await render(rendering);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return loadAll(stdout).filter(isRecord);
  };
  return {
    ...{ directory, helm, kustomize },
    render: (rendering) => render({ ...usual, ...rendering }),
    rendered(rendering) {
      const whole = { ...usual, ...rendering };
      const key = JSON.stringify(whole);
      const manifests = done.get(key) ?? manifestsOf(whole);
      done.set(key, manifests);
      return manifests;
    },
    remove: () => rmSync(directory, { recursive: true }),
  };
}

/** The objects without the annotation with which Helm keeps them, by their names. */
export function byName(manifests: readonly Manifest[]): Readonly<Record<string, unknown>> {
  const names = manifests.map(nameOf);
  expect(names).toEqual([...new Set(names)]);
  return Object.fromEntries(manifests.map((manifest) => [nameOf(manifest), withoutKeep(manifest)]));
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
