import { dump } from "js-yaml";
import { ownObjects } from "../api/names.ts";
import { recordAt, stringAt } from "../api/parse.ts";
import { resources } from "../api/resources.ts";
import {
  authorizationConfiguration,
  oldestMinor,
  trustFiles,
  trustFlags,
  webhookKubeconfig,
} from "../domain/webhook/trust-config.ts";
import { webhookPaths } from "../domain/webhook/webhook-paths.ts";
import type { Client } from "../kube/client.ts";
import { minorOf } from "../kube/server-version.ts";
import { ConfigError, UsageError } from "../runtime/config-values.ts";
import type { TrustConfigOptions } from "../runtime/trust-config-options.ts";
import { clientDataOf, parseWebhookCertificates } from "../tokens/webhook-certificates.ts";
import { notFound } from "./not-found.ts";
import { writeFiles } from "./write-files.ts";

/** Dependencies of {@link printTrustConfig}. */
export interface TrustConfigDeps {
  readonly client: Pick<Client, "get">;
  /** `gitVersion` of the API server. */
  readonly serverVersion: () => Promise<string>;
  readonly print: (text: string) => void;
}

/**
 * Prints or writes what kube-apiserver needs to call the webhook: flags and three files, two of
 * which contain a private key.
 */
export async function printTrustConfig(
  options: TrustConfigOptions,
  { client, serverVersion, print }: TrustConfigDeps,
): Promise<void> {
  const { namespace, serviceName, directory, output } = options;
  const minor = options.kubernetesVersion ?? minorOf(await serverVersion()) ?? 0;
  if (minor < oldestMinor) {
    throw new ConfigError(
      "--kubernetes-version",
      `1.${minor}`,
      `is too old; kube-apiserver reads an AuthorizationConfiguration since 1.${oldestMinor}`,
    );
  }
  const url = options.webhookUrl ?? (await serviceUrl(options, client));
  const certificates = parseWebhookCertificates(
    await client
      .get(resources.secrets, { namespace, name: ownObjects.webhookCertificates })
      .catch(
        notFound(
          `Secret "${namespace}/${ownObjects.webhookCertificates}" does not exist; start latchkey webhook, which creates it, or set --namespace`,
        ),
      ),
  );
  const serverName = `${serviceName}.${namespace}.svc`;
  const kubeconfig = (path: string): object =>
    webhookKubeconfig({
      url: url.replace(/\/$/, "") + path,
      serverName,
      ...clientDataOf(certificates),
    });
  const files = [
    { name: trustFiles.authorization, content: authorizationConfiguration({ minor, directory }) },
    { name: trustFiles.tokenReview, content: kubeconfig(webhookPaths.tokenReview) },
    { name: trustFiles.accessReview, content: kubeconfig(webhookPaths.accessReview) },
  ].map(({ name, content }) => ({ name, text: dump(content, { lineWidth: -1 }) }));
  if (output !== undefined) writeFiles(output, files);
  else for (const { name, text } of files) print(`# ${directory}/${name}\n${text}---\n`);
  const flags = trustFlags({ minor, directory });
  print(
    [
      "# Flags of kube-apiserver; take --authorization-mode away.",
      ...flags.map((flag) => `# ${flag}`),
      "",
    ].join("\n"),
  );
}

async function serviceUrl(
  { namespace, serviceName }: TrustConfigOptions,
  client: Pick<Client, "get">,
): Promise<string> {
  const service = await client
    .get(resources.services, { namespace, name: serviceName })
    .catch(
      notFound(
        `Service "${namespace}/${serviceName}" does not exist; install the webhook, or set --service-name, --namespace or --webhook-url`,
      ),
    );
  const address = stringAt(recordAt(service, "spec"), "clusterIP") ?? "";
  if (address === "" || address === "None")
    throw new UsageError(
      `Service "${namespace}/${serviceName}" has no cluster IP; set --webhook-url`,
    );
  return `https://${address.includes(":") ? `[${address}]` : address}`;
}
