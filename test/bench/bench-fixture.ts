import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { startFakeKubelet } from "../support/fake-kubelet.ts";
import { type StartedControlPlane, startControlPlane } from "../support/control-plane.ts";
import {
  type LatchkeyProcess,
  startController,
  startDirectEndpoint,
  startGateway,
  startWebhook,
} from "../support/latchkey-process.ts";
import { imageNodeFlags } from "../support/image.ts";
import {
  apply,
  applyDirectEndpointRbac,
  applyLatchkey,
  policiesCount,
  repository,
} from "../support/install.ts";
import { kubectl } from "../support/kubectl.ts";
import { type BareClient, bareClient } from "../support/bare-client.ts";
import { type Readings, readingsOf } from "./controller-readings.ts";

/** A running controller. */
export interface Running {
  readonly pid: number;
  readonly readings: Readings;
  readonly issuerUrl: string;
  /** When it was started, on the clock of `performance`. */
  readonly startedAt: number;
  /** Waits until it is ready; returns when that was observed. */
  ready(): Promise<number>;
  stop(): Promise<void>;
}

/** A running webhook. */
export interface RunningWebhook {
  readonly pid: number;
  readonly webhookUrl: string;
  readonly readings: Readings;
  stop(): Promise<void>;
}

/** A running gateway. */
export interface RunningGateway {
  readonly gatewayUrl: string;
  readonly readings: Readings;
  stop(): Promise<void>;
}

/** The environment of the benchmarks. */
export interface BenchFixture {
  readonly controlPlane: StartedControlPlane;
  /** A bare client as administrator. */
  readonly admin: BareClient;
  /** A bare client with Latchkey's own account, to which the same policies apply. */
  readonly account: BareClient;
  readonly say: (line: string) => void;
  /** The port of the fake kubelet, if there is one. */
  readonly kubeletPort: number | undefined;
  /** Starts the controller's bundle with the flags of the image, and with NODE_OPTIONS. */
  start(nodeOptions?: string, env?: Readonly<Record<string, string>>): Promise<Running>;
  /** Starts the webhook's bundle with the flags of the image, and waits until it is ready. */
  startWebhook(args?: readonly string[]): Promise<RunningWebhook>;
  /** Starts the gateway's bundle with the flags of the image, and waits until it is ready. */
  startGateway(): Promise<RunningGateway>;
  /** Starts the direct endpoint's bundle in the same way, with these options. */
  startDirectEndpoint(args: readonly string[]): Promise<RunningGateway>;
  close(): Promise<void>;
}

/**
 * Starts a control plane without audit log and without kube-controller-manager, whose writes for
 * every new namespace would disturb the measurement, installs Latchkey, and bundles the controller.
 */
export async function startBenchFixture(
  say: (line: string) => void,
  { hasKubelet = false }: { readonly hasKubelet?: boolean } = {},
): Promise<BenchFixture> {
  const source = await findOrBuildControlPlane(say);
  if (source.kind === "existing")
    throw new Error("benchmarks want a control plane of their own: unset USE_EXISTING_CLUSTER");
  const { controllerManager: _, ...binaries } = source;
  say("starting etcd and kube-apiserver, installing Latchkey, bundling the controller");
  const kubelet = hasKubelet ? await startFakeKubelet(say) : undefined;
  const controlPlane = await startControlPlane(binaries, {
    auditLog: false,
    measured: true,
    ...(kubelet === undefined ? {} : { extraApiServerFlags: kubelet.apiServerFlags }),
  });
  const stop = async (): Promise<void> => {
    await controlPlane.stop();
    await kubelet?.stop();
  };
  try {
    const program = bundle(controlPlane.directory);
    await applyLatchkey(controlPlane, say);
    const token = await kubectl(controlPlane, [
      "create",
      "token",
      "latchkey-controller",
      "--namespace=latchkey-system",
      "--duration=24h",
    ]);
    const [admin, account] = await Promise.all([
      bareClient(controlPlane.adminKubeconfig),
      bareClient(controlPlane.adminKubeconfig, token.trim()),
    ]);
    await policiesCount(controlPlane);
    const running = new Set<LatchkeyProcess>();
    return {
      controlPlane,
      admin,
      account,
      say,
      kubeletPort: kubelet?.port,
      start: (nodeOptions = imageEnvironment.NODE_OPTIONS, env = {}) =>
        run({ controlPlane, program, env: { ...env, NODE_OPTIONS: nodeOptions } }, running),
      async startWebhook(args = []) {
        const webhook = await startWebhook({
          ...{ controlPlane, program, args },
          nodeFlags: imageNodeFlags(),
          restart: "never",
          env: imageEnvironment,
        });
        running.add(webhook);
        await webhook.waitReady(300_000);
        return {
          pid: webhook.pid,
          webhookUrl: webhook.webhookUrl,
          readings: readingsOf(webhook.url),
          stop: () => end(webhook, running),
        };
      },
      async startGateway() {
        await apply(controlPlane, join("config", "gateway"));
        const gateway = await startGateway({
          controlPlane,
          program,
          nodeFlags: imageNodeFlags(),
          restart: "never",
          args: ["--external-names=localhost,127.0.0.1"],
          env: imageEnvironment,
        });
        running.add(gateway);
        await gateway.waitReady(300_000);
        const { gatewayUrl, url } = gateway;
        return { gatewayUrl, readings: readingsOf(url), stop: () => end(gateway, running) };
      },
      async startDirectEndpoint(args) {
        await applyDirectEndpointRbac(controlPlane);
        const endpoint = await startDirectEndpoint({
          ...{ controlPlane, program, args, restart: "never" },
          nodeFlags: imageNodeFlags(),
          env: imageEnvironment,
        });
        running.add(endpoint);
        await endpoint.waitReady(300_000);
        const { endpointUrl: gatewayUrl, url } = endpoint;
        return { gatewayUrl, readings: readingsOf(url), stop: () => end(endpoint, running) };
      },
      async close() {
        await Promise.all([...running].map((controller) => controller.stop()));
        await Promise.all([admin.close(), account.close()]);
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function bundle(directory: string): string {
  const given = process.env.BENCH_PROGRAM;
  if (given === undefined)
    execFileSync("npm", ["run", "--silent", "build"], { cwd: repository, stdio: "inherit" });
  const program = join(directory, "latchkey.mjs");
  copyFileSync(given ?? join(repository, "dist", "latchkey.mjs"), program);
  return program;
}

async function run(
  {
    controlPlane,
    program,
    env,
  }: {
    readonly controlPlane: StartedControlPlane;
    readonly program: string;
    readonly env: Readonly<Record<string, string>>;
  },
  running: Set<LatchkeyProcess>,
): Promise<Running> {
  const startedAt = performance.now();
  const controller = await startController({
    controlPlane,
    program,
    nodeFlags: imageNodeFlags(),
    restart: "never",
    identity: "bench",
    env: { ...imageEnvironment, ...env },
  });
  running.add(controller);
  return {
    pid: controller.pid,
    readings: readingsOf(controller.url),
    issuerUrl: controller.issuerUrl,
    startedAt,
    async ready() {
      await controller.waitReady(300_000);
      return performance.now();
    },
    stop: () => end(controller, running),
  };
}

const imageEnvironment = {
  NODE_OPTIONS: process.env.BENCH_NODE_OPTIONS ?? "",
  NODE_ENV: "production",
};

async function end(one: LatchkeyProcess, running: Set<LatchkeyProcess>): Promise<void> {
  running.delete(one);
  await one.stop();
}
