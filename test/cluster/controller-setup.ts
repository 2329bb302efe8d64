import type { TestProject } from "vitest/node";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { asData, startControlPlane } from "../support/control-plane.ts";
import { startController } from "../support/latchkey-process.ts";
import { installLatchkey } from "../support/install-latchkey.ts";

/** The data with which tests access the controller of the run. */
export interface ControllerHandle {
  /** The URL of its HTTP server. */
  url: string;
  /** The URL of its issuer. */
  issuerUrl: string;
  /** Its kubeconfig, for the shipped service account. */
  kubeconfig: string;
  /** Path of its log, JSON lines. */
  log: string;
  /** Path of the API server's audit log; undefined on an existing cluster. */
  auditLog?: string;
}

declare module "vitest" {
  interface ProvidedContext {
    /** The controller that runs during the tests of the project `controller`. */
    controller: ControllerHandle;
  }
}

/** Low enough to be reached in a test; other tests use exempt users. */
export const tokenQuota = { most: 20, exempt: "admin,alice,bob" } as const;

const stops: (() => Promise<unknown>)[] = [];

/**
 * Starts a dedicated control plane, installs Latchkey and runs one controller until the tests are
 * done.
 */
export async function setup(project: TestProject): Promise<void> {
  const report = (line: string) => void process.stderr.write(`control plane: ${line}\n`);
  try {
    const started = await startControlPlane(await findOrBuildControlPlane(report));
    const { stop } = started;
    const controlPlane = asData(started);
    stops.unshift(stop);
    const installed = await installLatchkey(controlPlane, report);
    const { hasPolicies, isStampedByWebhook, stop: stopStamping } = installed;
    stops.unshift(stopStamping);
    const controller = await startController({
      controlPlane,
      args: [`--quota-tokens=${tokenQuota.most}`, `--quota-exempt=${tokenQuota.exempt}`],
    });
    stops.unshift(() => controller.stop());
    await controller.waitReady();
    const { url, issuerUrl, kubeconfig, log } = controller;
    const auditLog = controlPlane.auditLogPath;
    project.provide("controlPlane", controlPlane);
    project.provide("hasPolicies", hasPolicies);
    project.provide("isStampedByWebhook", isStampedByWebhook);
    project.provide("controller", {
      url,
      issuerUrl,
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
