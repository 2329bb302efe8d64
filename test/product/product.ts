import { bundle } from "../support/bundle.ts";
import type { Report } from "../support/binaries.ts";
import type { StartedControlPlane } from "../support/control-plane.ts";
import { externalUrl } from "../support/gateway-address.ts";
import { applyGatewayRbac, type Installation, policiesCount } from "../support/install.ts";
import {
  type PreparedOptions,
  stampByWebhook,
  startPrepared,
} from "../support/install-latchkey.ts";
import {
  type ControllerProcess,
  type GatewayProcess,
  type LatchkeyOptions,
  startController,
  startGateway,
  startWebhook,
  type WebhookProcess,
} from "../support/latchkey-process.ts";
import { admitted, askWebhookAtAdmission, webhookHost } from "../support/trust.ts";

/** The arguments of the gateways of tests: replicas that publish the same list of clusters. */
export const gatewayArgs = [
  "--log-level=debug",
  "--external-names=localhost,127.0.0.1",
  `--external-url=${externalUrl}`,
];

/** The arguments of the processes of a product; a gateway for each entry of `gateways`. */
export interface ProductOptions {
  readonly controlPlane?: PreparedOptions;
  readonly controller?: readonly string[];
  readonly webhook?: readonly string[];
  readonly gateways?: readonly (readonly string[])[];
  /** What else starts once kube-apiserver calls the webhook, while the policies become old enough. */
  readonly meanwhile?: (started: Pick<Product, "controlPlane" | "webhook">) => Promise<unknown>;
}

/** A control plane with every process of Latchkey. */
export interface Product extends Installation {
  readonly controlPlane: StartedControlPlane;
  /** Path of the bundle that the processes run. */
  readonly program: string;
  readonly controller: ControllerProcess;
  /** The webhook that kube-apiserver calls at admission. */
  readonly webhook: WebhookProcess;
  readonly gateways: readonly GatewayProcess[];
  /** Stops the processes, then the control plane. */
  stop(): Promise<void>;
}

/**
 * Starts a controller, a webhook that kube-apiserver calls at admission, and gateways. kube-apiserver
 * has no flag of Latchkey, as where you cannot set any.
 */
export async function startProduct(
  report: Report,
  {
    controlPlane: options,
    controller: args = [],
    webhook: more = [],
    gateways: all = [],
    meanwhile,
  }: ProductOptions,
): Promise<Product> {
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const each of stops.splice(0).toReversed()) await each();
  };
  try {
    const [{ controlPlane, stampedBy }, program] = await Promise.all([
      startPrepared(report, options),
      bundle(report),
    ]);
    stops.push(() => controlPlane.stop());
    const started = <T extends { stop(): Promise<unknown> }>(process: T): T => {
      stops.push(() => process.stop());
      return process;
    };
    const common: Pick<LatchkeyOptions, "controlPlane" | "program"> = { controlPlane, program };
    const controller = started(await startController({ ...common, args }));
    const webhook = started(
      await startWebhook({ ...common, args: [`--certificate-names=${webhookHost}`, ...more] }),
    );
    await webhook.waitReady();
    await askWebhookAtAdmission(controlPlane, webhook, { objectSelector: admitted });
    if (stampedBy === "webhook") await stampByWebhook(controlPlane, webhook);
    const gateways: GatewayProcess[] = [];
    const startGateways = async () => {
      if (all.length > 0) await applyGatewayRbac(controlPlane);
      for (const own of all) gateways.push(started(await startGateway({ ...common, args: own })));
      await Promise.all(gateways.map((gateway) => gateway.waitReady()));
    };
    await Promise.all([
      ...[startGateways(), policiesCount(controlPlane), controller.waitReady()],
      meanwhile?.({ controlPlane, webhook }),
    ]);
    return { controlPlane, stampedBy, program, controller, webhook, gateways, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
