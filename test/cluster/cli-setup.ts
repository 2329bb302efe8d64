import type { TestProject } from "vitest/node";
import { findOrBuildControlPlane } from "../support/binaries.ts";
import {
  type CliForm,
  cliBundleInto,
  cliProgramInto,
  compilerRuns,
} from "../support/cli-bundle.ts";
import { asData, startControlPlane } from "../support/control-plane.ts";
import { bundleInto, hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { externalUrl, gatewayCa } from "../support/gateway-address.ts";
import { applyGateway, applyLatchkey, policiesCount } from "../support/install.ts";
import { stampByWebhook } from "../support/install-latchkey.ts";
import { startController, startGateway, startWebhook } from "../support/latchkey-process.ts";
import { askWebhookAtAdmission, trustWebhook, webhookHost } from "../support/trust.ts";

/** The client of the run, and what it talks to. */
export interface CliHandle extends CliForm {
  /** Whether it is the compiled program, as in the project `program`, and not the bundle. */
  isProgram: boolean;
  /** The bundle of the servers. */
  latchkey: string;
  gatewayUrl: string;
  /** The CA of the gateway's certificates, in PEM. */
  gatewayCa: string;
}

declare module "vitest" {
  interface ProvidedContext {
    /** The client of the run; undefined where no API server, or no compiler, runs for it. */
    cli: CliHandle | undefined;
  }
}

const stops: (() => Promise<unknown>)[] = [];

/**
 * Starts a dedicated control plane with a controller, a webhook that kube-apiserver calls, and a
 * gateway, and builds the client.
 */
export async function setup(project: TestProject): Promise<void> {
  const report = (line: string) => void process.stderr.write(`control plane: ${line}\n`);
  project.provide("cli", undefined);
  if (!hasDedicatedClusters)
    return report("the tests of the client are skipped: they start an API server of their own");
  const isProgram = project.name === "program";
  if (isProgram && !compilerRuns(report)) return;
  try {
    const started = await startControlPlane(await findOrBuildControlPlane(report));
    stops.unshift(() => started.stop());
    const controlPlane = asData(started);
    const { stampedBy } = await applyLatchkey(controlPlane, report);
    const program = bundleInto(controlPlane.directory);
    const bundle = cliBundleInto(controlPlane.directory);
    const controller = await startController({ controlPlane, program });
    stops.unshift(() => controller.stop());
    const webhook = await startWebhook({
      controlPlane,
      program,
      args: [`--certificate-names=${webhookHost}`],
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
      args: ["--external-names=localhost,127.0.0.1", `--external-url=${externalUrl}`],
    });
    stops.unshift(() => gateway.stop());
    await gateway.waitReady();
    await policiesCount(controlPlane);
    await controller.waitReady();
    project.provide("controlPlane", controlPlane);
    project.provide("cli", {
      ...(isProgram ? cliProgramInto(controlPlane.directory) : bundle),
      isProgram,
      latchkey: program,
      gatewayUrl: gateway.gatewayUrl,
      gatewayCa: await gatewayCa(controlPlane),
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
