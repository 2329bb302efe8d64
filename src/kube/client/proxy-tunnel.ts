import { once } from "node:events";
import { request, STATUS_CODES } from "node:http";
import { connect, isIP, type Socket } from "node:net";
import { connect as connectTls, getCACertificates } from "node:tls";
import { reasonOf } from "../../runtime/failure-reason.ts";
import { nameOfProxy, type Proxy } from "../credentials/proxies.ts";
import { socksConnect, type TunnelTarget } from "./socks5.ts";

/** A proxy refused a connection or cannot be reached; the message names it without its login. */
export class ProxyError extends Error {
  constructor(proxy: Proxy, problem: string) {
    super(`the proxy ${nameOfProxy(proxy)} ${problem}`);
    this.name = "ProxyError";
  }
}

/** As long as undici waits for a connection, in milliseconds. */
const usualTimeoutMs = 10_000;

/**
 * Connects to a target through a proxy (RFC 9110, section 9.3.6; RFC 1928). The caller
 * speaks TLS with the target over it. Rejects only with a ProxyError.
 */
export async function openTunnel(
  proxy: Proxy,
  target: TunnelTarget,
  timeoutMs = usualTimeoutMs,
): Promise<Socket> {
  const socket = connectTo(proxy);
  // The caller listens only to errors of its own layer.
  socket.on("error", () => {});
  const late = AbortSignal.timeout(timeoutMs);
  const cut = (): void => void socket.destroy();
  late.addEventListener("abort", cut, { once: true });
  try {
    await once(socket, proxy.scheme === "https" ? "secureConnect" : "connect", { signal: late });
    if (proxy.scheme === "socks5") await socksConnect(socket, target, proxy.login?.());
    else await httpConnect(socket, target, proxy);
    return socket;
  } catch (error) {
    socket.destroy();
    if (error instanceof ProxyError) throw error;
    const problem = late.aborted ? `no answer in ${timeoutMs} ms` : reasonOf(error);
    throw new ProxyError(proxy, `failed: ${problem}`);
  } finally {
    late.removeEventListener("abort", cut);
  }
}

/** A connection to the proxy itself, which is probed while it is silent, as that of a watch. */
function connectTo({ scheme, host, port, ca }: Proxy): Socket {
  const options = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 };
  if (scheme !== "https") return connect(options);
  return connectTls({
    ...options,
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca: [ca, ...getCACertificates("default")] }),
    ALPNProtocols: ["http/1.1"],
  });
}

/** Asks an HTTP proxy for a tunnel; an error has the status of its answer, and none of its text. */
async function httpConnect(socket: Socket, target: TunnelTarget, proxy: Proxy): Promise<void> {
  const { host, port } = target;
  const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
  const login = proxy.login?.().join(":");
  const asked = request({
    method: "CONNECT",
    path: authority,
    headers: {
      host: authority,
      "user-agent": "latchkey",
      ...(login !== undefined && {
        "proxy-authorization": `Basic ${Buffer.from(login).toString("base64")}`,
      }),
    },
    createConnection: () => socket,
  });
  const { promise, resolve: fulfil, reject } = Promise.withResolvers<number>();
  asked.on("error", reject);
  asked.on("connect", ({ statusCode = 0 }, _socket, head) => {
    if (head.length > 0) socket.unshift(head);
    fulfil(statusCode);
  });
  asked.end();
  const statusCode = await promise;
  if (statusCode < 200 || statusCode > 299)
    throw new ProxyError(proxy, `answered ${statusCode} ${STATUS_CODES[statusCode] ?? ""}`.trim());
}
