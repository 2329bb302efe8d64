import { dump } from "js-yaml";
import { ownObjects } from "../../api/names.ts";
import { resources } from "../../api/resources.ts";
import {
  authenticationConfiguration,
  authenticationFile,
  authenticationNotes,
} from "../../domain/endpoint-token/authentication-configuration.ts";
import { clusterLocalAddress } from "../../domain/endpoint-token/issuer-address.ts";
import { acceptedAudiences } from "../../domain/endpoint-token/token-audience.ts";
import type { Client } from "../../kube/client/client.ts";
import { ConfigError, UsageError } from "../../runtime/config-values.ts";
import { readTextFile } from "../../runtime/read-text-file.ts";
import { caCertificates } from "../../tokens/certificate-pem.ts";
import { caOfSecret } from "../../tokens/server-certificates.ts";
import { notFound } from "../failure.ts";
import { type OutputFile, writeFiles } from "../private-files.ts";
import { connectedClusterName, type TrustConfigOptions } from "./trust-config-options.ts";

/** Dependencies of {@link printAuthenticationConfig}. */
interface AuthenticationConfigDeps {
  /**
   * Reads the Secret of the issuer's certificates; not used with `--issuer-certificate-authority`.
   */
  readonly client: Pick<Client, "get">;
  readonly print: (text: string) => void;
}

/** The value of `--issuer-certificate-authority` for the CAs of the machine. */
const systemAuthorities = "system";

/**
 * Prints or writes what kube-apiserver of a connected cluster needs to trust direct tokens: a file
 * and a flag. Nothing in the file is secret.
 */
export async function printAuthenticationConfig(
  options: TrustConfigOptions,
  { client, print }: AuthenticationConfigDeps,
): Promise<void> {
  const { directory, output } = options;
  const deps = { client, authorizationFlag: undefined };
  const { file, notes } = await authenticationOutput(options, deps);
  if (output === undefined) print(`# ${directory}/${file.name}\n${file.text}`);
  else writeFiles(output, [file]);
  print(comments(notes));
}

/** What decides about the output, beside the options. */
interface AuthenticationOutputDeps extends Pick<AuthenticationConfigDeps, "client"> {
  /** The flag for the authorizer of Latchkey; undefined without one. */
  readonly authorizationFlag: string | undefined;
}

/** The file for kube-apiserver, and the flags and what else an administrator has to know. */
interface AuthenticationOutput {
  readonly file: OutputFile;
  readonly notes: readonly string[];
}

/** Lines as comments of YAML. */
export function comments(lines: readonly string[]): string {
  return lines.map((line) => `# ${line}\n`).join("");
}

/** Builds the AuthenticationConfiguration, and the notes about it. */
export async function authenticationOutput(
  options: TrustConfigOptions,
  { client, authorizationFlag }: AuthenticationOutputDeps,
): Promise<AuthenticationOutput> {
  const local = clusterLocalAddress(options);
  if (local !== undefined) throw new ConfigError(local.option, local.value, localFix);
  const content = authenticationConfiguration({
    ...options,
    audiences: acceptedAudiences({ ...options, clusterName: connectedClusterName(options) }),
    isAuthorized: authorizationFlag !== undefined,
    certificateAuthority: await certificateAuthority(options, client),
  });
  return {
    file: { name: authenticationFile, text: dump(content, { lineWidth: -1 }) },
    notes: authenticationNotes(options, authorizationFlag),
  };
}

const localFix =
  "has a host that another cluster cannot resolve; set --discovery-url to the URL at which the " +
  "connected cluster reaches the discovery document, such as that of an Ingress or a load balancer";

async function certificateAuthority(
  { namespace, issuerCertificateAuthority: path }: TrustConfigOptions,
  client: Pick<Client, "get">,
): Promise<string | undefined> {
  if (path === systemAuthorities) return undefined;
  if (path !== undefined) {
    const option = "--issuer-certificate-authority";
    const found = caCertificates(readTextFile({ option, path }));
    if (found !== undefined) return found;
    throw new ConfigError(option, path, "must contain PEM certificates, and only valid ones");
  }
  const name = ownObjects.issuerCertificates;
  const fix =
    "set --issuer-certificate-authority to a file with the CA certificates of the issuer, " +
    `or to ${systemAuthorities} for public CAs`;
  const secret = await client
    .get(resources.secrets, { namespace, name })
    .catch(
      notFound(
        `Secret "${namespace}/${name}" does not exist; ${fix}, or set the namespace of Latchkey`,
      ),
    );
  const found = caOfSecret(secret);
  if (found !== undefined) return found;
  throw new UsageError(`Secret "${namespace}/${name}" has no valid certificate in ca.crt; ${fix}`);
}
