import { join, resolve } from "node:path";
import { stringsAt } from "../../api/parse.ts";
import type { Clock } from "../../runtime/clock.ts";
import { FollowedFiles } from "../../runtime/followed-files.ts";
import type { Logger } from "../../runtime/log.ts";
import type { Environment } from "../../runtime/options.ts";
import { isRegularFile } from "../../runtime/read-text-file.ts";
import {
  bearerFrom,
  cachedAuthorization,
  CredentialsError,
  readAccountFile,
  type TlsMaterial,
} from "./credentials.ts";
import {
  checkTlsMaterial,
  followCredentials,
  type FollowedCredentials,
} from "./followed-credentials.ts";
import type { KubeconfigChoice } from "./kubeconfig.ts";

/** What decides about the credentials of a process. */
interface CredentialsSource {
  /** Path of a kubeconfig; takes precedence over the pod. */
  readonly kubeconfig: string | undefined;
  /** Variables of the process; the kubelet sets those of the API server in every container. */
  readonly env: Environment;
}

/**
 * Reads the credentials of the current context of a kubeconfig, or of the pod's ServiceAccount if
 * no kubeconfig is set, and follows their files; `log` gets what cannot be used. Rejects with a
 * CredentialsError.
 */
export async function loadCredentials(
  { kubeconfig, env }: CredentialsSource,
  clock: Clock,
  log?: Logger,
): Promise<FollowedCredentials> {
  const deps = { env, clock, log };
  if (kubeconfig !== undefined) return processCredentials(kubeconfig, { ...deps, of: "this" });
  const { KUBERNETES_SERVICE_HOST: host = "", KUBERNETES_SERVICE_PORT: port = "" } = env;
  if (host !== "" && port !== "") return podCredentials({ host, port }, deps);
  throw new CredentialsError(
    "no kubeconfig is set and this is not a pod " +
      "(KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set)",
  );
}

/**
/**
 * Reads the credentials of a kubeconfig that the administrator of another cluster has written, and
 * follows the file. One that names a program or a file is rejected: the program would run as this
 * process, and the file may have the token of its ServiceAccount, which the other cluster would
 * get. Also one that names a proxy: this process would connect to any place. Proxies are those of
 * its own variables.
 */
export function foreignCredentials(
  { kubeconfig, env }: CredentialsSource & { readonly kubeconfig: string },
  clock: Clock,
  log?: Logger,
): Promise<FollowedCredentials> {
  return processCredentials(kubeconfig, { env, clock, log, of: "another" });
}

interface FollowDeps {
  readonly clock: Clock;
  readonly log: Logger | undefined;
}

interface ProcessKubeconfig extends FollowDeps {
  readonly env: Environment;
  /** Whose administrator has written the kubeconfig: that of this cluster, or of another one. */
  readonly of: "this" | "another";
}

const foreignFix = "use the kubeconfig that kubectl latchkey cluster connect prints";

/** Those of a kubeconfig, for a process: an error says which file it is. */
async function processCredentials(
  path: string,
  { env, clock, log, of }: ProcessKubeconfig,
): Promise<FollowedCredentials> {
  // In a pod, two files are enough: a parser of YAML is not needed.
  const { chooseKubeconfig, readKubeconfigFiles } = await import("./kubeconfig.ts");
  const { kubeconfigCredentials, kubeconfigServer } = await import("./kubeconfig-credentials.ts");
  const named = (error: unknown): unknown =>
    error instanceof CredentialsError
      ? new CredentialsError(
          error.problem.replace("the kubeconfig", () => `kubeconfig "${path}"`),
          of === "another" ? foreignFix : undefined,
        )
      : error;
  const read = () => {
    try {
      const choice = chooseKubeconfig(readKubeconfigFiles(path, env), {});
      if (typeof choice === "string") throw new CredentialsError(choice);
      checkChoice(choice, of);
      return { choice, ...kubeconfigServer(choice) };
    } catch (error) {
      throw named(error);
    }
  };
  const files = new FollowedFiles(
    {
      name: path,
      read,
      check: ({ tls }) => checkTlsMaterial(tls, `kubeconfig "${path}"`),
      isFinal: ({ choice }) => ![path, ...filesOf(choice)].every(isRegularFile),
    },
    { clock, log },
  );
  const user = { env, clock, isInteractive: false };
  return followCredentials(
    {
      files,
      open: ({ choice, ...server }) =>
        kubeconfigCredentials(choice, user, server).catch((error: unknown) => {
          throw named(error);
        }),
    },
    { clock, log },
  );
}

/** Throws a CredentialsError if a process may not use the kubeconfig. */
function checkChoice(choice: KubeconfigChoice, of: ProcessKubeconfig["of"]): void {
  if (of === "another" && namesFiles(choice))
    throw new CredentialsError(
      "the kubeconfig names a program or a file instead of having the credential in it",
    );
  if (of === "another" && (choice.proxyUrl ?? "") !== "")
    throw new CredentialsError(
      "the kubeconfig has a proxy-url, which is not used; remove it and set HTTPS_PROXY",
    );
  if (choice.server.startsWith("http:") && !choice.insecureSkipTlsVerify)
    throw new CredentialsError(
      `the kubeconfig has the server "${choice.server}" without TLS, ` +
        "and not insecure-skip-tls-verify",
    );
}

function namesFiles(choice: KubeconfigChoice): boolean {
  const { kind } = choice.credential;
  return kind === "exec" || kind === "token-file" || filesOf(choice).length > 0;
}

/** The paths of the certificates and the key that are not in the kubeconfig itself. */
function filesOf({ certificateAuthority, clientCertificate, clientKey }: KubeconfigChoice) {
  return [certificateAuthority, clientCertificate, clientKey].flatMap((pem) =>
    pem?.kind === "file" ? [resolve(pem.directory, pem.path)] : [],
  );
}

const serviceAccountDirectory = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * The audiences of the token of the pod's ServiceAccount; none outside of a pod. Every pod has a
 * token for them.
 */
export function podAudiences(directory = serviceAccountDirectory): readonly string[] {
  try {
    const [, payload = ""] = readAccountFile(join(directory, "token")).split(".");
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
    return stringsAt(claims, "aud");
  } catch {
    return [];
  }
}

/**
 * Reads the credentials of the pod's ServiceAccount: `token` and `ca.crt` in its directory, like
 * client-go's InClusterConfig. Rejects with a CredentialsError if one cannot be read.
 */
export async function podCredentials(
  { host, port }: { readonly host: string; readonly port: string },
  { clock, log }: FollowDeps,
  directory = serviceAccountDirectory,
): Promise<FollowedCredentials> {
  const [token, authority] = [join(directory, "token"), join(directory, "ca.crt")];
  readAccountFile(token);
  const files = new FollowedFiles(
    {
      name: authority,
      read: () => ({ ca: readAccountFile(authority), rejectUnauthorized: true }),
      check: (tls) => checkTlsMaterial(tls, `ServiceAccount file "${authority}"`),
    },
    { clock, log },
  );
  const server = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  // The kubelet replaces the file before the token in it expires.
  const authorization = cachedAuthorization(async () => ({ header: bearerFrom(token) }), clock);
  const open = (tls: TlsMaterial) => ({ server, tls, ...authorization });
  return followCredentials({ files, open }, { clock, log });
}
