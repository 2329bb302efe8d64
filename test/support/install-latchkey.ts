import { join } from "node:path";
import { findOrBuildControlPlane, type Report } from "./binaries.ts";
import type { ControlPlane } from "./control-plane-handle.ts";
import {
  type ControlPlaneOptions,
  startControlPlane,
  type StartedControlPlane,
} from "./control-plane.ts";
import { applyLatchkey, type Installation, installationOf, policiesCount } from "./install.ts";
import { startWebhook, type WebhookProcess } from "./latchkey-process.ts";
import { preparedEtcd } from "./prepared-etcd.ts";
import { askWebhookAtAdmission, servesOwnKinds, webhookHost } from "./trust.ts";

/** A control plane with Latchkey's CRDs, RBAC and policies; no process of Latchkey runs. */
export interface PreparedControlPlane extends Installation {
  readonly controlPlane: StartedControlPlane;
}

/** What is different about a prepared control plane. */
export interface PreparedOptions extends Omit<ControlPlaneOptions, "etcdData"> {
  /** False: without a controller manager, so nothing but the test and Latchkey writes. */
  readonly controllerManager?: boolean;
}

/**
 * Starts a control plane from etcd data with Latchkey's CRDs, RBAC and policies, which are old
 * enough for requester annotations to be trusted; on an existing cluster they are applied. Its API
 * server serves the three kinds when this returns.
 */
export async function startPrepared(
  report: Report,
  { controllerManager = true, ...options }: PreparedOptions = {},
): Promise<PreparedControlPlane> {
  const source = await findOrBuildControlPlane(report);
  if (source.kind === "existing") {
    report("tests that read the audit log are skipped: tests do not reach that of this cluster");
    const controlPlane = await startControlPlane(source, options);
    const installation = await applyLatchkey(controlPlane, report);
    await servesOwnKinds(controlPlane);
    return { controlPlane, ...installation };
  }
  const { controllerManager: _, ...withoutManager } = source;
  const controlPlane = await startControlPlane(controllerManager ? source : withoutManager, {
    ...options,
    etcdData: await preparedEtcd(source, { report }),
  });
  await servesOwnKinds(controlPlane);
  return { controlPlane, ...(await installationOf(controlPlane)) };
}

/** A cluster in which the requester of a new key or token can be verified. */
export interface InstalledLatchkey {
  /**
   * False if requester annotations are not written: on an existing cluster before 1.36, whose API
   * server cannot connect to a webhook on this machine.
   */
  hasPolicies: boolean;
  /** Whether the webhook writes them, and with them the start of the lifetime. */
  isStampedByWebhook: boolean;
  /** Stops the processes that were started for it. */
  stop: () => Promise<void>;
}

/** The configuration with which the webhook writes requester annotations before 1.36. */
const stampConfiguration = join("before-1.36", "requester-annotations.yaml");

/**
 * Starts the webhook if it writes the requester annotations, and waits until they are trusted.
 */
export async function awaitStamps(
  controlPlane: ControlPlane,
  { stampedBy }: Installation,
): Promise<InstalledLatchkey> {
  if (stampedBy === "webhook" && controlPlane.kind === "existing")
    return { hasPolicies: false, isStampedByWebhook: false, stop: async () => {} };
  const stop = await startStamping(controlPlane, { stampedBy });
  try {
    await policiesCount(controlPlane);
    return { hasPolicies: true, isStampedByWebhook: stampedBy === "webhook", stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Starts a webhook that writes the requester annotations if no policy writes them; returns a
 * function that stops it.
 */
export async function startStamping(
  controlPlane: ControlPlane,
  { stampedBy }: Installation,
): Promise<() => Promise<void>> {
  if (stampedBy === "policy") return async () => {};
  const webhook = await startWebhook({
    controlPlane,
    args: [`--certificate-names=${webhookHost}`],
  });
  const stop = async () => void (await webhook.stop());
  try {
    await webhook.waitReady();
    await stampByWebhook(controlPlane, webhook);
    return stop;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Makes the API server call the webhook for the requester annotations of keys and tokens. */
export async function stampByWebhook(
  controlPlane: ControlPlane,
  webhook: Pick<WebhookProcess, "webhookUrl">,
): Promise<void> {
  await askWebhookAtAdmission(controlPlane, webhook, { file: stampConfiguration });
}
