import type { TestProject } from "vitest/node";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { asData, startControlPlane } from "../support/control-plane.ts";
import { startController } from "../support/latchkey-process.ts";
import { installLatchkey } from "../support/install-latchkey.ts";

/** How tests reach the one controller of the run: plain data. */
export interface ControllerHandle {
  /** Its HTTP server. */
  url: string;
  /** Its own kubeconfig, as the shipped service account. */
  kubeconfig: string;
  /** Path of its log, JSON lines. */
  log: string;
  /** Path of the API server's audit log; absent on an existing cluster. */
  auditLog?: string;
}

declare module "vitest" {
  interface ProvidedContext {
    /** The controller that runs beside the tests of the project `controller`. */
    controller: ControllerHandle;
  }
}

/** Few enough to be reached; the tests themselves ask for more. */
export const tokenQuota = { most: 20, exempt: "admin,alice,bob" } as const;

const stops: (() => Promise<unknown>)[] = [];

/**
 * Starts a control plane of its own, installs Latchkey and runs one controller until the tests are
 * over.
 */
export async function setup(project: TestProject): Promise<void> {
  const report = (line: string) => void process.stderr.write(`control plane: ${line}\n`);
  try {
    const started = await startControlPlane(await findOrBuildControlPlane(report));
    const { stop } = started;
    const controlPlane = asData(started);
    stops.unshift(stop);
    const { hasPolicies, stop: stopStamping } = await installLatchkey(controlPlane, report);
    stops.unshift(stopStamping);
    const controller = await startController({
      controlPlane,
      args: [`--quota-tokens=${tokenQuota.most}`, `--quota-exempt=${tokenQuota.exempt}`],
    });
    stops.unshift(() => controller.stop());
    await controller.waitReady();
    const { url, kubeconfig, log } = controller;
    const auditLog = controlPlane.auditLogPath;
    project.provide("controlPlane", controlPlane);
    project.provide("hasPolicies", hasPolicies);
    project.provide("controller", {
      url,
      kubeconfig,
      log,
      ...(auditLog !== undefined && { auditLog }),
    });
  } catch (error) {
    await teardown();
    throw error;
  }
}

/** Stops the controller, then its control plane. */
export async function teardown(): Promise<void> {
  for (const stop of stops.splice(0)) await stop();
}
