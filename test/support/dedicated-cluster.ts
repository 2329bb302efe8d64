import { admin, connect, send, type Answer, type Ask, type Caller } from "./cluster-connection.ts";
import { findOrBuildControlPlane, type Report } from "./binaries.ts";
import { bundle } from "./bundle.ts";
import {
  type ControlPlaneOptions,
  startControlPlane,
  type StartedControlPlane,
} from "./control-plane.ts";
import { type Installation, installationOf } from "./install.ts";
import {
  type ControllerProcess,
  type ControllerProcessOptions,
  type LatchkeyProcess,
  startController,
} from "./latchkey-process.ts";
import { readVitals } from "./controller-vitals.ts";
import { untilStill } from "./until-still.ts";
import { awaitStamps, type PreparedControlPlane, startPrepared } from "./install-latchkey.ts";

/**
 * False if tests cannot have dedicated control planes: on an existing cluster, and without a
 * controller manager.
 */
export const hasDedicatedClusters =
  process.env.USE_EXISTING_CLUSTER !== "true" && process.env.KUBEBUILDER_ASSETS === undefined;

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
  run(options?: Partial<ControllerProcessOptions>): Promise<ControllerProcess>;
  /** Stops the controllers, then the control plane. */
  stop(): Promise<void>;
}

/** The initial state of a dedicated cluster. */
export interface DedicatedClusterOptions {
  /**
   * `stamped` by default: CRDs, RBAC, policies, and before 1.36 a webhook that writes the requester
   * annotations. `manifests` leaves that webhook to the test, `nothing` leaves everything.
   */
  readonly install?: "stamped" | "manifests" | "nothing";
  /** Additional flags of kube-apiserver. */
  readonly extraApiServerFlags?: readonly string[];
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
  const controllers: LatchkeyProcess[] = [];
  let stopStamping = async () => {};
  const stop = async () => {
    await Promise.all([stopStamping(), ...controllers.map((controller) => controller.stop())]);
    await connection.pool.destroy();
    await controlPlane.stop();
  };
  const ask = (caller: Caller, request: Ask) => send(connection, caller, request);
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
    async arrange(request) {
      const answer = await ask(admin, request);
      if (answer.code >= 300)
        throw new Error(`${request.method} ${request.path}: ${answer.code} ${answer.message}`);
      return answer;
    },
    async run(options = {}) {
      const controller = await startController({
        controlPlane,
        restart: "never",
        program,
        ...options,
      });
      controllers.push(controller);
      return controller;
    },
    stop,
  };
}

async function startEmpty(
  options: ControlPlaneOptions,
  report: Report,
): Promise<PreparedControlPlane> {
  const controlPlane = await startControlPlane(await findOrBuildControlPlane(report), options);
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
