/*
 * The part of `make pods` that runs in namespaces of its own, as their first process: they end with
 * it, with all that it has started.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Binaries } from "../support/binaries.ts";
import { arranging, connect, type Connection } from "../support/cluster-connection.ts";
import { startControlPlane, type StartedControlPlane } from "../support/control-plane.ts";
import { findHelm } from "../support/helm.ts";
import { eventually } from "../support/eventually.ts";
import { apply, policiesCount } from "../support/install.ts";
import { kubectl, tryKubectl } from "../support/kubectl.ts";
import { makeRoot, postKey } from "../support/latchkey-objects.ts";
import { controllerManagerFlags } from "../support/program-flags.ts";
import { Programs } from "../support/programs.ts";
import { servesOwnKinds, trustFiles } from "../support/trust.ts";
import { makeKeys, requestWith, useKeys } from "./key-load.ts";
import {
  authorizationConfig,
  cniConfig,
  containerdConfig,
  containerdSocket,
  kubeletConfig,
  kubeletFlags,
  network,
  nodeName,
  type NodePlace,
} from "./node-settings.ts";
import { followEndpoints, proxyService } from "./service-proxy.ts";

/** What main.ts has prepared. */
export interface InsideSettings {
  readonly place: NodePlace;
  readonly binaries: Binaries;
  /** The directory of kubelet and kube-scheduler. */
  readonly programs: string;
  /** The image that containerd gets, and that is the default of the chart. */
  readonly image: { readonly name: string; readonly tag: string };
  /** The path of the packaged chart. */
  readonly chart: string;
}

const settings: InsideSettings = JSON.parse(process.argv[2] ?? "");
const { place, binaries, image } = settings;
const namespace = "latchkey-system";
/** The tag of the image to which the upgrade leads. */
const nextTag = `${image.tag}-next`;
/** Each key is used once in 16 s, and kube-apiserver caches its user for 15 s. */
const load = { keys: 400, perSecond: 25 };
const programs = new Programs(place.logs, {
  env: {
    PATH: `${join(place.debian, "usr", "bin")}:${join(place.debian, "usr", "sbin")}:${process.env.PATH ?? ""}`,
    LD_LIBRARY_PATH: join(place.debian, "usr", "lib", `${arch()}-linux-gnu`),
  },
});

const began = performance.now();
try {
  await run();
  process.exit(0);
} catch (error) {
  process.stderr.write(`${String(error)}\nthe logs are in ${place.logs}\n`);
  process.exit(1);
}

function arch(): string {
  return process.arch === "x64" ? "x86_64" : "aarch64";
}

/** Does the work of one row of the table, and prints it with its time and that since the start. */
async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  const from = performance.now();
  const result = await programs.whileAlive(work());
  const seconds = (since: number) => ((performance.now() - since) / 1_000).toFixed(1).padStart(7);
  process.stdout.write(`${seconds(from)} s ${seconds(began)} s  ${name}\n`);
  return result;
}

async function run(): Promise<void> {
  process.stdout.write("     step      total\n");
  const controlPlane = await step("a control plane, with scheduler", startCluster);
  const connection = await connect(controlPlane.adminKubeconfig);
  await step("containerd, with the images", startContainerd);
  await step(`kubelet: ${nodeName} is Ready`, () => startNode(controlPlane));
  await step("helm install --wait: the pods of Latchkey are Ready", () =>
    install(controlPlane, connection),
  );
  await step("the first Secret is synced", () => syncSamples(controlPlane));
  await step("PodSecurity refuses another pod", () => refusePlainPod(controlPlane));
  await step("the first key works", () => useFirstKey(controlPlane, connection));
  await step("helm upgrade under load, until the former pods are gone", () =>
    upgrade(controlPlane, connection),
  );
}

async function startCluster(): Promise<StartedControlPlane> {
  const { controllerManager = "", ...withoutManager } = binaries;
  const node = { name: `system:node:${nodeName}`, groups: ["system:nodes"] };
  const scheduler = { name: "system:kube-scheduler", groups: [] };
  const directory = join(place.work, "cluster");
  mkdirSync(directory);
  const authorization = join(place.work, "authorization.json");
  writeFileSync(authorization, authorizationConfig);
  const controlPlane = await startControlPlane(withoutManager, {
    directory,
    logs: place.logs,
    users: [node, scheduler],
    extraApiServerFlags: [
      `--authorization-config=${authorization}`,
      "--enable-admission-plugins=NodeRestriction",
    ],
  });
  const { adminKubeconfig, kubeconfigs } = controlPlane;
  const [few = "", ...others] = controllerManagerFlags(directory, adminKubeconfig).toReversed();
  if (!few.startsWith("--controllers=")) throw new Error(`${few} is not the list of controllers`);
  programs.run("kube-controller-manager", controllerManager, [
    ...others,
    `--flex-volume-plugin-dir=${join(place.work, "volume-plugins")}`,
  ]);
  programs.run("kube-scheduler", join(settings.programs, "kube-scheduler"), [
    ...[`--kubeconfig=${kubeconfigs[scheduler.name]}`, "--leader-elect=false", "--secure-port=0"],
  ]);
  const own = { host: "127.0.0.1", port: Number(new URL(controlPlane.url).port) };
  await proxyService({ host: "10.0.0.1", port: 443 }, () => [own]);
  return controlPlane;
}

async function startContainerd(): Promise<void> {
  const config = join(place.work, "containerd.toml");
  writeFileSync(config, containerdConfig(place));
  mkdirSync(join(place.work, "cni"));
  writeFileSync(join(place.work, "cni", "pods.conflist"), cniConfig);
  programs.run("containerd", "containerd", [`--config=${config}`]);
  const ctr = (words: string) =>
    execFileSync(
      "/bin/sh",
      [
        ...["-c", `${words.replaceAll("ctr", '"$0" --address "$1" --namespace k8s.io')}`],
        ...[join(place.debian, "usr", "bin", "ctr"), containerdSocket(place)],
      ],
      { stdio: "pipe" },
    );
  await eventually(() => ctr("ctr version"), { what: "containerd to answer" });
  for (const name of ["image", "pause"])
    ctr(`tar -C ${join(place.work, name)} -cf - . | ctr images import -`);
  ctr(`ctr images tag ${image.name}:${image.tag} ${image.name}:${nextTag}`);
}

async function startNode(controlPlane: StartedControlPlane): Promise<void> {
  const address = (...words: readonly string[]) => execFileSync("ip", words);
  // Without an address of its own, a bridge takes the lowest of its ports: a pod that comes or goes
  // then changes it, and nothing reaches the node until the pods ask for it again.
  address("link", "add", network.bridge, "address", "02:00:0a:58:00:01", "type", "bridge");
  address("address", "add", `${network.node}/24`, "dev", network.bridge);
  address("link", "set", network.bridge, "up");
  const config = join(place.work, "kubelet.json");
  writeFileSync(config, kubeletConfig(place));
  const kubeconfig = controlPlane.kubeconfigs[`system:node:${nodeName}`] ?? "";
  programs.run("kubelet", join(settings.programs, "kubelet"), [
    ...kubeletFlags(place, { config, kubeconfig }),
  ]);
  const ready = ["wait", "--for=condition=Ready", "--timeout=1s", `node/${nodeName}`];
  await eventually(() => kubectl(controlPlane, ready), { what: "the node to be Ready" });
}

/** Installs the chart into a namespace that enforces the strictest level of PodSecurity. */
async function install(controlPlane: StartedControlPlane, connection: Connection): Promise<void> {
  await kubectl(controlPlane, ["create", "namespace", namespace]);
  const label = "pod-security.kubernetes.io/enforce=restricted";
  await kubectl(controlPlane, ["label", "namespace", namespace, label]);
  const installed = helm(controlPlane, ["install"]);
  installed.catch(() => {});
  const service = { namespace, name: "latchkey-webhook" };
  const address = ["get", "service", service.name, "--output=jsonpath={.spec.clusterIP}"];
  const host = await eventually(
    () => kubectl(controlPlane, [...address, `--namespace=${namespace}`]),
    { what: "the Service of the webhook" },
  );
  await proxyService({ host, port: 443 }, followEndpoints(connection, service));
  await installed;
}

/** Installs or upgrades the release, and waits until all of it is ready. */
async function helm(
  { adminKubeconfig }: StartedControlPlane,
  [verb = "", ...options]: readonly string[],
): Promise<void> {
  const run = await findHelm({ kubeconfig: adminKubeconfig });
  const words = [verb, "latchkey", settings.chart, `--namespace=${namespace}`, ...options];
  const { code, stderr } = await run([...words, "--wait", "--timeout=600s"]);
  if (code !== 0) throw new Error(`helm ${verb}: ${stderr}`);
}

async function syncSamples(controlPlane: StartedControlPlane): Promise<void> {
  await apply(controlPlane, join("config", "samples"));
  await kubectl(controlPlane, [
    ...["wait", "--for=create", "--timeout=60s", "secret/database", "--namespace=web-dev"],
  ]);
}

/** Shows that the namespace of Latchkey enforces the level of its label. */
async function refusePlainPod(controlPlane: StartedControlPlane): Promise<void> {
  const { stderr } = await tryKubectl(controlPlane, [
    ...["run", "plain", `--image=${image.name}`, `--namespace=${namespace}`, "--dry-run=server"],
  ]);
  if (!stderr.includes('violates PodSecurity "restricted:latest"'))
    throw new Error(`a pod without a security context was not refused: ${stderr}`);
}

/** Makes kube-apiserver ask the pods about keys, as docs/webhook.md describes. */
async function useFirstKey(
  controlPlane: StartedControlPlane,
  connection: Connection,
): Promise<void> {
  await controlPlane.restartApiServer(await trustFiles(controlPlane));
  await servesOwnKinds(controlPlane);
  await policiesCount(controlPlane);
  const arrange = arranging(connection);
  await arrange(makeRoot);
  const key = "the-first-key-of-make-pods";
  await arrange(postKey("first", { user: "root", key }));
  await eventually(async () => (await requestWith(connection, key)) === "200", {
    what: "the first key to work",
  });
}

/** Uses keys while all pods are replaced; throws if one of the requests was refused. */
async function upgrade(controlPlane: StartedControlPlane, connection: Connection): Promise<void> {
  const texts = await makeKeys(connection, { user: "root", count: load.keys });
  const pods = () =>
    kubectl(controlPlane, ["get", "pods", `--namespace=${namespace}`, "--output=name"]);
  const former = (await pods()).trim().split("\n");
  const using = useKeys(connection, texts, load.perSecond);
  await helm(controlPlane, ["upgrade", "--set", `image.tag=${nextTag}`]);
  const gone = ["wait", "--for=delete", `--namespace=${namespace}`, "--timeout=600s"];
  await kubectl(controlPlane, [...gone, ...former]);
  const results = await using.stop();
  const restarts = await kubectl(controlPlane, [
    ...["get", "pods", `--namespace=${namespace}`],
    "--output=jsonpath={.items[*].status.containerStatuses[*].restartCount}",
  ]);
  process.stdout.write(
    `${former.length} pods replaced; requests with ${load.keys} keys: ${JSON.stringify(results)}; restarts: ${restarts}\n`,
  );
  if (Object.keys(results).join() === "200" && !/[^ 0]/.test(restarts)) return;
  process.stdout.write(await kubectl(controlPlane, ["get", "events", `--namespace=${namespace}`]));
  throw new Error("a request with a key was refused, or a container was restarted");
}
