import { ownObjects } from "../api/names.ts";
import { keyOf } from "../api/object.ts";
import { loadCredentials } from "../kube/credentials/load-credentials.ts";
import { readEnvironment, uniqueIdentity } from "../runtime/environment.ts";
import type { ControllerConfig } from "./controller-options.ts";
import { httpRefusals, refusalCounter, startHttpServer } from "../runtime/http-server.ts";
import { createLogger } from "../runtime/log.ts";
import { createMetrics } from "../runtime/metrics.ts";
import {
  healthRoute,
  metricsRoute,
  type Readiness,
  readyRoute,
  served,
} from "../runtime/routes.ts";
import { exitOnFailure, type ServerProcess, shutdownSignal } from "../runtime/shutdown.ts";
import type { ObservedSigningKeys } from "../tokens/signing-keys.ts";
import { assembleController, type Assembly, type AssemblyOptions } from "./assemble.ts";
import { createIssuer } from "./issuer.ts";
import { exposePolls, RevokedPolls } from "./revoked-polls.ts";
import { publishedKeyRoutes, revokedTokensRoutes } from "./issuer-routes.ts";

const closeGraceMs = 2_000;

/** Runs `latchkey controller` until SIGTERM, or exits with 1 if the Lease is lost. */
export async function runController(
  config: ControllerConfig,
  { clock, random, exit }: ServerProcess,
): Promise<void> {
  const identity = config.identity ?? uniqueIdentity();
  const log = createLogger({ level: config.logLevel });
  const metrics = createMetrics();
  const signal = shutdownSignal({ process, clock, log, exitHard: exit });
  const credentials = await loadCredentials({ ...config, env: readEnvironment() }, clock);
  const assembly = assembleController(assemblyOptions(config, identity), {
    ...{ credentials, clock, random, log, metrics },
  });
  const keys = keysOf(config, assembly);
  const polls = new RevokedPolls(config.issuer, keys, { ...assembly.informers, clock });
  exposePolls(polls, metrics);
  const routes = [
    ...publishedKeyRoutes(config, keys, assembly.informers.published),
    ...revokedTokensRoutes(config, polls),
  ];
  const issuer = createIssuer(config, routes, {
    ...{ assembly, clock, log, metrics },
    onFailure: exitOnFailure({ exit }, log),
  });
  const readiness = (): Readiness => {
    const reasons = [
      ...assembly.informers.staleReasons(),
      ...(issuer.isListening() ? [] : ["no certificate for the issuer yet"]),
    ];
    return { ready: reasons.length === 0, reasons };
  };
  const server = await startHttpServer({
    ...config.httpAddress,
    ...served([metricsRoute(metrics), healthRoute(), readyRoute(readiness), ...routes]),
    onRefused: refusalCounter("http", httpRefusals, metrics),
    clock,
    log,
  });
  log.info({ url: server.url, identity, apiServer: credentials.server }, "controller started");

  const publishing = new AbortController();
  const published = issuer.run(publishing.signal);
  const end = await assembly.run(signal);
  log.info({ end }, "controller stops");
  if (end === "lost") exit(1);
  publishing.abort();
  const closed = [server, issuer].map((closing) => closing.close(closeGraceMs));
  // After the servers began to close, so that the clients send their next poll to another replica.
  polls.end();
  await Promise.all([...closed, assembly.close(), published]);
}

function assemblyOptions(config: ControllerConfig, identity: string): AssemblyOptions {
  const { leaseDuration, renewDeadline, retryPeriod } = config;
  return {
    ...config,
    identity,
    prefixes: { user: config.userPrefix, team: config.teamPrefix },
    writers: config.writeConcurrency,
    maximumBodyBytesInFlight: config.maxBodyBytesInFlight,
    lease: { leaseDuration, renewDeadline, retryPeriod },
  };
}

function keysOf(
  { namespace }: Pick<ControllerConfig, "namespace">,
  { informers: { stores } }: Pick<Assembly, "informers">,
): () => ObservedSigningKeys | undefined {
  const key = keyOf({ namespace, name: ownObjects.signingKeys });
  return () => stores.signingKeys.get(key);
}
