import { resolve } from "node:path";
import type { Clock } from "../../runtime/clock.ts";
import type { Environment } from "../../runtime/options.ts";
import { errorCode, mostFileBytes, readAtMost } from "../../runtime/read-text-file.ts";
import {
  cachedAuthorization,
  type Credentials,
  CredentialsError,
  type TlsMaterial,
  userFix,
} from "./credentials.ts";
import { type ExecCredential, execCredential } from "./exec-plugin.ts";
import type { KubeconfigChoice, PemSource } from "./kubeconfig.ts";
import { environmentProxies, parseProxy, type Proxy, withoutLogin } from "./proxies.ts";

/** Who uses a kubeconfig. */
export interface KubeconfigUser {
  /** Variables of the process, for exec plugins and proxies. */
  readonly env: Environment;
  /** Whether the standard input is a terminal. */
  readonly isInteractive: boolean;
  readonly clock: Clock;
}

/** Where a kubeconfig leads, with the content of the certificates that it names. */
interface KubeconfigServer {
  readonly server: string;
  readonly tls: TlsMaterial;
}

/** Reads the certificates of a kubeconfig; throws a CredentialsError. */
export function kubeconfigServer(choice: KubeconfigChoice): KubeconfigServer {
  const { server } = choice;
  const protocol = URL.parse(server)?.protocol;
  if (protocol !== "https:" && protocol !== "http:")
    throw new CredentialsError(`the server "${server}" is not a URL`, userFix);
  return { server, tls: tlsOf(choice) };
}

/**
 * The credentials of a kubeconfig, whose certificates were read before. An exec plugin runs now,
 * and again when its credential expires; a token file is read when a request needs it. Rejects with
 * a CredentialsError, as does `authorization`.
 */
export async function kubeconfigCredentials(
  choice: KubeconfigChoice,
  user: KubeconfigUser,
  { server, tls } = kubeconfigServer(choice),
): Promise<Credentials> {
  const { credential } = choice;
  const way = { server, proxy: proxyOf(choice, tls, user.env) };
  if (credential.kind !== "exec") {
    const read = async () => ({ header: headerOf(credential) });
    return { ...way, tls, ...cachedAuthorization(read, user.clock) };
  }
  let current = tls;
  const run = async (): Promise<ExecCredential> => {
    const cluster = clusterOfPlugin(choice);
    const found = await execCredential(credential.plugin, { ...user, cluster });
    const { cert, key } = found;
    if (cert !== undefined && key !== undefined && (cert !== current.cert || key !== current.key))
      current = { ...tls, cert, key };
    return found;
  };
  let unused: ExecCredential | undefined = await run();
  const read = async () => {
    const { token, expiresAt } = unused ?? (await run());
    unused = undefined;
    return { header: token === undefined ? undefined : bearer(token), expiresAt };
  };
  return {
    ...way,
    get tls() {
      return current;
    },
    ...cachedAuthorization(read, user.clock),
  };
}

/** The Authorization header of a credential; throws a CredentialsError. */
function headerOf(
  credential: Exclude<KubeconfigChoice["credential"], { readonly kind: "exec" }>,
): string | undefined {
  switch (credential.kind) {
    case "none":
      return undefined;
    case "token":
      return bearer(credential.token);
    case "token-file":
      return bearer(readFrom(credential).trim());
    case "basic": {
      const pair = Buffer.from(`${credential.username}:${credential.password}`, "utf8");
      return `Basic ${pair.toString("base64")}`;
    }
  }
}

function bearer(token: string): string {
  return `Bearer ${token}`;
}

function tlsOf(choice: KubeconfigChoice): TlsMaterial {
  const { certificateAuthority: ca, clientCertificate: cert, clientKey: key } = choice;
  return {
    ...(ca === undefined ? {} : { ca: pemText(ca) }),
    ...(cert === undefined ? {} : { cert: pemText(cert) }),
    ...(key === undefined ? {} : { key: pemText(key) }),
    ...(choice.tlsServerName === undefined ? {} : { servername: choice.tlsServerName }),
    rejectUnauthorized: !choice.insecureSkipTlsVerify,
  };
}

/**
 * The proxy of the kubeconfig, else that of the variables. As for kubectl, NO_PROXY does not count
 * for the former, and the CA of the cluster may have signed its certificate.
 */
function proxyOf(
  { server, proxyUrl }: KubeconfigChoice,
  { ca }: TlsMaterial,
  env: Environment,
): Proxy | undefined {
  if (proxyUrl === undefined || proxyUrl === "") return environmentProxies(env)(server);
  const proxy = parseProxy(proxyUrl);
  if (typeof proxy === "string")
    throw new CredentialsError(`the kubeconfig has a proxy-url that ${proxy}`, userFix);
  return { ...proxy, ...(ca !== undefined && { ca }) };
}

/** A cluster as in a kubeconfig and in `KUBERNETES_EXEC_INFO` (client.authentication.k8s.io/v1). */
export interface ClusterInfo {
  readonly server: string;
  readonly "certificate-authority-data"?: string;
  /** Without user and password. */
  readonly "proxy-url"?: string;
}

/** The same for a program of the user, which may use the login at the proxy. */
function clusterOfPlugin(choice: KubeconfigChoice): ClusterInfo {
  const { proxyUrl } = choice;
  return { ...clusterInfo(choice), ...(proxyUrl === undefined ? {} : { "proxy-url": proxyUrl }) };
}

/** What a client needs to reach the cluster of a choice; throws a CredentialsError. */
export function clusterInfo(choice: KubeconfigChoice): ClusterInfo {
  const ca = choice.certificateAuthority;
  return {
    server: choice.server,
    ...(choice.tlsServerName === undefined ? {} : { "tls-server-name": choice.tlsServerName }),
    ...(choice.insecureSkipTlsVerify ? { "insecure-skip-tls-verify": true } : {}),
    ...(ca === undefined
      ? {}
      : { "certificate-authority-data": Buffer.from(pemText(ca), "utf8").toString("base64") }),
    ...(choice.proxyUrl === undefined ? {} : { "proxy-url": withoutLogin(choice.proxyUrl) }),
  };
}

function pemText(source: PemSource): string {
  return source.kind === "data"
    ? Buffer.from(source.base64, "base64").toString("utf8")
    : readFrom(source);
}

function readFrom({ path, directory }: { readonly path: string; readonly directory: string }) {
  const file = resolve(directory, path);
  try {
    return readAtMost(file, mostFileBytes).toString("utf8");
  } catch (error) {
    const code = errorCode(error);
    throw new CredentialsError(
      `the kubeconfig names "${file}", which cannot be read: ${code ?? "it is too large"}`,
      userFix,
      code,
    );
  }
}
