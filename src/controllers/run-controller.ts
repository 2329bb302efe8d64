import { ownObjects } from "../api/names.ts";
import { keyOf } from "../api/object.ts";
import { loadCredentials } from "../kube/load-credentials.ts";
import { readPodApiServer, uniqueIdentity } from "../runtime/config.ts";
import type { ControllerConfig } from "../runtime/controller-config.ts";
import { startHttpServer } from "../runtime/http-server.ts";
import { createLogger } from "../runtime/log.ts";
import { createMetrics } from "../runtime/metrics.ts";
import {
  healthRoute,
  metricsRoute,
  type Readiness,
  readyRoute,
  served,
} from "../runtime/routes.ts";
import { type ServerProcess, shutdownSignal } from "../runtime/shutdown.ts";
import type { ObservedSigningKeys } from "../tokens/signing-keys.ts";
import { assembleController, type Assembly } from "./assemble.ts";
import { publishedKeyRoutes } from "./published-keys.ts";

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
  const credentials = await loadCredentials({ ...config, pod: readPodApiServer() }, clock);
  const assembly = assembleController(
    {
      ...config,
      identity,
      prefixes: { user: config.userPrefix, team: config.teamPrefix },
      writers: config.writeConcurrency,
      maximumBodyBytesInFlight: config.maxBodyBytesInFlight,
      lease: {
        leaseDuration: config.leaseDuration,
        renewDeadline: config.renewDeadline,
        retryPeriod: config.retryPeriod,
      },
    },
    { credentials, clock, random, log, metrics },
  );
  const server = await startHttpServer({
    ...config.httpAddress,
    ...served([metricsRoute(metrics), ...routesOf(config, assembly)]),
    onRefused: (reason) => metrics.refusedHttp("http", reason),
    clock,
    log,
  });
  log.info({ url: server.url, identity, apiServer: credentials.server }, "controller started");

  const end = await assembly.run(signal);
  log.info({ end }, "controller stops");
  if (end === "lost") exit(1);
  await Promise.all([server.close(closeGraceMs), assembly.close()]);
}

function routesOf(
  { namespace, issuer }: Pick<ControllerConfig, "namespace" | "issuer">,
  { informers: { stores, staleReasons } }: Pick<Assembly, "informers">,
): Parameters<typeof served>[0] {
  const readiness = (): Readiness => ({
    ready: staleReasons().length === 0,
    reasons: staleReasons(),
  });
  const ownKeys = (): ObservedSigningKeys | undefined =>
    stores.signingKeys.get(keyOf({ namespace, name: ownObjects.signingKeys }));
  return [healthRoute(), readyRoute(readiness), ...publishedKeyRoutes(issuer, ownKeys)];
}
