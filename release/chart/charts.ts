import { clusterAgentOptions } from "../../src/controllers/cluster-agent-options.ts";
import { controllerOptions } from "../../src/controllers/controller-options.ts";
import { directEndpointOptions } from "../../src/gateway/direct-endpoint-options.ts";
import { gatewayOptions } from "../../src/gateway/gateway-options.ts";
import type { OptionTable } from "../../src/runtime/options.ts";
import { webhookOptions } from "../../src/webhooks/webhook-options.ts";
import { type Chart, handWritten, type Source } from "./chart.ts";
import { type Kustomize, nameOf } from "./kustomize.ts";
import {
  dashboardValue,
  monitoringParts,
  monitoringSubstitutions,
  monitoringValues,
  oneMonitor,
} from "./monitoring.ts";
import { type Process, processValues } from "./process-values.ts";
import {
  addressesOf,
  bindings,
  commonValues,
  connectedRequirements,
  managementRequirements,
  managementValues,
  rulesOf,
  switchOf,
} from "./shared-values.ts";
import type { Manifest } from "./template.ts";

const since136 = 'include "latchkey.since136" .';
const namespace = { "latchkey-system": ".Release.Namespace" };

/** Options of the webhook without those that only the authorizer of a connected cluster reads. */
const managementWebhookOptions: OptionTable = Object.fromEntries(
  Object.entries(webhookOptions).filter(([, { help }]) => !help.startsWith("with --direct")),
);

const controller: Process = {
  key: "controller",
  name: "latchkey-controller",
  options: controllerOptions,
  server: { address: "issuer-address", clients: "the issuer's public keys", service: "latchkey" },
};
const webhook: Process = {
  key: "webhook",
  name: "latchkey-webhook",
  options: managementWebhookOptions,
  server: { address: "webhook-address", clients: "kube-apiserver" },
};
const gateway: Process = {
  key: "gateway",
  name: "latchkey-gateway",
  options: gatewayOptions,
  server: {
    address: "gateway-address",
    clients: "clients with access keys",
    service: "latchkey-gateway",
  },
};
const directEndpoint: Process = {
  key: "directEndpoint",
  name: "latchkey-direct-endpoint",
  options: directEndpointOptions,
  server: {
    address: "endpoint-address",
    clients: "clients with direct tokens",
    service: "latchkey-direct-endpoint",
  },
};
const directAuthorizer: Process = {
  key: "directAuthorizer",
  name: "latchkey-direct-authorizer",
  options: webhookOptions,
  server: { address: "webhook-address", clients: "kube-apiserver" },
};

const clusterAgent: Process = {
  key: "clusterAgent",
  name: "latchkey-cluster-agent",
  options: clusterAgentOptions,
};

/** The charts of Latchkey, from the objects of config/. */
export function chartsOf(kustomize: Kustomize): readonly Chart[] {
  // Helm creates the namespace of a release.
  const installed: Kustomize = (...what) =>
    kustomize(...what).filter((manifest) => nameOf(manifest) !== "Namespace latchkey-system");
  return [managementChart(installed), connectedChart(installed)];
}

/** The central cluster: CRDs, RBAC, policies, controller and webhook, and the gateway. */
function managementChart(kustomize: Kustomize): Chart {
  const certManager = ["webhook-without-configuration"];
  const plain = sinceVersion(kustomize("default"), kustomize("before-1.36"));
  const issued = sinceVersion(
    kustomize("default", certManager),
    kustomize("before-1.36", certManager),
  );
  const gatewayObjects = kustomize("gateway");
  const processes = [controller, webhook, gateway];
  return {
    name: "latchkey",
    description: "Latchkey: shared secrets, access keys and tokens with an owner and a scope",
    parts: [
      {
        directory: "latchkey",
        source: { when: ".Values.webhook.certManager.enabled", yes: issued, no: plain },
      },
      {
        directory: "gateway",
        source: sinceVersion(gatewayObjects, kustomize("gateway-before-1.36")),
        when: ".Values.gateway.enabled",
      },
      ...monitoringParts(kustomize, "all"),
    ],
    templates: {
      "_helpers.tpl": handWritten("helpers.tpl"),
      "requesters.yaml": bindings,
      "issuers.yaml": handWritten("issuers.tpl"),
      "NOTES.txt": handWritten("notes-latchkey.txt"),
    },
    values: [
      ...commonValues(processes),
      addressesOf("apiServerAddresses", "kube-apiserver", "latchkey-webhook-api-servers"),
      addressesOf("clientAddresses", "clients of the gateway", "latchkey-gateway-clients"),
      ...managementValues,
      ...monitoringValues,
      dashboardValue,
      ...processValues(controller, deploymentOf(kustomize("default"), controller)),
      ...processValues(webhook, deploymentOf(kustomize("default"), webhook)),
      switchOf(
        "gateway.enabled",
        "Install the gateway, for clusters whose kube-apiserver flags you cannot set",
      ),
      ...processValues(gateway, deploymentOf(gatewayObjects, gateway)),
    ],
    substitutions: {
      ...namespace,
      ...monitoringSubstitutions,
      "replace-me-with-openssl-rand-hex-20": ".Values.webhook.admissionPath",
    },
    requirements: [...managementRequirements, oneMonitor],
    ...rulesOf(processes),
  };
}

/** What a connected cluster gets: the policies, up to three ways in, and the agent. */
function connectedChart(kustomize: Kustomize): Chart {
  const policies = kustomize("connected-policies");
  const others = (folder: string): readonly Manifest[] =>
    kustomize(folder).filter((found) => !policies.some((one) => nameOf(one) === nameOf(found)));
  const versions = (folder: string): Source =>
    sinceVersion(others(folder), others(`${folder}-before-1.36`));
  const endpoint = others("direct-endpoint");
  const authorizer = others("direct-authorizer");
  const agent = others("cluster-agent");
  const processes = [directEndpoint, directAuthorizer, clusterAgent];
  return {
    name: "latchkey-connected",
    description:
      "What a cluster needs that Latchkey's SharedSecrets, access keys or direct tokens reach",
    parts: [
      { directory: "policies", source: policies },
      {
        directory: "gateway",
        source: versions("connected-cluster"),
        when: ".Values.gateway.enabled",
      },
      {
        directory: "direct-endpoint",
        source: versions("direct-endpoint"),
        when: ".Values.directEndpoint.enabled",
      },
      {
        directory: "direct-authorizer",
        source: authorizer,
        when: ".Values.directAuthorizer.enabled",
      },
      { directory: "cluster-agent", source: agent, when: ".Values.clusterAgent.enabled" },
      ...monitoringParts(kustomize, "connected"),
    ],
    templates: {
      "_helpers.tpl": handWritten("helpers.tpl"),
      "NOTES.txt": handWritten("notes-connected.txt"),
    },
    values: [
      ...commonValues(processes),
      addressesOf("apiServerAddresses", "kube-apiserver", "latchkey-direct-authorizer-api-servers"),
      addressesOf(
        "clientAddresses",
        "clients of the direct endpoint",
        "latchkey-direct-endpoint-clients",
      ),
      ...monitoringValues,
      switchOf(
        "gateway.enabled",
        "Create the account with which the gateway of the central cluster acts here",
      ),
      switchOf(
        "directEndpoint.enabled",
        "Install the direct endpoint, for clusters whose kube-apiserver flags you cannot set",
      ),
      ...processValues(directEndpoint, deploymentOf(endpoint, directEndpoint)),
      switchOf(
        "directAuthorizer.enabled",
        "Install the authorizer of direct tokens, which kube-apiserver asks",
      ),
      ...processValues(directAuthorizer, deploymentOf(authorizer, directAuthorizer)),
      switchOf(
        "clusterAgent.enabled",
        "Install the agent that makes copies of SharedSecrets here; `kubectl latchkey cluster connect` prints the Secret that it needs",
      ),
      ...processValues(clusterAgent, deploymentOf(agent, clusterAgent)),
    ],
    substitutions: { ...namespace, ...monitoringSubstitutions },
    requirements: [...connectedRequirements, oneMonitor],
    ...rulesOf(processes),
  };
}

function sinceVersion(yes: readonly Manifest[], no: readonly Manifest[]): Source {
  return { when: since136, yes, no };
}

function deploymentOf(manifests: readonly Manifest[], { name }: Process): Manifest {
  const found = manifests.find((manifest) => nameOf(manifest) === `Deployment ${name}`);
  if (found === undefined) throw new Error(`config/ has no Deployment ${name}`);
  return found;
}
