import type { TestProject } from "vitest/node";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { asData, startControlPlane } from "../support/control-plane.ts";
import { gatewayCa } from "../support/gateway-address.ts";
import { applyGateway, applyLatchkey, policiesCount } from "../support/install.ts";
import { stampByWebhook } from "../support/install-latchkey.ts";
import { startController, startGateway, startWebhook } from "../support/latchkey-process.ts";
import { bundleInto, hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { askWebhookAtAdmission, trustWebhook, webhookHost } from "../support/trust.ts";

/** The data with which tests access the webhook of the run. */
export interface WebhookHandle {
  /** The URL for kube-apiserver. */
  webhookUrl: string;
  /** The URL of its metrics. */
  url: string;
  log: string;
  auditLog: string;
}

declare module "vitest" {
  interface ProvidedContext {
    /** The webhook that kube-apiserver calls; undefined if no API server can be started for it. */
    webhook: WebhookHandle | undefined;
  }
}

/** Low enough to be reached in a test; other tests use exempt users. */
export const quota = { keys: 40, exempt: "admin,alice,bob" } as const;

const stops: (() => Promise<unknown>)[] = [];

/**
 * Starts a dedicated control plane whose kube-apiserver calls a webhook, and a controller, until
 * the tests are done.
 */
export async function setup(project: TestProject): Promise<void> {
  const report = (line: string) => void process.stderr.write(`control plane: ${line}\n`);
  project.provide("webhook", undefined);
  project.provide("gateway", undefined);
  if (!hasDedicatedClusters)
    return report("the tests of the webhook are skipped: they start an API server that asks it");
  try {
    const started = await startControlPlane(await findOrBuildControlPlane(report));
    stops.unshift(() => started.stop());
    const controlPlane = asData(started);
    const { stampedBy } = await applyLatchkey(controlPlane, report);
    const program = bundleInto(controlPlane.directory);
    const controller = await startController({ controlPlane, program });
    stops.unshift(() => controller.stop());
    const webhook = await startWebhook({
      controlPlane,
      program,
      args: [
        `--certificate-names=${webhookHost}`,
        `--quota-keys=${quota.keys}`,
        `--quota-exempt=${quota.exempt}`,
      ],
    });
    stops.unshift(() => webhook.stop());
    await webhook.waitReady();
    await trustWebhook(started, webhook, program);
    await askWebhookAtAdmission(started, webhook);
    if (stampedBy === "webhook") await stampByWebhook(started, webhook);
    await applyGateway(controlPlane);
    const gateway = await startGateway({
      controlPlane,
      program,
      args: ["--external-names=localhost,127.0.0.1"],
    });
    stops.unshift(() => gateway.stop());
    await gateway.waitReady();
    await policiesCount(controlPlane);
    await controller.waitReady();
    const { webhookUrl, url, log } = webhook;
    project.provide("controlPlane", controlPlane);
    project.provide("gateway", {
      urls: [gateway.gatewayUrl],
      metricsUrls: [gateway.url],
      ca: await gatewayCa(controlPlane),
      logs: [gateway.log],
    });
    project.provide("webhook", { webhookUrl, url, log, auditLog: controlPlane.auditLogPath ?? "" });
  } catch (error) {
    await teardown();
    throw error;
  }
}

/** Stops the processes, then their control plane. */
export async function teardown(): Promise<void> {
  for (const stop of stops.splice(0)) await stop();
}
