import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chartsOf } from "../../release/chart/charts.ts";
import { findKustomize } from "../../release/chart/kustomize.ts";
import { packageChart } from "../../release/chart/package.ts";
import { installationPages } from "../dev/doc-pages.ts";
import { clientBundle } from "../support/bundle.ts";
import { type ChartCluster, type ChartProcesses, startChartCluster } from "./chart-cluster.ts";
import { plugin } from "../support/cli-form.ts";
import {
  type DedicatedCluster,
  hasDedicatedClusters,
  startDedicatedCluster,
} from "../support/dedicated-cluster.ts";
import { blocksOf, type DocStep, hasCommands, stepsOf } from "../support/doc-blocks.ts";
import { policiesCount, repository } from "../support/install.ts";
import { addContext } from "../support/kubeconfig.ts";
import { findOrBuildTools } from "../support/tools.ts";
import { surprises } from "./page-shell.ts";

const report = (line: string) => void process.stderr.write(`installation: ${line}\n`);

/** The blocks of commands below each heading of the pages. */
const sections = new Map(
  installationPages
    .flatMap((page) => readFileSync(join(repository, page), "utf8").split(/^#{1,3} /m))
    .map((text) => [text.split("\n")[0] ?? "", blocksOf(text).filter(hasCommands)] as const),
);
const done = new Set<string>();

/** The commands of a section, or of one of its blocks. */
function stepsIn(section: string, block?: number): readonly DocStep[] {
  const blocks = sections.get(section) ?? [];
  const chosen = block === undefined ? blocks : blocks.slice(block, block + 1);
  expect(chosen).not.toEqual([]);
  for (const { text } of chosen) done.add(text);
  return chosen.flatMap(stepsOf);
}

describe.skipIf(!hasDedicatedClusters)(`the blocks of ${installationPages.join(" and ")}`, () => {
  let chart: ChartCluster;
  let connected: DedicatedCluster;
  let processes: ChartProcesses | undefined;
  let directory: string;
  let env: Readonly<Record<string, string>>;
  const run = (steps: readonly DocStep[]) => surprises(steps, directory, env);

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "installation-page-"));
    const [tools, kustomize, bundle] = await Promise.all([
      findOrBuildTools(report),
      findKustomize(report),
      clientBundle(report),
    ]);
    chart = await startChartCluster();
    connected = await startDedicatedCluster({ install: "nothing" });
    const { bin } = plugin([process.execPath, bundle], directory);
    symlinkSync(tools.helm, join(bin, "helm"));
    symlinkSync(chart.cluster.controlPlane.kubectl, join(bin, "kubectl"));
    for (const name of ["config", "crds"])
      symlinkSync(join(repository, name), join(directory, name));
    mkdirSync(join(directory, "dist"));
    for (const one of chartsOf(kustomize)) packageChart(one, join(directory, "dist", "charts"));
    const { url, certificateAuthority, tokens } = connected.controlPlane;
    writeFileSync(join(directory, "issuer-ca.crt"), certificateAuthority);
    const own = chart.cluster.controlPlane.adminKubeconfig;
    const kubeconfig = join(directory, "connected.kubeconfig");
    const user = { token: tokens["admin"] ?? "" };
    addContext(kubeconfig, "connected", { url, certificateAuthority, user });
    env = { PATH: `${bin}:${process.env.PATH}`, KUBECONFIG: `${own}:${kubeconfig}` };
  });

  afterAll(async () => {
    await processes?.stop();
    await chart?.stop();
    await connected?.stop();
  });

  it("install Latchkey, and the check succeeds", async () => {
    const [values, install, ...checks] = stepsIn("Install");
    expect(await run([values, install].flatMap((step) => step ?? []))).toEqual([]);
    processes = await chart.startProcesses({ namespace: "latchkey-system" });
    expect(await run(checks)).toEqual([]);
  });

  it.each(["Which way in", "Argo CD and Flux", "Connected clusters", "Back up"])(
    "of %s succeed",
    async (section) => {
      expect(await run(stepsIn(section))).toEqual([]);
    },
  );

  it("upgrade both clusters, and roll back", async () => {
    expect(await run(stepsIn("Upgrade", 0))).toEqual([]);
    expect(await run(stepsIn("Upgrade", 1))).toEqual([]);
    expect(await run(stepsIn("Roll back"))).toEqual([]);
  });

  it("uninstall and install again, and then remove everything", async () => {
    expect(await run(stepsIn("Uninstall, and keep the objects"))).toEqual([]);
    await processes?.stop();
    expect(await run(stepsIn("Install").slice(1, 2))).toEqual([]);
    processes = await chart.startProcesses({ namespace: "latchkey-system" });
    await policiesCount(chart.cluster.controlPlane);
    const samples = "kubectl apply --server-side -k config/samples";
    const synced = "kubectl -n team-a wait shsec/database --for=condition=Ready";
    expect(await run(stepsOf({ language: "sh", text: `${samples}\n${synced}` }))).toEqual([]);
    expect(await run(stepsIn("Remove everything", 0))).toEqual([]);
    expect(await run(stepsIn("Remove everything", 1))).toEqual([]);
    await processes?.stop();
    const selector = "--selector=app.kubernetes.io/name=latchkey";
    const kinds =
      "crds,validatingadmissionpolicies,mutatingadmissionpolicies,clusterroles,namespaces";
    const left = { command: `kubectl get ${kinds} ${selector}`, expected: "No resources found" };
    expect(await run([{ ...left, isRefused: false }])).toEqual([]);
    expect(await run(stepsIn("How to see that it worked"))).toEqual([]);
  });

  it("take over what kustomize has installed", async () => {
    expect(await run(stepsIn("Without Helm"))).toEqual([]);
    expect(await run(stepsIn("Upgrade", 2))).toEqual([]);
  });

  it("are all run, but those that build and push", () => {
    const others = [...sections.values()].flat().filter(({ text }) => !done.has(text));
    expect(others.map(({ text }) => text.split(" ")[0])).toEqual(["make"]);
  });
});
