import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from "node:https";
import { resolve } from "node:path";
import { ByteCollector } from "../../runtime/byte-collector.ts";
import { errorCode, mostFileBytes, readAtMost } from "../../runtime/read-text-file.ts";
import { CredentialsError, userFix } from "./credentials.ts";
import { encodeBody } from "../client/request-body.ts";
import { KubeError } from "../client/kube-error.ts";
import { mostOwnResponseBytes, ResponseTooLarge } from "../client/exchange.ts";
import { execCredential } from "./exec-plugin.ts";
import type { KubeconfigChoice, PemSource } from "./kubeconfig-choice.ts";
import type { ApiRequest, ApiResponse, Transport } from "../client/transport.ts";

/** Dependencies of {@link connectUser}. */
interface UserConnectionDeps {
  /** Variables of the process, for exec plugins and proxies. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isInteractive: boolean;
  readonly timeoutMs: number;
  /** Receives each warning of the API server (RFC 7234, Warning). */
  readonly onWarning: (text: string) => void;
}

/** A connection of a person or script, which lasts for one command. */
interface UserConnection extends Pick<Transport, "request"> {
  readonly close: () => void;
}

/**
 * Connects as a kubeconfig says. It is an alternative to the pools of the servers: a command sends a
 * few requests, so it has to start fast. Rejects with a CredentialsError.
 */
export async function connectUser(
  choice: KubeconfigChoice,
  deps: UserConnectionDeps,
): Promise<UserConnection> {
  const url = URL.parse(choice.server);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
    throw new CredentialsError(`the server "${choice.server}" is not a URL`, userFix);
  const login = await loginOf(choice, deps);
  const headers = { ...login.headers, ...impersonation(choice) };
  const options: RequestOptions = {
    method: "GET",
    protocol: url.protocol,
    // A URL has an IPv6 address in brackets, a request does not.
    hostname: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port,
  };
  const agent = agentFor(choice, { ...tlsOf(choice), ...login.tls }, deps);
  const prefix = url.pathname.replace(/\/$/, "");
  return {
    request: (call) => exchange(call, { options: { ...options, agent }, headers, prefix, deps }),
    close: () => agent.destroy(),
  };
}

interface TlsOptions {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

interface Login {
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsOptions;
}

async function loginOf(choice: KubeconfigChoice, deps: UserConnectionDeps): Promise<Login> {
  const { credential } = choice;
  switch (credential.kind) {
    case "none":
      return { headers: {}, tls: {} };
    case "token":
      return { headers: bearer(credential.token), tls: {} };
    case "token-file":
      return { headers: bearer(readFrom(credential).trim()), tls: {} };
    case "basic": {
      const pair = Buffer.from(`${credential.username}:${credential.password}`, "utf8");
      return { headers: { authorization: `Basic ${pair.toString("base64")}` }, tls: {} };
    }
    case "exec": {
      const { token, cert, key } = await execCredential(credential.plugin, {
        ...deps,
        cluster: clusterInfo(choice),
      });
      return {
        headers: token === undefined ? {} : bearer(token),
        tls: cert === undefined || key === undefined ? {} : { cert, key },
      };
    }
  }
}

function bearer(token: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${token}` };
}

/** A cluster as in a kubeconfig and in `KUBERNETES_EXEC_INFO` (client.authentication.k8s.io/v1). */
export interface ClusterInfo {
  readonly server: string;
  readonly "certificate-authority-data"?: string;
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
    ...(choice.proxyUrl === undefined ? {} : { "proxy-url": choice.proxyUrl }),
  };
}

function tlsOf(choice: KubeconfigChoice): TlsOptions {
  const { certificateAuthority: ca, clientCertificate: cert, clientKey: key } = choice;
  return {
    ...(ca === undefined ? {} : { ca: pemText(ca) }),
    ...(cert === undefined ? {} : { cert: pemText(cert) }),
    ...(key === undefined ? {} : { key: pemText(key) }),
    ...(choice.tlsServerName === undefined ? {} : { servername: choice.tlsServerName }),
    ...(choice.insecureSkipTlsVerify ? { rejectUnauthorized: false } : {}),
  };
}

function pemText(source: PemSource): string {
  return source.kind === "data"
    ? Buffer.from(source.base64, "base64").toString("utf8")
    : readFrom(source);
}

function readFrom({ path, directory }: { readonly path: string; readonly directory: string }) {
  try {
    return readAtMost(resolve(directory, path), mostFileBytes).toString("utf8");
  } catch (error) {
    throw new CredentialsError(
      `the kubeconfig names "${path}", which cannot be read: ${errorCode(error) ?? "it is too large"}`,
      userFix,
    );
  }
}

function impersonation({ impersonate }: KubeconfigChoice): Record<string, string | string[]> {
  if (impersonate === undefined) return {};
  const groups =
    impersonate.groups.length === 0 ? {} : { "impersonate-group": [...impersonate.groups] };
  return { "impersonate-user": impersonate.user, ...groups };
}

/** An agent that keeps one connection; Node itself reads the variables of a proxy. */
function agentFor(
  { server, proxyUrl }: KubeconfigChoice,
  tls: TlsOptions,
  { env }: UserConnectionDeps,
): HttpAgent {
  const proxyEnv =
    proxyUrl === undefined ? { ...env } : { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl };
  const shared = { keepAlive: true, proxyEnv };
  try {
    return server.startsWith("https:")
      ? new HttpsAgent({ ...shared, ...tls })
      : new HttpAgent(shared);
  } catch (error) {
    throw new CredentialsError(
      `the certificates of the kubeconfig cannot be used: ${errorCode(error) ?? "they are not valid PEM"}`,
      userFix,
    );
  }
}

interface Exchange {
  readonly options: RequestOptions;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly prefix: string;
  readonly deps: UserConnectionDeps;
}

/** The maximum time of a timer. */
const mostTimeoutMs = 2 ** 31 - 1;

function exchange(call: ApiRequest, { options, deps, ...sent }: Exchange): Promise<ApiResponse> {
  const body = call.body === undefined ? undefined : encodeBody(call.body);
  const send = options.protocol === "https:" ? httpsRequest : httpRequest;
  const headers = {
    ...sent.headers,
    accept: call.accept ?? "application/json",
    "user-agent": "kubectl-latchkey",
    ...(body === undefined
      ? {}
      : {
          "content-type": call.contentType ?? "application/json",
          "content-length": Buffer.byteLength(body),
        }),
  };
  // A timeout of the socket would begin again with each byte of a slow answer.
  const end = AbortSignal.timeout(Math.min(deps.timeoutMs, mostTimeoutMs));
  const { promise, resolve: fulfil, reject } = Promise.withResolvers<ApiResponse>();
  const failed = (error: unknown): void =>
    reject(
      networkError(call, end.aborted ? new Error(`no answer in ${deps.timeoutMs} ms`) : error),
    );
  const asked = send(
    { ...options, method: call.method, path: sent.prefix + call.path, headers },
    (answer) => {
      collect(answer).then((text) => {
        for (const warning of warningsIn(answer.headers["warning"])) deps.onWarning(warning);
        const retryAfter = Number(answer.headers["retry-after"]);
        fulfil({
          status: answer.statusCode ?? 0,
          text,
          ...(retryAfter > 0 ? { retryAfterMs: retryAfter * 1000 } : {}),
        });
      }, failed);
    },
  );
  const cut = (): void => void asked.destroy();
  end.addEventListener("abort", cut);
  asked.on("error", failed);
  asked.end(body);
  return promise.finally(() => end.removeEventListener("abort", cut));
}

/** The body of a response; rejects, and ends the connection, if it is too large. */
function collect(answer: IncomingMessage): Promise<string> {
  const { promise, resolve: fulfil, reject } = Promise.withResolvers<string>();
  const body = new ByteCollector(mostOwnResponseBytes);
  const cut = (): void => {
    reject(new ResponseTooLarge(mostOwnResponseBytes));
    answer.destroy();
  };
  answer.once("error", reject);
  answer.once("end", () => fulfil(body.take().toString("utf8")));
  if (Number(answer.headers["content-length"]) > mostOwnResponseBytes) cut();
  else answer.on("data", (chunk: Buffer) => void (body.add(chunk) || cut()));
  return promise;
}

/** The texts of a Warning header: `299 - "text"`, joined by commas if there are several. */
export function warningsIn(header: string | readonly string[] | undefined): readonly string[] {
  const texts = typeof header === "string" ? header : (header ?? []).join(", ");
  return [...texts.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) =>
    text.replaceAll(/\\(.)/g, "$1"),
  );
}

function networkError({ method, path }: ApiRequest, error: unknown): KubeError {
  const reason =
    errorCode(error) ??
    (error instanceof Error && error.message !== "" ? error.message : "no answer");
  return new KubeError(`${method} ${path}: ${reason}`, {
    code: "Network",
    status: 0,
    explanation: reason,
    isResponseTooLarge: error instanceof ResponseTooLarge,
  });
}
