import type { TestProject } from "vitest/node";
import { clientBundle } from "../support/bundle.ts";
import { type CliForm, plugin } from "../support/cli-form.ts";
import { compiledClient } from "../support/compiled-client.ts";
import type { ControlPlane } from "../support/control-plane-handle.ts";
import { asData, type StartedControlPlane } from "../support/control-plane.ts";
import { hasDedicatedClusters } from "../support/dedicated-cluster.ts";
import { startFakeKubelet } from "../support/fake-kubelet.ts";
import { gatewayCa } from "../support/gateway-address.ts";
import { awaitStamps, startPrepared } from "../support/install-latchkey.ts";
import { type ControllerProcess, startController } from "../support/latchkey-process.ts";
import { isMissing, type Missing, orMissing } from "../support/prepared.ts";
import { gatewayArgs, type Product, startProduct } from "./product.ts";
import { enforcesOwnerReferences } from "../support/program-flags.ts";
import { endsWith, startOthers } from "../support/setups.ts";
import { servesOwnKinds, trustFiles } from "../support/trust.ts";

/** The data with which tests access the controller of the run. */
export interface ControllerHandle {
  /** The URL of its HTTP server. */
  url: string;
  /** The URL of its issuer. */
  issuerUrl: string;
  /** Its kubeconfig, for the shipped service account. */
  kubeconfig: string;
  /** Path of its log, JSON lines. */
  log: string;
  /** Path of the audit log of its API server; undefined on an existing cluster. */
  auditLog?: string;
}

/** The data with which tests access the webhook of the run. */
export interface WebhookHandle {
  /** The URL for kube-apiserver. */
  webhookUrl: string;
  /** The URL of its metrics. */
  url: string;
  log: string;
  auditLog: string;
}

/** How tests reach the gateways of the run. */
export interface GatewayHandle {
  /** Two replicas. */
  urls: readonly string[];
  /** Metrics of each. */
  metricsUrls: readonly string[];
  /** The CA of their certificates, in PEM. */
  ca: string;
  logs: readonly string[];
}

/** The client of the run, and what it talks to. */
export interface CliHandle extends CliForm {
  /** Whether it is the compiled program and not the bundle. */
  isProgram: boolean;
  /** The bundle of the servers. */
  latchkey: string;
  gatewayUrl: string;
  /** The CA of the gateway's certificates, in PEM. */
  gatewayCa: string;
}

declare module "vitest" {
  interface ProvidedContext {
    /** The controller of the run. */
    controller: ControllerHandle;
    /** The webhook that kube-apiserver calls; undefined if no API server can be started for it. */
    webhook: WebhookHandle | undefined;
    /** The gateways; undefined where no control plane can be started for them. */
    gateway: GatewayHandle | undefined;
    /** The port of the fake kubelet behind the gateway, whose nodes tests create; or why not. */
    kubelet: number | Missing;
    /** The client of the run; undefined where no API server, or no compiler, runs for it. */
    cli: CliHandle | undefined;
  }
}

/** Low enough to be reached in a test; other tests use exempt users. */
export const tokenQuota = { most: 20, exempt: "admin,alice,bob" } as const;

/** Low enough to be reached in a test; other tests use exempt users. */
export const quota = { keys: 40, exempt: "admin,alice,bob" } as const;

const controllerArgs = [`--quota-tokens=${tokenQuota.most}`, `--quota-exempt=${tokenQuota.exempt}`];
/** What runs, as the projects of vitest see it. */
interface Running {
  readonly controller: ControllerProcess;
  /** The API server without flags of Latchkey, to which its processes connect. */
  readonly controlPlane: StartedControlPlane;
  readonly stamps: { readonly hasPolicies: boolean; readonly isStampedByWebhook: boolean };
  readonly whole?: {
    readonly product: Product;
    readonly gateway: GatewayHandle;
    readonly kubelet: number | Missing;
    /** The API server that asks the webhook about keys. */
    readonly authenticating: ControlPlane;
  };
  readonly stop: () => Promise<void>;
}

const report = (line: string) => void process.stderr.write(`control plane: ${line}\n`);

async function startWhole(): Promise<Running> {
  const found = await orMissing(startFakeKubelet(report));
  const kubelet = isMissing(found) ? undefined : found;
  const stops = [async () => kubelet?.stop()];
  const stop = async () => {
    for (const each of stops.splice(0).toReversed()) await each();
  };
  try {
    let authenticating: ControlPlane | undefined;
    const product = await startProduct(report, {
      controlPlane: { extraApiServerFlags: kubelet?.apiServerFlags ?? [] },
      controller: controllerArgs,
      webhook: [`--quota-keys=${quota.keys}`, `--quota-exempt=${quota.exempt}`],
      gateways: [gatewayArgs, gatewayArgs],
      meanwhile: async ({ controlPlane, webhook }) => {
        const { signal: _, ...server } = await controlPlane.addApiServer([
          ...(await trustFiles(controlPlane, webhook)),
          enforcesOwnerReferences,
        ]);
        await servesOwnKinds(server);
        authenticating = server;
      },
    });
    stops.push(() => product.stop());
    if (authenticating === undefined) throw new Error("the second API server did not start");
    const { controlPlane, controller, gateways } = product;
    const gateway = {
      urls: gateways.map(({ gatewayUrl }) => gatewayUrl),
      metricsUrls: gateways.map(({ url }) => url),
      ca: await gatewayCa(controlPlane),
      logs: gateways.map(({ log }) => log),
    };
    const stamps = { hasPolicies: true, isStampedByWebhook: product.stampedBy === "webhook" };
    const whole = {
      product,
      gateway,
      authenticating,
      kubelet: isMissing(found) ? found : found.port,
    };
    return { controller, controlPlane, stamps, whole, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The controller alone, where no API server can be started for the other processes. */
async function startControllerAlone(): Promise<Running> {
  report("tests of webhook, gateway and client are skipped: they start API servers of their own");
  const { controlPlane, stampedBy } = await startPrepared(report);
  const stamps = await awaitStamps(controlPlane, { stampedBy });
  const controller = await startController({ controlPlane, args: controllerArgs });
  await controller.waitReady();
  const stop = async () => {
    await controller.stop();
    await stamps.stop();
    await controlPlane.stop();
  };
  return { controller, controlPlane, stamps, stop };
}

/** The vitest projects that use the product share it; the last one to end stops it. */
interface Shared {
  users: number;
  readonly running: Promise<Running>;
}

declare global {
  var latchkeyProduct: Shared | undefined;
}

function share(): Shared {
  const begin = hasDedicatedClusters ? startWhole : startControllerAlone;
  return (globalThis.latchkeyProduct ??= { users: 0, running: begin() });
}

/** Starts the product unless another project has. */
export function start(): Promise<unknown> {
  return share().running;
}

/** Says how the tests of a project reach the product; returns what stops it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  startOthers(import.meta.filename);
  project.provide("webhook", undefined);
  project.provide("gateway", undefined);
  project.provide("cli", undefined);
  project.provide("kubelet", { missing: "no gateway runs beside an existing cluster" });
  const shared = share();
  shared.users += 1;
  const { controller, controlPlane, stamps, whole, stop } = await shared.running;
  const end = endsWith(project.name, async () => {
    shared.users -= 1;
    if (shared.users === 0) await stop();
  });
  const server = project.name === "product" ? undefined : whole?.authenticating;
  const { url, issuerUrl, kubeconfig, log } = controller;
  const { auditLogPath: auditLog } = controlPlane;
  const handle = { url, issuerUrl, kubeconfig, log };
  project.provide("controlPlane", server ?? asData(controlPlane));
  project.provide("hasPolicies", stamps.hasPolicies);
  project.provide("isStampedByWebhook", stamps.isStampedByWebhook);
  project.provide("controller", auditLog === undefined ? handle : { ...handle, auditLog });
  if (whole === undefined) return end;
  const { product, gateway, kubelet, authenticating } = whole;
  const { webhook } = product;
  project.provide("gateway", gateway);
  project.provide("kubelet", kubelet);
  project.provide("webhook", {
    webhookUrl: webhook.webhookUrl,
    url: webhook.url,
    log: webhook.log,
    auditLog: auditLog ?? "",
  });
  const compiled =
    project.name === "verify-program" ? await orMissing(compiledClient(report)) : undefined;
  if (isMissing(compiled)) report(`the bundle runs for the compiled client: ${compiled.missing}`);
  const isProgram = compiled !== undefined && !isMissing(compiled);
  const words = isProgram ? [compiled] : [process.execPath, await clientBundle(report)];
  const form = plugin(words, authenticating.directory);
  project.provide("cli", {
    ...form,
    isProgram,
    latchkey: product.program,
    gatewayUrl: gateway.urls[0] ?? "",
    gatewayCa: gateway.ca,
  });
  return end;
}
