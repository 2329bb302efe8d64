import { ownObjects } from "./api/names.ts";
import { keyOf } from "./api/object.ts";
import { assembleController } from "./controllers/assemble.ts";
import { publishedKeyRoutes } from "./controllers/published-keys.ts";
import { CredentialsError, loadCredentials } from "./kube/credentials.ts";
import { systemClock as clock } from "./runtime/clock.ts";
import { ConfigError } from "./runtime/config-values.ts";
import { type ControllerConfig, controllerHelp, readControllerConfig } from "./runtime/config.ts";
import { wantsHelp } from "./runtime/flags.ts";
import { startHttpServer } from "./runtime/http-server.ts";
import { createLogger } from "./runtime/log.ts";
import { createMetrics } from "./runtime/metrics.ts";
import { healthRoute, metricsRoute, type Readiness, readyRoute, routed } from "./runtime/routes.ts";
import { shutdownSignal } from "./runtime/shutdown.ts";
import type { SigningKeysSeen } from "./tokens/signing-keys.ts";

const closeGraceMs = 2_000;

async function runController(config: ControllerConfig): Promise<number> {
  const log = createLogger({ level: config.logLevel });
  const metrics = createMetrics();
  const signal = shutdownSignal({ process, clock, log, exitHard: (code) => process.exit(code) });
  const credentials = await loadCredentials(config.kubeconfig, clock);
  const options = {
    ...config,
    prefixes: { user: config.userPrefix, team: config.teamPrefix },
    writers: config.writeConcurrency,
    lease: { leaseDuration: config.leaseDuration, renewDeadline: config.renewDeadline, retryPeriod: config.retryPeriod },
  };
  const assembly = assembleController(options, { credentials, clock, random: Math.random, log, metrics });
  const { stores, waitingFor } = assembly.informers;
  const readiness = (): Readiness => ({ ready: waitingFor().length === 0, reasons: waitingFor().map((plural) => `${plural} not listed yet`) });
  const ownKeys = (): SigningKeysSeen | undefined => stores.signingKeys.get(keyOf({ namespace: config.namespace, name: ownObjects.signingKeys }));
  const routes = [healthRoute(), readyRoute(readiness), metricsRoute(metrics), ...publishedKeyRoutes(config.issuer, ownKeys)];
  const server = await startHttpServer({ ...config.httpAddress, handler: routed(routes), clock, log });
  log.info({ url: server.url, identity: config.identity, apiServer: credentials.server }, "controller started");

  const end = await assembly.run(signal);
  log.info({ end }, "controller stops");
  if (end === "lost") process.exit(1);
  await Promise.all([server.close(closeGraceMs), assembly.close()]);
  return 0;
}

const usage = `Usage: latchkey <command> [options]

Commands:
  controller   keeps SharedSecrets, OwnedAccessKeys and DirectClusterEndpointTokens true

latchkey <command> --help tells the options of a command.
`;

async function main([command, ...argv]: readonly string[]): Promise<number> {
  if (command === "controller" && wantsHelp(argv)) {
    process.stdout.write(controllerHelp());
    return 0;
  }
  if (command === "controller") return runController(readControllerConfig(argv));
  const asked = command === undefined || command === "--help" || command === "help";
  (asked ? process.stdout : process.stderr).write(asked ? usage : `latchkey: unknown command ${JSON.stringify(command)}\n\n${usage}`);
  return command === undefined || !asked ? 2 : 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const isUserError = error instanceof ConfigError || error instanceof CredentialsError;
  process.stderr.write(`latchkey: ${error instanceof Error ? (isUserError ? error.message : (error.stack ?? error.message)) : String(error)}\n`);
  process.exitCode = isUserError ? 2 : 1;
}
