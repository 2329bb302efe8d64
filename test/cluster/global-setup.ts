import type { TestProject } from "vitest/node";
import type { ControlPlane } from "../support/control-plane-handle.ts";
import { asData } from "../support/control-plane.ts";
import { awaitStamps, startPrepared } from "../support/install-latchkey.ts";

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

let stop = async () => {};

/** Starts one control plane with Latchkey's CRDs, RBAC and policies for the run. */
export async function setup(project: TestProject): Promise<void> {
  const report = (line: string) => void process.stderr.write(`control plane: ${line}\n`);
  const { controlPlane, stampedBy } = await startPrepared(report);
  stop = () => controlPlane.stop();
  try {
    const stamps = await awaitStamps(controlPlane, { stampedBy });
    stop = async () => {
      await stamps.stop();
      await controlPlane.stop();
    };
    project.provide("controlPlane", asData(controlPlane));
    project.provide("hasPolicies", stamps.hasPolicies);
    project.provide("isStampedByWebhook", stamps.isStampedByWebhook);
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Stops the control plane. */
export async function teardown(): Promise<void> {
  await stop();
}
