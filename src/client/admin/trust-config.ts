import { dump } from "js-yaml";
import {
  admissionConfiguration,
  admissionKubeconfig,
  authorizationConfiguration,
  trustFiles,
  trustFlags,
  webhookKubeconfig,
  authorizationFlag,
} from "../../domain/webhook/trust-config.ts";
import { webhookPaths } from "../../domain/webhook/webhook-paths.ts";
import type { Client } from "../../kube/client/client.ts";
import { writeFiles } from "../private-files.ts";
import { comments, authenticationOutput } from "./authentication-config.ts";
import type { TrustConfigOptions } from "./trust-config-options.ts";
import { webhookAccess } from "./webhook-access.ts";

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
