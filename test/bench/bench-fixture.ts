import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { agentUser } from "../../src/domain/outbox/outbox-names.ts";
import { type BareClient, bareClient, remove } from "../support/bare-client.ts";
import {
  home,
  namesOf,
  namespaceRequest,
  sharedSecretPath,
  sharedSecretRequest,
} from "../support/bench-objects.ts";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { bundle } from "../support/bundle.ts";
import { kubeconfigFor } from "../support/control-plane-handle.ts";
import {
  defaultUsers,
  type StartedControlPlane,
  startControlPlane,
} from "../support/control-plane.ts";
import { startFakeKubelet } from "../support/fake-kubelet.ts";
import { imageNodeFlags } from "../support/image.ts";
import {
  apply,
  applyClusterAgentRbac,
  applyDirectEndpointRbac,
  applyLatchkey,
  policiesCount,
} from "../support/install.ts";
import { kubectl } from "../support/kubectl.ts";
import {
  type LatchkeyProcess,
  startClusterAgent,
  startController,
  startDirectEndpoint,
  startGateway,
  startWebhook,
} from "../support/latchkey-process.ts";
import type { Say } from "../support/measured-run.ts";
import { type Readings, readingsOf } from "./controller-readings.ts";
import type { Processes } from "./processor-costs.ts";
import type { Row } from "./report.ts";
import type { Size } from "./sizes.ts";

/** How long a process may take to be ready, in milliseconds. */
const patienceMs = 300_000;

/** A running process of Latchkey. */
export interface Running {
  readonly pid: number;
  readonly readings: Readings;
  stop(): Promise<void>;
}

/** A running controller. */
export interface RunningController extends Running {
  readonly issuerUrl: string;
  /** When it was started, on the clock of `performance`. */
  readonly startedAt: number;
  /** Waits until it is ready; returns when that was observed. */
  ready(): Promise<number>;
}

/** A running webhook, gateway or direct endpoint. */
export interface RunningServer extends Running {
  /** Where it answers clients. */
  readonly url: string;
}

/** The cluster whose agent reads the outbox of {@link agentCluster}. */
export interface BenchConnected {
  readonly controlPlane: StartedControlPlane;
  /** Starts the agent, which must be connected, and waits until it is ready. */
  startAgent(): Promise<Running>;
}

/** The name of the connected cluster that has an agent. */
export const agentCluster = "bench";

/** The environment of the benchmarks; every process is a bundle with the flags of the image. */
export interface BenchFixture {
  readonly controlPlane: StartedControlPlane;
  /** The pids of kube-apiserver and etcd. */
  readonly servers: Processes;
  /** A bare client as administrator. */
  readonly admin: BareClient;
  /** A bare client with Latchkey's own account, to which the same policies apply. */
  readonly account: BareClient;
  readonly say: Say;
  /** The port of the fake kubelet, if there is one. */
  readonly kubeletPort: number | undefined;
  /** Starts a controller, with NODE_OPTIONS. */
  start(nodeOptions?: string, env?: Readonly<Record<string, string>>): Promise<RunningController>;
  /** Starts a webhook and waits until it is ready. */
  startWebhook(args?: readonly string[]): Promise<RunningServer>;
  /** Starts a gateway, by default of the fixture's program, and waits until it is ready. */
  startGateway(other?: string): Promise<RunningServer>;
  /** Starts a direct endpoint and waits until it is ready. */
  startDirectEndpoint(args: readonly string[]): Promise<RunningServer>;
  /** Starts the control plane of another cluster. */
  startConnected(): Promise<BenchConnected>;
  stop(): Promise<void>;
}

/** What a part of the benchmark uses. */
export interface Bench {
  readonly fixture: BenchFixture;
  readonly size: Size;
  /** Reports rows as soon as they are measured. */
  readonly report: (rows: readonly Row[]) => void;
}

/** Measures with a controller that is ready, and stops it. */
export async function withController<R>(
  { start }: Pick<BenchFixture, "start">,
  work: (running: RunningController) => Promise<R>,
): Promise<R> {
  const running = await start();
  await running.ready();
  const result = await work(running);
  await running.stop();
  return result;
}

/** Measures with a controller that has sent its first 1,000 requests. */
export function withWarmController<R>(
  fixture: BenchFixture,
  work: (running: RunningController) => Promise<R>,
): Promise<R> {
  return withController(fixture, async (running) => {
    await running.readings.settled(patienceMs);
    await fixture.admin.send(sharedSecretRequest({ name: "warm-up", project: "of-*" }, 1));
    await running.readings.settled();
    await removeSource(fixture, running, "warm-up");
    return work(running);
  });
}

/** Makes the namespaces of a project. */
export async function seedNamespaces(
  { admin, say }: BenchFixture,
  project: string,
  count: number,
): Promise<void> {
  const names = namesOf(project, count);
  const ms = await admin.pour(count, (index) => namespaceRequest(names[index] ?? "", project));
  say(`made ${count} namespaces, ${((count * 1000) / ms).toFixed(0)} a second`);
}

/** Deletes a SharedSecret of {@link home} and waits until its copies are gone. */
export async function removeSource(
  { admin }: BenchFixture,
  { readings }: Running,
  name: string,
): Promise<void> {
  await admin.send(remove(sharedSecretPath(home, name)));
  await readings.settled();
}

/**
 * Starts a control plane without audit log and without kube-controller-manager, whose writes for
 * every new namespace would disturb the measurement, installs Latchkey, and bundles the controller.
 */
export async function startBenchFixture(
  say: Say,
  { hasKubelet = false }: { readonly hasKubelet?: boolean } = {},
): Promise<BenchFixture> {
  const source = await findOrBuildControlPlane(say);
  if (source.kind === "existing")
    throw new Error("benchmarks want a control plane of their own: unset USE_EXISTING_CLUSTER");
  const { controllerManager: _, ...binaries } = source;
  say("starting etcd and kube-apiserver, installing Latchkey, bundling the controller");
  const own = { auditLog: false, measured: true };
  const kubelet = hasKubelet ? await startFakeKubelet(say) : undefined;
  const controlPlane = await startControlPlane(binaries, {
    ...own,
    users: [...defaultUsers, { name: agentUser(agentCluster), groups: [] }],
    ...(kubelet && { extraApiServerFlags: kubelet.apiServerFlags }),
  });
  const stop = async (): Promise<void> => {
    await controlPlane.stop();
    await kubelet?.stop();
  };
  try {
    const program = join(controlPlane.directory, "latchkey.mjs");
    copyFileSync(process.env.BENCH_PROGRAM ?? (await bundle(say)), program);
    await applyLatchkey(controlPlane, say);
    const create = ["create", "token", "latchkey-controller", "--namespace=latchkey-system"];
    const token = await kubectl(controlPlane, [...create, "--duration=24h"]);
    const [admin, account] = await Promise.all([
      bareClient(controlPlane.adminKubeconfig),
      bareClient(controlPlane.adminKubeconfig, token.trim()),
    ]);
    await policiesCount(controlPlane);
    const programs = programsOf(controlPlane, program);
    return {
      controlPlane,
      servers: {
        "kube-apiserver": controlPlane.pidOf("kube-apiserver") ?? 0,
        etcd: controlPlane.pidOf("etcd") ?? 0,
      },
      admin,
      account,
      say,
      kubeletPort: kubelet?.port,
      ...programs,
      async startConnected() {
        const connected = await startControlPlane(binaries, own);
        await applyClusterAgentRbac(connected);
        return {
          controlPlane: connected,
          startAgent: () => programs.startAgent(connected),
        };
      },
      async stop() {
        await programs.stopAll();
        await Promise.all([admin.close(), account.close()]);
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function programsOf(
  controlPlane: StartedControlPlane,
  program: string,
): Pick<BenchFixture, "start" | "startWebhook" | "startGateway" | "startDirectEndpoint"> & {
  startAgent(connected: StartedControlPlane): Promise<Running>;
  stopAll(): Promise<unknown>;
} {
  const env = { NODE_OPTIONS: process.env.BENCH_NODE_OPTIONS ?? "", NODE_ENV: "production" };
  const once = (name: string) =>
    ({ controlPlane, program, env, nodeFlags: imageNodeFlags(name), restart: "never" }) as const;
  const started = new Set<LatchkeyProcess>();
  const kept = (one: LatchkeyProcess): Running => {
    started.add(one);
    return {
      pid: one.pid,
      readings: readingsOf(one.url),
      async stop() {
        started.delete(one);
        await one.stop();
      },
    };
  };
  const serving = async (one: LatchkeyProcess, url: string): Promise<RunningServer> => {
    const running = kept(one);
    await one.waitReady(patienceMs);
    return { ...running, url };
  };
  return {
    async start(nodeOptions = env.NODE_OPTIONS, more = {}) {
      const startedAt = performance.now();
      const ownEnv = { ...env, ...more, NODE_OPTIONS: nodeOptions };
      const controller = await startController({
        ...once("controller"),
        env: ownEnv,
        identity: "bench",
      });
      const ready = async (): Promise<number> => {
        await controller.waitReady(patienceMs);
        return performance.now();
      };
      return { ...kept(controller), issuerUrl: controller.issuerUrl, startedAt, ready };
    },
    async startWebhook(args = []) {
      const webhook = await startWebhook({ ...once("webhook"), args });
      return serving(webhook, webhook.webhookUrl);
    },
    async startGateway(other = program) {
      await apply(controlPlane, join("config", "gateway"));
      const args = ["--external-names=localhost,127.0.0.1"];
      const gateway = await startGateway({ ...once("gateway"), program: other, args });
      return serving(gateway, gateway.gatewayUrl);
    },
    async startDirectEndpoint(args) {
      await applyDirectEndpointRbac(controlPlane);
      const endpoint = await startDirectEndpoint({ ...once("direct-endpoint"), args });
      return serving(endpoint, endpoint.endpointUrl);
    },
    async startAgent(connected) {
      const central = kubeconfigFor(controlPlane, agentUser(agentCluster));
      const args = [`--central-kubeconfig=${central}`, `--cluster-name=${agentCluster}`];
      const agent = await startClusterAgent({
        ...once("cluster-agent"),
        controlPlane: connected,
        args,
      });
      const running = kept(agent);
      await agent.waitReady(patienceMs);
      return running;
    },
    stopAll: () => Promise.all([...started].map((one) => one.stop())),
  };
}
