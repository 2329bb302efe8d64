import { certificateSecrets } from "../../api/names.ts";
import { recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import type { WebhookAccess } from "../../domain/webhook/trust-config.ts";
import type { Client } from "../../kube/client/client.ts";
import { UsageError } from "../../runtime/config-values.ts";
import {
  clientDataOf,
  parseServerCertificates,
  type ServerCertificates,
  ServerCertificatesError,
} from "../../tokens/server-certificates.ts";
import { webhookServices } from "../../webhooks/webhook-options.ts";
import { notFound } from "../failure.ts";
import type { TrustConfigOptions } from "./trust-config-options.ts";

/** What kube-apiserver calls: the webhook of its own cluster, or `latchkey webhook --direct`. */
type CalledWebhook = keyof typeof webhookServices;

const called = {
  webhook: { secret: certificateSecrets.webhook.name, command: "latchkey webhook" },
  direct: { secret: certificateSecrets.authorizer.name, command: "latchkey webhook --direct" },
} as const;

/**
 * Reads how kube-apiserver reaches the webhook and authenticates to it; throws a UsageError with
 * what to do if the webhook is not installed or has not started.
 */
export async function webhookAccess(
  options: TrustConfigOptions,
  webhook: CalledWebhook,
  client: Pick<Client, "get">,
): Promise<WebhookAccess> {
  const { namespace, serviceName = webhookServices[webhook] } = options;
  const url = options.webhookUrl ?? (await serviceUrl({ namespace, name: serviceName }, client));
  const certificates = await certificatesOf(namespace, webhook, client);
  return {
    url: url.replace(/\/$/, ""),
    serverName: `${serviceName}.${namespace}.svc`,
    ...clientDataOf(certificates),
  };
}

async function certificatesOf(
  namespace: string,
  webhook: CalledWebhook,
  client: Pick<Client, "get">,
): Promise<ServerCertificates> {
  const { secret: name, command } = called[webhook];
  const raw = await client
    .get(resources.secrets, { namespace, name })
    .catch(
      notFound(
        `Secret "${namespace}/${name}" does not exist; ` +
          `start ${command}, which creates it, or set the namespace of Latchkey`,
      ),
    );
  try {
    return parseServerCertificates(raw, name);
  } catch (error) {
    throw error instanceof ServerCertificatesError ? new UsageError(error.message) : error;
  }
}

async function serviceUrl(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  client: Pick<Client, "get">,
): Promise<string> {
  const service = await client
    .get(resources.services, { namespace, name })
    .catch(
      notFound(
        `Service "${namespace}/${name}" does not exist; ` +
          "install the webhook, or set --service-name, --latchkey-namespace or --webhook-url",
      ),
    );
  const address = stringAt(recordAt(service, "spec"), "clusterIP") ?? "";
  if (address === "" || address === "None")
    throw new UsageError(`Service "${namespace}/${name}" has no cluster IP; set --webhook-url`);
  return `https://${address.includes(":") ? `[${address}]` : address}`;
}
