import { aborted, type Clock } from "./clock.ts";
import type { HostPort, LogLevel } from "./config-values.ts";
import { httpRefusals, refusalCounter, startHttpServer } from "./http-server.ts";
import { createLogger, type LogFields, type Logger } from "./log.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import {
  healthRoute,
  metricsRoute,
  type Readiness,
  readyRoute,
  type Route,
  served,
} from "./routes.ts";
import { shutdownSignal } from "./shutdown.ts";

/** What a server needs of its process; `exit` ends it at once. */
export interface ServerProcess {
  readonly clock: Clock;
  /** Returns numbers in [0, 1). */
  readonly random: () => number;
  readonly exit: (code: number) => void;
  /** Emits SIGTERM and SIGINT. */
  readonly signals: Pick<NodeJS.EventEmitter, "on">;
}

/** What everything in a process may use; tests have their own. */
export interface ProcessContext {
  readonly clock: Clock;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** What the servers of a process may use. */
export interface ServerContext extends ProcessContext {
  /** Ends a process that cannot serve its clients, with the cause in its log. */
  readonly onFailure: (error: unknown) => void;
}

/** What a process is made of; each part does what of this it has to do. */
export interface ProcessPart {
  /** Works until the signal aborts. */
  run?(signal: AbortSignal): Promise<void>;
  /** Why the process cannot serve, one sentence each. */
  problems?(): readonly string[];
  /** What will stop it without action, one sentence each. */
  warnings?(): readonly string[];
  /** Why only a restart can help, one sentence each. */
  restartReasons?(): readonly string[];
  /** Serves until its clients have left, while all parts still run. */
  drain?(): Promise<void>;
  /** Closes what it has open, once no part runs any more. */
  close?(): Promise<void> | void;
}

/** A process before its parts run. */
export interface AssembledProcess {
  /** Each after those that it depends on. */
  readonly parts: readonly ProcessPart[];
  /** What its first log line says. */
  readonly started: LogFields;
  /** Routes of its HTTP server beside those of metrics and health. */
  readonly routes?: readonly Route[];
  /** Leads until the signal aborts; when it is lost, the process exits with 1. */
  readonly lead?: (signal: AbortSignal) => Promise<"released" | "lost">;
}

/** What runs. */
interface Program {
  /** Its name in the log. */
  readonly name: string;
  readonly config: { readonly httpAddress: HostPort; readonly logLevel: LogLevel };
  readonly assemble: (context: ServerContext) => Promise<AssembledProcess>;
}

const closeGraceMs = 2_000;

/**
 * Runs a process until SIGTERM: starts its HTTP server, runs its parts, drains them, ends them and
 * closes them in reverse order. It exits with 1 when a part or its leading fails.
 */
export async function runProcess(
  { name, config, assemble }: Program,
  { clock, random, exit, signals }: ServerProcess,
): Promise<void> {
  const log = createLogger({ level: config.logLevel });
  const metrics = createMetrics();
  const signal = shutdownSignal({ process: signals, clock, log, exitHard: exit });
  const onFailure = (error: unknown): void => {
    log.error({ error }, "cannot serve; check address and certificate");
    exit(1);
  };
  const {
    parts,
    started,
    routes = [],
    lead,
  } = await assemble({
    clock,
    random,
    log,
    metrics,
    onFailure,
  });
  const restartReasons = (): readonly string[] => {
    const reasons = parts.flatMap((part) => part.restartReasons?.() ?? []);
    if (reasons.length > 0)
      log.error({ why: reasons }, `${name} is not live; only a restart can help`);
    return reasons;
  };
  const own = [
    healthRoute(restartReasons),
    readyRoute(() => readinessOf(parts, signal)),
    metricsRoute(metrics),
  ];
  const server = await startHttpServer({
    ...config.httpAddress,
    ...served([...own, ...routes]),
    clock,
    log,
    onRefused: refusalCounter("http", httpRefusals, metrics),
  });
  log.info({ url: server.url, ...started }, `${name} started`);

  const running = new AbortController();
  try {
    const ran = runParts(parts, running.signal);
    const end = await Promise.race([lead?.(signal) ?? aborted(signal), ran]);
    log.info(end === undefined ? {} : { end }, `${name} stops`);
    if (end === "lost") exit(1);
    // What a part drains for may need the other parts, so all of them run until then.
    await inReverse(parts, (part) => part.drain?.());
    running.abort();
    await ran;
    await Promise.all([server.close(closeGraceMs), closeParts(parts)]);
  } catch (error) {
    // The other parts would answer probes for a process that does nothing.
    log.error({ error }, `${name} failed and exits; it works again after a restart`);
    exit(1);
    running.abort();
    await server.close(0);
  }
}

/** Runs all parts until the signal aborts. */
export async function runParts(parts: readonly ProcessPart[], signal: AbortSignal): Promise<void> {
  await Promise.all(parts.map(async (part) => part.run?.(signal)));
}

/** Why the process of these parts cannot serve, one sentence each. */
export function problemsOf(parts: readonly ProcessPart[]): readonly string[] {
  return parts.flatMap((part) => part.problems?.() ?? []);
}

/** Closes all parts, beginning with the last one. */
export function closeParts(parts: readonly ProcessPart[]): Promise<void> {
  return inReverse(parts, (part) => part.close?.());
}

/** A process whose clients have to leave is not ready as soon as it stops. */
function readinessOf(parts: readonly ProcessPart[], signal: AbortSignal): Readiness {
  const isDraining = signal.aborted && parts.some((part) => part.drain !== undefined);
  const reasons = [...(isDraining ? ["shutting down"] : []), ...problemsOf(parts)];
  const warnings = parts.flatMap((part) => part.warnings?.() ?? []);
  return { ready: reasons.length === 0, reasons, warnings };
}

/** Does something with all parts at the same time, beginning with the last one. */
async function inReverse(
  parts: readonly ProcessPart[],
  act: (part: ProcessPart) => Promise<void> | void,
): Promise<void> {
  await Promise.all(parts.toReversed().map(async (part) => act(part)));
}
