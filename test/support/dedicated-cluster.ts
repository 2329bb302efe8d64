import {
  arranging,
  connect,
  send,
  type Answer,
  type Ask,
  type Caller,
} from "./cluster-connection.ts";
import { findOrBuildControlPlane, type Report } from "./binaries.ts";
import { bundle } from "./bundle.ts";
import { startControlPlane, type StartedControlPlane } from "./control-plane.ts";
import type { User } from "./control-plane-handle.ts";
import { type Installation, installationOf } from "./install.ts";
import {
  type ControllerProcess,
  type GatewayProcess,
  type LatchkeyOptions,
  type LatchkeyProcess,
  startController,
  startGateway,
  startWebhook,
  type WebhookProcess,
} from "./latchkey-process.ts";
import { readVitals } from "./controller-vitals.ts";
import { untilStill } from "./until-still.ts";
import { askWebhookAtAdmission, webhookHost } from "./trust.ts";
import {
  awaitStamps,
  type PreparedControlPlane,
  stampByWebhook,
  startPrepared,
} from "./install-latchkey.ts";

/**
 * False if tests cannot have dedicated control planes: on an existing cluster, and without a
 * controller manager.
 */
export const hasDedicatedClusters =
  process.env.USE_EXISTING_CLUSTER !== "true" && process.env.KUBEBUILDER_ASSETS === undefined;
if (!hasDedicatedClusters)
  process.stderr.write(
    "tests with a control plane of their own are skipped: none can be started\n",
  );

const gatewayNames = ["--external-names=localhost,127.0.0.1"];

/** A control plane that only one test file uses. */
export interface DedicatedCluster extends Installation {
  readonly controlPlane: StartedControlPlane;
  /** Path of Latchkey's bundle. */
  readonly program: string;
  /** Path of the audit log. */
  readonly audit: string;
  ask(caller: Caller, request: Ask): Promise<Answer>;
  /** Sends a request as the administrator; throws if it is rejected. */
  arrange(request: Ask): Promise<Answer>;
  /** Starts a controller that is not restarted when it exits. */
  run(options?: Partial<LatchkeyOptions>): Promise<ControllerProcess>;
  /** The same for a webhook that kube-apiserver can call. */
  runWebhook(options?: Partial<LatchkeyOptions>): Promise<WebhookProcess>;
  runGateway(options?: Partial<LatchkeyOptions>): Promise<GatewayProcess>;
  /** Makes kube-apiserver call a webhook at admission, also for requester annotations. */
  askAtAdmission(webhook: Pick<WebhookProcess, "webhookUrl">): Promise<void>;
  /** Stops the processes, then the control plane. */
  stop(): Promise<void>;
}

/** The initial state of a dedicated cluster. */
export interface DedicatedClusterOptions {
  /**
   * `stamped` by default: CRDs, RBAC, policies, and before 1.36 a webhook that writes the requester
   * annotations. `manifests` leaves that webhook to the test, `nothing` leaves everything.
   */
  readonly install?: "stamped" | "manifests" | "nothing";
  /** Users in addition to `admin`. */
  readonly users?: readonly User[];
  /** Additional flags of kube-apiserver. */
  readonly extraApiServerFlags?: readonly string[];
  /** The version of its programs, if nothing is installed; default: that of the test run. */
  readonly kubernetesMinor?: string;
}

/** Starts a control plane and installs Latchkey; no controller runs. */
export async function startDedicatedCluster({
  install = "stamped",
  ...options
}: DedicatedClusterOptions = {}): Promise<DedicatedCluster> {
  const report = (line: string) => void process.stderr.write(`control plane: ${line}\n`);
  const [{ controlPlane, stampedBy }, program] = await Promise.all([
    install === "nothing" ? startEmpty(options, report) : startPrepared(report, options),
    bundle(report),
  ]);
  const connection = await connect(controlPlane.adminKubeconfig);
  const processes: LatchkeyProcess[] = [];
  let stopStamping = async () => {};
  const stop = async () => {
    await Promise.all([stopStamping(), ...processes.map((each) => each.stop())]);
    await connection.pool.destroy();
    await controlPlane.stop();
  };
  const ask = (caller: Caller, request: Ask) => send(connection, caller, request);
  const run = async <T extends LatchkeyProcess>(
    start: (options: LatchkeyOptions) => Promise<T>,
    more: Partial<LatchkeyOptions> = {},
  ): Promise<T> => {
    const started = await start({ controlPlane, restart: "never", program, ...more });
    processes.push(started);
    return started;
  };
  try {
    if (install === "stamped")
      ({ stop: stopStamping } = await awaitStamps(controlPlane, { stampedBy }));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    controlPlane,
    stampedBy,
    program,
    audit: controlPlane.auditLogPath ?? "",
    ask,
    arrange: arranging(connection),
    run: (more) => run(startController, more),
    runWebhook: (more) =>
      run(startWebhook, { args: [`--certificate-names=${webhookHost}`], ...more }),
    runGateway: (more) => run(startGateway, { args: gatewayNames, ...more }),
    async askAtAdmission(webhook) {
      await askWebhookAtAdmission(controlPlane, webhook);
      if (stampedBy === "webhook") await stampByWebhook(controlPlane, webhook);
    },
    stop,
  };
}

async function startEmpty(
  { kubernetesMinor, ...options }: DedicatedClusterOptions,
  report: Report,
): Promise<PreparedControlPlane> {
  const env = {
    ...process.env,
    ...(kubernetesMinor !== undefined && { KUBERNETES_MINOR: kubernetesMinor }),
  };
  const controlPlane = await startControlPlane(await findOrBuildControlPlane(report, env), options);
  return { controlPlane, ...(await installationOf(controlPlane)) };
}

/**
 * Waits until the controller leads, its queue is empty, and no reconcile has finished for a second.
 */
export async function settled(
  controller: Pick<LatchkeyProcess, "url">,
  within = 150_000,
): Promise<void> {
  let before = Number.NaN;
  const look = async () => {
    const { isLeading, waiting, reconciles } = await readVitals(controller.url);
    const isQuiet = isLeading && waiting === 0 && reconciles > 0 && reconciles === before;
    before = reconciles;
    return isQuiet;
  };
  await untilStill({
    // A controller that is not running does not respond.
    isQuiet: () => look().catch(() => false),
    looks: 10,
    everyMs: 100,
    within,
    failure: () => `waited ${within / 1000} s for the controller to have nothing to do`,
  });
}
