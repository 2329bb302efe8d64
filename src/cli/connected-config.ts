import { dump } from "js-yaml";
import {
  authorizationConfiguration,
  authorizationFlag,
  trustFiles,
  webhookKubeconfig,
} from "../domain/webhook/trust-config.ts";
import { webhookPaths } from "../domain/webhook/webhook-paths.ts";
import type { TrustConfigOptions } from "./trust-config-options.ts";
import { authenticationOutput, comments } from "./authentication-config.ts";
import type { TrustConfigDeps } from "./trust-config.ts";
import { authorizedMinor, webhookAccess } from "./webhook-access.ts";
import { writeFiles } from "./write-files.ts";

/**
 * Prints or writes what kube-apiserver of a connected cluster needs to trust direct tokens and to
 * call `latchkey webhook --direct` about each request with one: flags and three files, one of which
 * contains a private key. `client` is that of the connected cluster.
 */
export async function printConnectedConfig(
  options: TrustConfigOptions,
  { client, serverVersion, print }: TrustConfigDeps,
): Promise<void> {
  const { directory, output } = options;
  const minor = await authorizedMinor(options, serverVersion);
  const authentication = await authenticationOutput(options, {
    ...{ client, minor, authorizationFlag: authorizationFlag(options) },
  });
  const access = await webhookAccess(options, "direct", client);
  const accessReview = webhookKubeconfig(access, webhookPaths.accessReview);
  const authorization = authorizationConfiguration({ minor, directory }, "direct-token");
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
