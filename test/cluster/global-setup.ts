import type { TestProject } from "vitest/node";
import type { ControlPlane } from "../support/control-plane-handle.ts";
import { asData, type StartedControlPlane } from "../support/control-plane.ts";
import { awaitStamps, type InstalledLatchkey, startPrepared } from "../support/install-latchkey.ts";
import { endsWith, startOthers } from "../support/setups.ts";

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

/** What runs for these tests. */
interface Running {
  readonly controlPlane: StartedControlPlane;
  readonly stamps: InstalledLatchkey;
}

declare global {
  var latchkeyCluster: Promise<Running> | undefined;
}

async function startCluster(): Promise<Running> {
  const report = (line: string) => void process.stderr.write(`control plane: ${line}\n`);
  const { controlPlane, stampedBy } = await startPrepared(report);
  try {
    return { controlPlane, stamps: await awaitStamps(controlPlane, { stampedBy }) };
  } catch (error) {
    await controlPlane.stop();
    throw error;
  }
}

/** Starts one control plane with Latchkey's CRDs, RBAC and policies for the run. */
export function start(): Promise<Running> {
  return (globalThis.latchkeyCluster ??= startCluster());
}

/** Says how tests reach the control plane; returns what stops it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  startOthers(import.meta.filename);
  const { controlPlane, stamps } = await start();
  project.provide("controlPlane", asData(controlPlane));
  project.provide("hasPolicies", stamps.hasPolicies);
  project.provide("isStampedByWebhook", stamps.isStampedByWebhook);
  return endsWith(project.name, async () => {
    await stamps.stop();
    await controlPlane.stop();
  });
}
