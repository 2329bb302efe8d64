import type { Certificates } from "../certificates/certificates.ts";
import { certifiedServer } from "../certificates/certified-server.ts";
import { inFlightLimits } from "../domain/gateway/in-flight-limits.ts";
import { asksForUpgrade } from "../domain/gateway/request-head.ts";
import { type Client, createClient } from "../kube/client/client.ts";
import { createDiscovery } from "../kube/client/discovery.ts";
import type { Transport } from "../kube/client/transport.ts";
import { loadCredentials } from "../kube/credentials/load-credentials.ts";
import { environmentProxies } from "../kube/credentials/proxies.ts";
import { createForwarder } from "../kube/forward/forwarder.ts";
import type { InformerDeps } from "../kube/informer/informer-options.ts";
import {
  type OutwardConnectionDeps,
  ownTransport,
  type ProcessConnectionDeps,
  provingInformerDeps,
} from "../kube/process-connection.ts";
import { sleep } from "../runtime/clock.ts";
import type { HostPort, LogLevel } from "../runtime/config-values.ts";
import { readEnvironment } from "../runtime/environment.ts";
import { refusalCounter } from "../runtime/http-server.ts";
import {
  type ServerContext,
  type ProcessPart,
  runProcess,
  type ServerProcess,
} from "../runtime/run-process.ts";
import { frontLimits } from "../runtime/server-options.ts";
import { startServer } from "../runtime/server.ts";
import type { GatewayFront } from "./admit-request.ts";
import { headTimeoutMs } from "./forward-upgrade.ts";
import { type GatewayHandler, gatewayHandler } from "./gateway-handler.ts";
import { cutCounter, exposeRequests, gatewayMetrics } from "./gateway-metrics.ts";
import { ImpersonationRight } from "./impersonation-right.ts";
import { cutReasons, InFlightRequests } from "./in-flight-requests.ts";
import { bodyShares } from "./own-body.ts";
import type { GatewayUpstream } from "./upstreams.ts";

/** Connections for requests of clients with a short answer. */
export const mostAnswers = 128;
/** Time until load balancers know of the end of a replica, also after each new connection. */
const leastDrainMs = 5_000;
const watchesOverMs = 10_000;

/** What a gateway and a direct endpoint have in common. */
interface GatewayBase {
  readonly transport: Transport;
  readonly client: Client;
  /** What informers need. */
  readonly following: InformerDeps;
  readonly inFlight: InFlightRequests;
  /** The API server of the process itself. */
  readonly upstream: GatewayUpstream;
  /** The handler of requests, with what decides about them. */
  readonly handlerWith: (deciding: GatewayFront) => GatewayHandler;
  /** The process with the parts that decide about requests. */
  readonly partsWith: (deciding: readonly ProcessPart[]) => readonly ProcessPart[];
}

/** How {@link gatewayBase} names itself, and when nothing can be decided. */
interface GatewayBaseOptions {
  readonly fieldManager: string;
  /** The directory of config with the rights of the process. */
  readonly directory: "gateway" | "direct-endpoint";
  /** Whether what decides about requests is current. */
  readonly isFresh: () => boolean;
}

/** Opens the connections to the API server of the process. */
export function gatewayBase(
  { fieldManager, directory, isFresh }: GatewayBaseOptions,
  deps: ProcessConnectionDeps,
): GatewayBase {
  const { credentials, clock, log, metrics } = deps;
  const transport = ownTransport(deps);
  const client = createClient(transport, fieldManager);
  const following = provingInformerDeps(transport, deps);
  const inFlight = new InFlightRequests({
    clock,
    yielder: following.yielder,
    isFresh,
    onCut: cutCounter(cutReasons, metrics),
  });
  const discovery = createDiscovery({ transport, clock, log });
  const forwarder = createForwarder({
    credentials,
    clock,
    headTimeoutMs,
    connections: mostAnswers,
  });
  const impersonation = new ImpersonationRight({ client, clock, transport, directory });
  const freshness = { run: async (signal: AbortSignal) => inFlight.watchFreshness(signal) };
  exposeRequests(() => inFlight.counts(), metrics);
  return {
    transport,
    client,
    following,
    inFlight,
    upstream: { credentials, discovery, forwarder },
    handlerWith: (deciding) =>
      gatewayHandler({
        ...deciding,
        clock,
        inFlight,
        log,
        limits: inFlightLimits,
        bodies: bodyShares(),
        metrics: gatewayMetrics(metrics),
      }),
    partsWith: (deciding) => [
      ...[transport, forwarder, freshness, discovery, ...deciding, impersonation],
    ],
  };
}

/** A process that forwards requests, without its servers. */
export interface GatewayAssembly {
  readonly handler: GatewayHandler;
  readonly inFlight: InFlightRequests;
  /** What decides about requests, and the connections. */
  readonly parts: readonly ProcessPart[];
  /** Sets the CA of the certificates that clients see (PEM). */
  readonly useCa?: (ca: string) => void;
  /** Those that Latchkey makes. */
  readonly certificates: Certificates;
}

/** The options of every process that forwards requests; durations in milliseconds. */
interface GatewayProcessConfig {
  readonly kubeconfig: string | undefined;
  readonly httpAddress: HostPort;
  readonly logLevel: LogLevel;
  readonly certificateDirectory: string | undefined;
  readonly drainTimeout: number;
}

/** What runs: its name in the log, where it serves clients, and what it is made of. */
interface GatewayProgram {
  readonly name: string;
  readonly address: HostPort;
  readonly assemble: (deps: OutwardConnectionDeps) => GatewayAssembly;
}

/** Runs a process that forwards requests until SIGTERM. */
export function runGatewayProcess(
  config: GatewayProcessConfig,
  program: GatewayProgram,
  process: ServerProcess,
): Promise<void> {
  return runProcess(
    {
      name: program.name,
      config,
      async assemble(context) {
        const env = readEnvironment();
        const { clock, log } = context;
        const credentials = await loadCredentials({ ...config, env }, clock, log);
        const proxyOf = environmentProxies(env);
        const deps = { ...context, credentials, proxyOf, log: credentials.quiet(log) };
        const assembly = program.assemble(deps);
        const server = clientServer({ ...config, ...program }, assembly, context);
        return {
          parts: [credentials.part, ...assembly.parts, server],
          started: { server: credentials.server },
        };
      },
    },
    process,
  );
}

/** The server of clients; stops once requests and connections end, or the drain timeout is over. */
function clientServer(
  { name, address, certificateDirectory, drainTimeout }: GatewayProcessConfig & GatewayProgram,
  { handler, inFlight, certificates, useCa }: GatewayAssembly,
  context: ServerContext,
): ProcessPart {
  const { clock, log, metrics } = context;
  return certifiedServer(
    {
      async start(tls) {
        const server = await startServer({
          ...address,
          ...handler,
          clock,
          tls,
          limits: frontLimits,
          isUpgrade: asksForUpgrade,
          onRefused: refusalCounter("gateway", ["connection"], metrics),
        });
        log.info({ url: server.url }, `${name} listens`);
        return server;
      },
      certificateDirectory,
      certificates,
      missing: "no certificate yet",
      onTls: (tls) => useCa?.(tls.clientAuthority),
      async drain(server) {
        const { leastMs, watchesMs, restMs } = drainTimes(drainTimeout);
        await sleep(leastMs, { clock });
        await Promise.all([
          server.drain({ leastMs, mostMs: restMs }),
          inFlight.endStreams(watchesMs),
        ]);
      },
    },
    context,
  );
}

/** How a process that stops divides its drain timeout, in milliseconds. */
interface DrainTimes {
  /** It serves as before, so that load balancers observe that it is not ready. */
  readonly leastMs: number;
  /** Then open watches are ended one by one. */
  readonly watchesMs: number;
  /** Meanwhile requests and connections end; the rest is closed. */
  readonly restMs: number;
}

/** Divides the drain timeout, in milliseconds. */
export function drainTimes(timeoutMs: number): DrainTimes {
  const leastMs = Math.min(leastDrainMs, timeoutMs);
  const restMs = timeoutMs - leastMs;
  return { leastMs, watchesMs: Math.min(watchesOverMs, restMs), restMs };
}
