import { followCertificateFiles } from "../certificates/certificate-files.ts";
import { loadCredentials } from "../kube/credentials/load-credentials.ts";
import { aborted, type Clock, sleep } from "../runtime/clock.ts";
import { readEnvironment } from "../runtime/environment.ts";
import { type FrontServer, startFrontServer } from "../runtime/front-server.ts";
import type { HostPort, LogLevel } from "../runtime/config-values.ts";
import {
  httpRefusals,
  refusalCounter,
  type ServerTls,
  startHttpServer,
} from "../runtime/http-server.ts";
import { createLogger, type Logger } from "../runtime/log.ts";
import { createMetrics, type Metrics } from "../runtime/metrics.ts";
import {
  healthRoute,
  metricsRoute,
  type Readiness,
  readyRoute,
  served,
} from "../runtime/routes.ts";
import { exitOnFailure, type ServerProcess, shutdownSignal } from "../runtime/shutdown.ts";
import { TlsListener } from "../runtime/tls-listener.ts";
import { asksForUpgrade } from "../domain/gateway/request-head.ts";
import type { ProcessConnectionDeps } from "../kube/process-connection.ts";
import type { FrontAssembly } from "./process-parts.ts";

const closeGraceMs = 2_000;
/** A load balancer that learns later of the end of a replica finds nobody listening. */
const leastDrainMs = 5_000;
const watchesOverMs = 10_000;

/** The options of every process that forwards requests; durations in milliseconds. */
interface FrontConfig {
  readonly kubeconfig: string | undefined;
  readonly httpAddress: HostPort;
  readonly logLevel: LogLevel;
  readonly certificateDirectory: string | undefined;
  readonly drainTimeout: number;
}

/** What runs: its name in the log, where it serves clients, and what it is made of. */
interface FrontProgram {
  readonly name: string;
  readonly address: HostPort;
  readonly assemble: (deps: ProcessConnectionDeps) => FrontAssembly;
}

/** Runs a process that forwards requests until SIGTERM. */
export async function runFront(
  config: FrontConfig,
  { name, address, assemble }: FrontProgram,
  { clock, random, exit }: ServerProcess,
): Promise<void> {
  const log = createLogger({ level: config.logLevel });
  const metrics = createMetrics();
  const signal = shutdownSignal({ process, clock, log, exitHard: exit });
  const credentials = await loadCredentials({ ...config, env: readEnvironment() }, clock);
  const assembly = assemble({ credentials, clock, random, log, metrics });
  const front = frontOf(
    { name, address },
    { assembly, clock, log, metrics, onFailure: exitOnFailure({ exit }, log) },
  );
  const readiness = (): Readiness => {
    const reasons = [
      ...(signal.aborted ? ["shutting down"] : []),
      ...assembly.problems(),
      ...(front.isListening() ? [] : ["no certificate yet"]),
    ];
    return { ready: reasons.length === 0, reasons, warnings: assembly.warnings() };
  };
  const server = await startHttpServer({
    ...config.httpAddress,
    ...served([healthRoute(), readyRoute(readiness), metricsRoute(metrics)]),
    onRefused: refusalCounter("http", httpRefusals, metrics),
    clock,
    log,
  });
  log.info({ url: server.url, apiServer: credentials.server }, `${name} started`);

  const following = new AbortController();
  const useTls = (tls: ServerTls): void => {
    front.useTls(tls);
    assembly.useCa(tls.clientAuthority);
  };
  const { certificateDirectory: directory } = config;
  const certificates =
    directory === undefined
      ? assembly.keepCertificates(following.signal, useTls)
      : followCertificateFiles(directory, {
          ...{ clock, log, signal: following.signal },
          onChange: useTls,
        });
  const followed = Promise.all([assembly.run(following.signal), certificates]);
  await Promise.race([aborted(signal), followed]);
  log.info({}, `${name} stops`);
  await drain(await front.server, assembly, { drainTimeout: config.drainTimeout, clock });
  following.abort();
  await followed;
  await Promise.all([server.close(closeGraceMs), assembly.close()]);
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

/** The server of clients. */
function frontOf(
  { name, address }: Pick<FrontProgram, "name" | "address">,
  {
    assembly,
    clock,
    log,
    metrics,
    onFailure,
  }: {
    readonly assembly: FrontAssembly;
    readonly clock: Clock;
    readonly log: Logger;
    readonly metrics: Metrics;
    readonly onFailure: (error: unknown) => void;
  },
): TlsListener<FrontServer> {
  return new TlsListener(async (tls) => {
    const server = await startFrontServer({
      ...{ ...address, ...assembly.handler, clock, tls },
      isUpgrade: asksForUpgrade,
      onRefused: refusalCounter("gateway", ["connection"], metrics),
    });
    log.info({ port: server.port }, `${name} listens`);
    return server;
  }, onFailure);
}

/** Serves until requests and connections end, for the drain timeout at most. */
async function drain(
  server: FrontServer | undefined,
  { inFlight }: Pick<FrontAssembly, "inFlight">,
  { drainTimeout, clock }: { readonly drainTimeout: number; readonly clock: Clock },
): Promise<void> {
  if (server === undefined) return;
  const { leastMs, watchesMs, restMs } = drainTimes(drainTimeout);
  await sleep(leastMs, { clock });
  await Promise.all([server.drain(restMs), inFlight.endStreams(watchesMs)]);
}
