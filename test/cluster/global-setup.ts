import type { TestProject } from "vitest/node";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import type { ControlPlane } from "../support/control-plane-handle.ts";
import { asData, startControlPlane } from "../support/control-plane.ts";
import { installLatchkey } from "../support/install-latchkey.ts";

declare module "vitest" {
  interface ProvidedContext {
    /**
     * The control plane of the test run; CRDs, RBAC and policies are installed, but no controller
     * runs.
     */
    controlPlane: ControlPlane;
    /** False if requester annotations are not written: on an existing cluster before 1.36. */
    hasPolicies: boolean;
    /** Before 1.36: the webhook records the requester, and the start of the lifetime with it. */
    isStampedByWebhook: boolean;
  }
}

let stopControlPlane = async () => {};

/** Starts one control plane for the run and installs Latchkey's CRDs, RBAC and policies. */
export async function setup(project: TestProject): Promise<void> {
  const report = (line: string) => void process.stderr.write(`control plane: ${line}\n`);
  const started = await startControlPlane(await findOrBuildControlPlane(report));
  const { stop } = started;
  const controlPlane = asData(started);
  stopControlPlane = stop;
  try {
    const installed = await installLatchkey(controlPlane, report);
    const { hasPolicies, isStampedByWebhook, stop: stopStamping } = installed;
    stopControlPlane = async () => {
      await stopStamping();
      await stop();
    };
    project.provide("controlPlane", controlPlane);
    project.provide("hasPolicies", hasPolicies);
    project.provide("isStampedByWebhook", isStampedByWebhook);
  } catch (error) {
    await stopControlPlane();
    throw error;
  }
}

/** Stops the control plane. */
export async function teardown(): Promise<void> {
  await stopControlPlane();
}
