import { parseConfig } from "../../src/runtime/options.ts";
import { closeParts, problemsOf, runParts } from "../../src/runtime/run-process.ts";
import type { assembleController } from "../../src/controllers/assemble.ts";
import { controllerOptions } from "../../src/controllers/controller-options.ts";
import { assembleAgent } from "../../src/controllers/cluster-agent/assemble-agent.ts";
import type { Credentials } from "../../src/kube/credentials/credentials.ts";
import type { ProcessConnectionDeps } from "../../src/kube/process-connection.ts";
import { assembleGateway } from "../../src/gateway/run-gateway.ts";
import type { GatewayHandler } from "../../src/gateway/gateway-handler.ts";
import { assembleWebhook, type WebhookAssembly } from "../../src/webhooks/assemble.ts";
import type { Account } from "../support/account-login.ts";
import { eastOf, type View } from "../support/visible-objects.ts";
import { leaseTimes } from "./lease-times.ts";

/**
 * The role of a process of a run: reconcile the three kinds, serve reviews, renew the webhook's
 * certificates, forward requests with access keys, or make the copies of a connected cluster.
 */
export type ProgramName = "controller" | "webhook" | "certificates" | "gateway" | "agent";

/** A process of a run without its servers. */
export interface RunningProgram {
  /** Resolves when the process would exit by itself. */
  run(signal: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
  /** The number of its watches when it watches everything. */
  readonly watches: number;
  /** The routes of a webhook for kube-apiserver. */
  readonly routes: WebhookAssembly["routes"];
  /** Answers requests of users to a gateway. */
  readonly handler?: GatewayHandler;
}

/** What a fault acts on: a controller without the certificates of its issuer. */
export type AssembleController = (
  ...args: Parameters<typeof assembleController>
) => Omit<ReturnType<typeof assembleController>, "issuerCertificates" | "policies">;

/** The connections of a program, and those of an agent to its central cluster. */
interface ProgramDeps extends ProcessConnectionDeps {
  readonly central: Credentials;
}

/** How a program is started. */
export interface Program {
  readonly account: Account;
  readonly leads: boolean;
  /** What it sees of a run; all but the connected cluster by default. */
  readonly viewIn?: (view: View) => View;
  assemble(
    place: { readonly view: View; readonly identity: string },
    deps: ProgramDeps,
  ): RunningProgram;
}

/** The programs of a run; `assemble` replaces Latchkey's own controller. */
export function programsWith(assemble: AssembleController): Readonly<Record<ProgramName, Program>> {
  const webhookOf = (namespace: string, deps: ProcessConnectionDeps): WebhookAssembly =>
    assembleWebhook({ ...webhookSettings, namespace }, { ...deps, proxyOf: () => undefined });
  return {
    controller: {
      account: "latchkey-controller",
      leads: true,
      assemble({ view: { system: namespace }, identity }, deps) {
        const assembly = assemble({ ...controllerSettings, namespace, identity }, deps);
        // Nothing is listed yet, so each kind reports a reason, or a warning if it is optional.
        const { informers } = assembly;
        const watches = informers.staleReasons().length + informers.warnings().length;
        return {
          run: (signal) => assembly.run(signal),
          close: () => assembly.close(),
          watches,
          routes: [],
        };
      },
    },
    webhook: {
      account: "latchkey-webhook",
      leads: false,
      assemble({ view: { system: namespace } }, deps) {
        const webhook = webhookOf(namespace, deps);
        const watches = problemsOf(webhook.parts).length;
        return {
          run: (signal) => runParts(webhook.parts, signal),
          close: () => closeParts(webhook.parts),
          watches,
          routes: webhook.routes,
        };
      },
    },
    certificates: {
      account: "latchkey-webhook",
      leads: false,
      assemble({ view: { system: namespace } }, deps) {
        const webhook = webhookOf(namespace, deps);
        // Its Secret and two webhook configurations.
        return {
          run: (signal) => webhook.certificates.run(signal, () => {}),
          close: () => closeParts(webhook.parts),
          watches: 3,
          routes: [],
        };
      },
    },
    gateway: {
      account: "latchkey-gateway",
      leads: false,
      assemble({ view: { system: namespace } }, deps) {
        const gateway = assembleGateway(
          { ...gatewaySettings, namespace },
          { ...deps, proxyOf: () => undefined },
        );
        // One problem is the right to impersonate; but the Secrets of connected clusters and the
        // ConfigMap that lists them are none.
        const watches = problemsOf(gateway.parts).length + 1;
        return {
          run: (signal) => runParts(gateway.parts, signal),
          close: () => closeParts(gateway.parts),
          watches,
          routes: [],
          handler: gateway.handler,
        };
      },
    },
    agent: {
      account: "latchkey-cluster-agent",
      leads: true,
      viewIn: eastOf,
      assemble({ view: { system: namespace, prefix }, identity }, deps) {
        const clusterName = prefix.slice(0, -1);
        const agent = assembleAgent(
          { ...agentSettings, namespace, identity, clusterName },
          { ...deps, centralLog: deps.log },
        );
        // One problem is that it waits; but its resource quotas are none.
        const watches = problemsOf([agent]).length;
        return {
          run: (signal) => Promise.race([agent.lead(signal), runParts([agent], signal)]),
          close: () => closeParts([agent]),
          watches,
          routes: [],
        };
      },
    },
  };
}

const prefixes = { user: "", team: "" };

/** The settings of a controller of a run: the defaults, but for these. */
export const controllerSettings = {
  ...parseConfig(controllerOptions, { flags: new Map(), env: {} }),
  prefixes,
  // Small, so that a scenario fills an outbox.
  maximumOutboxBytes: 400,
  writers: 16,
  maximumBodyBytesInFlight: 16 * 1024 * 1024,
  lease: leaseTimes,
};

const agentSettings = {
  requireSyncFrom: false,
  copyKeys: [],
  workers: 16,
  writers: 16,
  maximumBodyBytesInFlight: 16 * 1024 * 1024,
  deleteAfterDisconnect: undefined,
  lease: leaseTimes,
};

const webhookSettings = {
  prefixes,
  maximumKeyTtl: 0,
  quotaKeys: 1_000,
  quotaExempt: [],
  serviceName: "latchkey-webhook",
  certificateNames: [],
  admissionPath: undefined,
  requireAdmissionClientCertificate: false,
};

const gatewaySettings = {
  prefixes,
  maximumKeyTtl: 0,
  serviceName: "latchkey-gateway",
  externalNames: [],
  externalUrl: undefined,
};
