import { dump } from "js-yaml";
import { cliFieldManager, certificateSecrets } from "../../api/names.ts";
import { recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import {
  admissionConfiguration,
  admissionKubeconfig,
  authorizationConfiguration,
  trustFiles,
  trustFlags,
  webhookKubeconfig,
  authorizationFlag,
  type WebhookAccess,
} from "../../domain/webhook/trust-config.ts";
import { webhookPaths } from "../../domain/webhook/webhook-paths.ts";
import { type Client, createClient } from "../../kube/client/client.ts";
import { UsageError } from "../../runtime/config-values.ts";
import {
  clientDataOf,
  parseServerCertificates,
  type ServerCertificates,
  ServerCertificatesError,
} from "../../tokens/server-certificates.ts";
import { webhookServices } from "../../webhooks/webhook-options.ts";
import type { Action } from "../cli.ts";
import { notFound } from "../failure.ts";
import { writeFiles } from "../private-files.ts";
import {
  authenticationOutput,
  comments,
  printAuthenticationConfig,
} from "./authentication-config.ts";
import { checkTrustConfigOptions, type TrustConfigOptions } from "./trust-config-options.ts";

/** `kubectl latchkey trust-config`: the command of the program, with this connection. */
export const trustConfig: Action<"trustConfig"> = async ({ flags }, cli) => {
  const options = { ...flags, namespace: flags.latchkeyNamespace };
  checkTrustConfigOptions(options);
  const { print } = cli.terminal;
  const connected = async (): Promise<Client> =>
    createClient((await cli.connect(flags)).transport, cliFieldManager);
  if (options.authentication && !options.authorization) {
    // A CA in a file needs no connection.
    const get: Client["get"] = async (resource, ref) => (await connected()).get(resource, ref);
    return printAuthenticationConfig(options, { client: { get }, print });
  }
  const printConfig = options.authentication ? printConnectedConfig : printTrustConfig;
  return printConfig(options, { client: await connected(), print });
};

/** Dependencies of {@link printTrustConfig}. */
interface TrustConfigDeps {
  readonly client: Pick<Client, "get">;
  readonly print: (text: string) => void;
}

/**
 * Prints or writes what kube-apiserver needs to call the webhook: flags and five files, three of
 * which contain a private key.
 */
export async function printTrustConfig(
  options: TrustConfigOptions,
  { client, print }: TrustConfigDeps,
): Promise<void> {
  const { directory, output, webhookUrl } = options;
  const access = await webhookAccess(options, "webhook", client);
  const hosts = [
    access.serverName,
    ...(webhookUrl === undefined ? [] : [new URL(webhookUrl).host]),
  ];
  const files = [
    {
      name: trustFiles.authorization,
      content: authorizationConfiguration(directory, "access-key"),
    },
    {
      name: trustFiles.tokenReview,
      content: webhookKubeconfig(access, webhookPaths.tokenReview),
    },
    {
      name: trustFiles.accessReview,
      content: webhookKubeconfig(access, webhookPaths.accessReview),
    },
    { name: trustFiles.admission, content: admissionConfiguration(directory) },
    { name: trustFiles.admissionWebhooks, content: admissionKubeconfig(hosts, access) },
  ].map(({ name, content }) => ({ name, text: dump(content, { lineWidth: -1 }) }));
  if (output !== undefined) writeFiles(output, files);
  else for (const { name, text } of files) print(`# ${directory}/${name}\n${text}---\n`);
  print(
    comments([
      "Flags of kube-apiserver; take --authorization-mode away. " +
        "If --admission-control-config-file is",
      `set already, add the plugins in ${trustFiles.admission} to its file instead.`,
      ...trustFlags(directory),
    ]),
  );
}

/**
 * Prints or writes what kube-apiserver of a connected cluster needs to trust direct tokens and to
 * call `latchkey webhook --direct` about each request with one: flags and three files, one of which
 * contains a private key. `client` is that of the connected cluster.
 */
export async function printConnectedConfig(
  options: TrustConfigOptions,
  { client, print }: TrustConfigDeps,
): Promise<void> {
  const { directory, output } = options;
  const authentication = await authenticationOutput(options, {
    client,
    authorizationFlag: authorizationFlag(directory),
  });
  const access = await webhookAccess(options, "direct", client);
  const accessReview = webhookKubeconfig(access, webhookPaths.accessReview);
  const authorization = authorizationConfiguration(directory, "direct-token");
  const files = [
    authentication.file,
    { name: trustFiles.authorization, text: yaml(authorization) },
    { name: trustFiles.accessReview, text: yaml(accessReview) },
  ];
  if (output !== undefined) writeFiles(output, files);
  else for (const { name, text } of files) print(`# ${directory}/${name}\n${text}---\n`);
  print(comments(authentication.notes));
}

function yaml(content: object): string {
  return dump(content, { lineWidth: -1 });
}

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
async function webhookAccess(
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
