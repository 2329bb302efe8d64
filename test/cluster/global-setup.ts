import type { TestProject } from "vitest/node";
import { findOrBuildControlPlane } from "./binaries.ts";
import type { ControlPlane } from "./control-plane-handle.ts";
import { startControlPlane } from "./control-plane.ts";
import { installLatchkey } from "./install.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The control plane of the test run; CRDs, RBAC and policies are installed, no controller runs. */
    controlPlane: ControlPlane;
    /** False on a server older than 1.36: the policies are missing there. */
    hasPolicies: boolean;
  }
}

let stopControlPlane = async () => {};

/** Starts one control plane for the run and installs Latchkey's CRDs, RBAC and policies. */
export async function setup(project: TestProject): Promise<void> {
  const report = (line: string) => void process.stderr.write(`control plane: ${line}\n`);
  const { stop, restartApiServer: _, ...controlPlane } = await startControlPlane(await findOrBuildControlPlane(report));
  stopControlPlane = stop;
  try {
    const { policies } = await installLatchkey(controlPlane, report);
    project.provide("controlPlane", controlPlane);
    project.provide("hasPolicies", policies);
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Stops the control plane. */
export async function teardown(): Promise<void> {
  await stopControlPlane();
}
