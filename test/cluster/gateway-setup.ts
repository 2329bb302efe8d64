import type { TestProject } from "vitest/node";
import { bundleInto, hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import { asData, startControlPlane } from "../support/control-plane.ts";
import { startFakeKubelet } from "../support/fake-kubelet.ts";
import { externalUrl, gatewayCa } from "../support/gateway-address.ts";
import { applyGateway, applyLatchkey, policiesCount } from "../support/install.ts";
import { stampByWebhook } from "../support/install-latchkey.ts";
import { startController, startGateway, startWebhook } from "../support/latchkey-process.ts";
import { askWebhookAtAdmission, webhookHost } from "../support/trust.ts";

/** How tests reach the gateways of the run: plain data. */
export interface GatewayHandle {
  /** Two replicas. */
  urls: readonly string[];
  /** Metrics of each. */
  metricsUrls: readonly string[];
  /** The CA of their certificates, in PEM. */
  ca: string;
  logs: readonly string[];
  /** The port of the fake kubelet, if there is one; tests create its nodes. */
  kubeletPort?: number;
}

declare module "vitest" {
  interface ProvidedContext {
    /** The gateways; undefined where no control plane can be started for them. */
    gateway: GatewayHandle | undefined;
  }
}

const stops: (() => Promise<unknown>)[] = [];

/**
 * Starts a control plane whose kube-apiserver has no flag of Latchkey, as where you cannot set any;
 * it asks the webhook at admission alone. Two gateways serve it until the tests are over.
 */
export async function setup(project: TestProject): Promise<void> {
  const report = (line: string) => void process.stderr.write(`control plane: ${line}\n`);
  project.provide("gateway", undefined);
  if (!hasDedicatedClusters)
    return report("the tests of the gateway are skipped: they start an API server of their own");
  try {
    const kubelet = await startFakeKubelet(report);
    stops.unshift(() => kubelet.stop());
    const started = await startControlPlane(await findOrBuildControlPlane(report), {
      extraApiServerFlags: kubelet.apiServerFlags,
    });
    stops.unshift(() => started.stop());
    const controlPlane = asData(started);
    const { stampedBy } = await applyLatchkey(controlPlane, report);
    await applyGateway(controlPlane);
    const program = bundleInto(controlPlane.directory);
    const controller = await startController({ controlPlane, program });
    stops.unshift(() => controller.stop());
    const webhook = await startWebhook({
      controlPlane,
      program,
      args: [`--certificate-names=${webhookHost}`],
    });
    stops.unshift(() => webhook.stop());
    await webhook.waitReady();
    await askWebhookAtAdmission(started, webhook);
    if (stampedBy === "webhook") await stampByWebhook(started, webhook);
    const gateways = [];
    for (const _ of [1, 2]) {
      const gateway = await startGateway({
        controlPlane,
        program,
        args: [
          "--log-level=debug",
          "--external-names=localhost,127.0.0.1",
          `--external-url=${externalUrl}`,
        ],
      });
      stops.unshift(() => gateway.stop());
      await gateway.waitReady();
      gateways.push(gateway);
    }
    await policiesCount(controlPlane);
    await controller.waitReady();
    project.provide("controlPlane", controlPlane);
    project.provide("gateway", {
      urls: gateways.map(({ gatewayUrl }) => gatewayUrl),
      metricsUrls: gateways.map(({ url }) => url),
      ca: await gatewayCa(controlPlane),
      logs: gateways.map(({ log }) => log),
      kubeletPort: kubelet.port,
    });
  } catch (error) {
    await teardown();
    throw error;
  }
}

/** Stops the processes, then their control plane. */
export async function teardown(): Promise<void> {
  for (const stop of stops.splice(0)) await stop();
}
