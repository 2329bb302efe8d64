import { join } from "node:path";
import type { ControlPlane } from "./control-plane-handle.ts";
import { applyLatchkey, type Installation, policiesCount } from "./install.ts";
import { startWebhook, type WebhookProcess } from "./latchkey-process.ts";
import { askWebhookAtAdmission, webhookHost } from "./trust.ts";

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
const stampConfiguration = join("before-1.36", "requester-stamp.yaml");

/**
 * Applies CRDs, RBAC and policies as administrator, starts the webhook if it writes the requester
 * annotations, and waits until they are trusted.
 */
export async function installLatchkey(
  controlPlane: ControlPlane,
  report: (line: string) => void = () => {},
): Promise<InstalledLatchkey> {
  const { stampedBy } = await applyLatchkey(controlPlane, report);
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
  await askWebhookAtAdmission(controlPlane, webhook, stampConfiguration);
}
