import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest, type RequestOptions } from "node:https";
import { isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { ByteCollector } from "../../runtime/byte-collector.ts";
import { reasonOf } from "../../runtime/failure-reason.ts";
import { errorCode } from "../../runtime/read-text-file.ts";
import { type Credentials, CredentialsError, userFix } from "../credentials/credentials.ts";
import { encodeBody } from "./request-body.ts";
import { type KubeError, networkError } from "./kube-error.ts";
import { mostOwnResponseBytes, ResponseTooLarge } from "./exchange.ts";
import type { KubeconfigChoice } from "../credentials/kubeconfig.ts";
import {
  type KubeconfigUser,
  kubeconfigCredentials,
} from "../credentials/kubeconfig-credentials.ts";
import { openTunnel } from "./proxy-tunnel.ts";
import type { ApiRequest, ApiResponse, RoundTripper } from "./transport.ts";

/** What a connection of a user needs. */
interface UserConnectionDeps extends KubeconfigUser {
  readonly timeoutMs: number;
  /** Receives each warning of the API server (RFC 7234, Warning). */
  readonly onWarning: (text: string) => void;
}

/** A connection of a person or script, which lasts for one command. */
interface UserConnection extends RoundTripper {
  readonly close: () => void;
}

/**
 * Connects as a kubeconfig says. It is an alternative to the pools of the servers: a command sends
 * a few requests, so it has to start fast. Rejects with a CredentialsError.
 */
export async function connectUser(
  choice: KubeconfigChoice,
  deps: UserConnectionDeps,
): Promise<UserConnection> {
  const credentials = await kubeconfigCredentials(choice, deps);
  const header = await credentials.authorization();
  const headers = {
    ...(header === undefined ? {} : { authorization: header }),
    ...impersonation(choice),
  };
  const url = new URL(credentials.server);
  const agent = agentFor(credentials);
  const options: RequestOptions = {
    agent,
    protocol: url.protocol,
    hostname: hostOf(url),
    port: url.port,
  };
  const prefix = url.pathname.replace(/\/$/, "");
  return {
    request: (call) => exchange(call, { options, host: url.host, headers, prefix, deps }),
    close: () => agent.destroy(),
  };
}

function impersonation({ impersonate }: KubeconfigChoice): Record<string, string | string[]> {
  if (impersonate === undefined) return {};
  const groups =
    impersonate.groups.length === 0 ? {} : { "impersonate-group": [...impersonate.groups] };
  return { "impersonate-user": impersonate.user, ...groups };
}

/** A URL has an IPv6 address in brackets, a request does not. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/** An agent that keeps one connection. */
function agentFor({ server, tls, proxy }: Credentials): HttpAgent {
  const url = new URL(server);
  const isSecure = url.protocol === "https:";
  try {
    const agent = isSecure
      ? new HttpsAgent({ keepAlive: true, ...tls })
      : new HttpAgent({ keepAlive: true });
    if (proxy === undefined) return agent;
    const [host, port] = [hostOf(url), Number(url.port) || (isSecure ? 443 : 80)];
    const named = isIP(host) === 0 ? { servername: host } : {};
    const createConnection = async (_options: unknown, done: Connected): Promise<void> => {
      try {
        const socket = await openTunnel(proxy, { host, port });
        done(null, isSecure ? connectTls({ ...named, ...tls, host, socket }) : socket);
      } catch (error) {
        done(error);
      }
    };
    return Object.assign(agent, {
      createConnection: (...args: Parameters<typeof createConnection>) =>
        void createConnection(...args),
    });
  } catch (error) {
    const problem = errorCode(error) ?? "they are not valid PEM";
    throw new CredentialsError(
      `the certificates of the kubeconfig cannot be used: ${problem}`,
      userFix,
    );
  }
}

/** Called by a way to connect: with an error, or with a socket. */
type Connected = (error: unknown, socket?: Socket) => void;

interface Exchange {
  readonly options: RequestOptions;
  /** Host and port of the server. */
  readonly host: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly prefix: string;
  readonly deps: UserConnectionDeps;
}

/** The maximum time of a timer. */
const mostTimeoutMs = 2 ** 31 - 1;

function exchange(
  call: ApiRequest,
  { options, host, deps, ...sent }: Exchange,
): Promise<ApiResponse> {
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
      failure(call, host, end.aborted ? new Error(`no answer in ${deps.timeoutMs} ms`) : error),
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
          origin: {
            host,
            contentType: answer.headers["content-type"],
            location: answer.headers.location,
          },
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

function failure(call: ApiRequest, host: string, error: unknown): KubeError {
  const problem = reasonOf(error);
  const isResponseTooLarge = error instanceof ResponseTooLarge;
  return networkError(call, problem, { explanation: problem, isResponseTooLarge, host });
}
