import { join } from "node:path";
import type { ControlPlane } from "./control-plane-handle.ts";
import { applyLatchkey, policiesCount } from "./install.ts";
import { startWebhook, type WebhookProcess } from "./latchkey-process.ts";
import { askWebhookAtAdmission, webhookHost } from "./trust.ts";

/** A cluster in which the requester of a new key or token is certain. */
export interface InstalledLatchkey {
  /**
   * False where nothing stamps: on an existing cluster before 1.36, whose API server does not reach
   * a webhook of this machine.
   */
  hasPolicies: boolean;
  /** Stops what was started for it. */
  stop: () => Promise<void>;
}

/** The file of the configuration by which the webhook stamps on servers before 1.36. */
const stampConfiguration = join("before-1.36", "requester-stamp.yaml");

/**
 * Applies CRDs, RBAC and policies as administrator, starts what stamps, and waits until stamps
 * count.
 */
export async function installLatchkey(
  controlPlane: ControlPlane,
  report: (line: string) => void = () => {},
): Promise<InstalledLatchkey> {
  const { stampedBy } = await applyLatchkey(controlPlane, report);
  if (stampedBy === "webhook" && controlPlane.kind === "existing")
    return { hasPolicies: false, stop: async () => {} };
  const webhook =
    stampedBy === "webhook"
      ? await startWebhook({ controlPlane, args: [`--certificate-names=${webhookHost}`] })
      : undefined;
  const stop = async () => void (await webhook?.stop());
  try {
    await webhook?.waitReady();
    if (webhook !== undefined) await stampByWebhook(controlPlane, webhook);
    await policiesCount(controlPlane);
    return { hasPolicies: true, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Has the API server ask the webhook who asks for a key or token. */
export async function stampByWebhook(
  controlPlane: ControlPlane,
  webhook: Pick<WebhookProcess, "webhookUrl">,
): Promise<void> {
  await askWebhookAtAdmission(controlPlane, webhook, stampConfiguration);
}
