import type { KubeconfigChoice, KubeconfigFile } from "../../kube/credentials/kubeconfig.ts";
import { UsageError } from "../../runtime/config-values.ts";
import type { Environment } from "../../runtime/options.ts";
import type { ConnectionFlags } from "./connection-options.ts";

/** The variables of a connection, which `keys create -o env` prints and every command reads. */
export const connectionVariables = {
  key: "LATCHKEY_ACCESS_KEY",
  server: "LATCHKEY_SERVER",
  certificateAuthorityData: "LATCHKEY_CERTIFICATE_AUTHORITY_DATA",
} as const;

/** The name of the cluster and of the user in the kubeconfig of the variables. */
export const variablesEntry = "variables";

/**
 * The variables as a kubeconfig, over which flags take precedence as over each kubeconfig;
 * undefined if no variable is set, or if a flag chooses a kubeconfig or a context of one. Throws a
 * UsageError if the variables are not complete or not valid, which quotes no key.
 */
export function variablesKubeconfig(
  { kubeconfig, context, server, token, clientCertificate }: ConnectionFlags,
  env: Environment,
): KubeconfigFile | undefined {
  const names = connectionVariables;
  const [key, address, ca] = [names.key, names.server, names.certificateAuthorityData].map((name) =>
    (env[name] ?? "").trim(),
  );
  if (kubeconfig !== undefined || context !== undefined) return undefined;
  if (!key && !address && !ca) return undefined;
  if (!key && token === undefined && clientCertificate === undefined)
    throw incomplete(address ? names.server : names.certificateAuthorityData, names.key);
  if (!address && server === undefined)
    throw incomplete(key ? names.key : names.certificateAuthorityData, names.server);
  const cluster = {
    ...(address ? { server: serverOf(address) } : {}),
    ...(ca ? { "certificate-authority-data": certificatesOf(ca) } : {}),
  };
  const user = key ? { token: keyOf(key) } : {};
  const name = variablesEntry;
  return {
    directory: "",
    content: { clusters: [{ name, cluster }], users: [{ name, user }] },
  };
}

function incomplete(set: string, missing: string): UsageError {
  return new UsageError(
    `the variable ${set} is set, and ${missing} is not, or is empty; set both, ` +
      `or unset ${set}, or set --kubeconfig or --context`,
  );
}

/**
 * A key is sent without TLS only to this machine, as to `kubectl proxy`. The error does not quote
 * the value, which may be a key in the wrong variable.
 */
function serverOf(address: string): string {
  const { protocol, hostname } = URL.parse(address) ?? {};
  const isLocal = ["localhost", "127.0.0.1", "[::1]"].some((name) => name === hostname);
  if (protocol === "https:" || (protocol === "http:" && isLocal)) return address;
  throw new UsageError(
    `${connectionVariables.server} must be a URL, such as https://latchkey.example.com; ` +
      "without TLS, it must be one of this machine",
  );
}

/** Text that a header can hold, without blanks. */
function keyOf(key: string): string {
  if (/^[\x21-\x7e]{1,4096}$/.test(key)) return key;
  throw new UsageError(
    `${connectionVariables.key} must be an access key, without blanks and line breaks`,
  );
}

function certificatesOf(data: string): string {
  const pem = Buffer.from(data, "base64").toString("utf8");
  if (pem.includes("-----BEGIN CERTIFICATE-----")) return data;
  throw new UsageError(
    `${connectionVariables.certificateAuthorityData} must be certificates in PEM, in base64`,
  );
}

/** Which connection the variables made, for a user who may expect that of a kubeconfig. */
export function variablesSentence({ server }: Pick<KubeconfigChoice, "server">): string {
  const { server: address, key } = connectionVariables;
  return (
    `the connection to ${server} is that of ${address} and ${key}; ` +
    "unset them, or set --kubeconfig or --context, to use a kubeconfig"
  );
}
