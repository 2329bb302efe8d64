import { fieldManager, group, ownObjects } from "./api/names.ts";
import { keyOf } from "./api/object.ts";
import { createController } from "./controllers/controller.ts";
import { publishedKeyRoutes } from "./controllers/published-keys.ts";
import { loadCredentials } from "./kube/credentials.ts";
import { EventRecorder } from "./kube/event-recorder.ts";
import { createClient } from "./kube/http-client.ts";
import { LeaderElection } from "./kube/lease.ts";
import { createListWatch } from "./kube/list-watch.ts";
import { createTransport } from "./kube/transport.ts";
import { ConfigError } from "./runtime/config-values.ts";
import { type ControllerConfig, controllerHelp, readControllerConfig } from "./runtime/config.ts";
import { systemClock as clock } from "./runtime/clock.ts";
import { wantsHelp } from "./runtime/flags.ts";
import { startHttpServer } from "./runtime/http-server.ts";
import { createLogger } from "./runtime/log.ts";
import { createMetrics } from "./runtime/metrics.ts";
import { healthRoute, metricsRoute, readyRoute, routed } from "./runtime/routes.ts";
import { shutdownSignal } from "./runtime/shutdown.ts";
import type { SigningKeysSeen } from "./tokens/signing-keys.ts";

const requestTimeoutMs = 30_000;
const closeGraceMs = 2_000;

async function runController(config: ControllerConfig): Promise<number> {
  const log = createLogger({ level: config.logLevel });
  const metrics = createMetrics();
  const signal = shutdownSignal({ process, clock, log, exitHard: (code) => process.exit(code) });
  const credentials = await loadCredentials(config.kubeconfig, clock);
  const host = new URL(credentials.server).host;
  const onAnswer = ({ method, code }: { readonly method: string; readonly code: string }): void => metrics.request({ method, code, host });
  const way = { credentials, clock, timeoutMs: requestTimeoutMs, onAnswer };

  // Renewals have a connection of their own: they must neither be fenced nor wait behind anything. A socket that hangs
  // may use up half of the deadline, so that another try is left.
  const leaseTransport = createTransport({ ...way, connections: 1, timeoutMs: config.renewDeadline / 2 });
  const times = { leaseDuration: config.leaseDuration, renewDeadline: config.renewDeadline, retryPeriod: config.retryPeriod };
  const leaseClient = createClient(leaseTransport, fieldManager);
  const lease = { namespace: config.namespace, name: ownObjects.lease };
  const election = new LeaderElection({ client: leaseClient, clock, random: Math.random, log, metrics, lease, identity: config.identity, times });

  const transport = createTransport({ ...way, connections: config.writeConcurrency, fence: () => election.remainingMs() });
  const eventTransport = createTransport({ ...way, connections: 2 });
  const events = new EventRecorder({ client: createClient(eventTransport, fieldManager), clock, log, reporter: `${group}/latchkey`, identity: config.identity });
  const prefixes = { user: config.userPrefix, team: config.teamPrefix };
  const controller = createController(
    { ...config, prefixes, writers: config.writeConcurrency },
    { client: createClient(transport, fieldManager), listWatch: createListWatch(transport, clock), events, clock, random: Math.random, log, metrics },
  );

  const { informers } = controller;
  const readiness = (): { ready: boolean; reasons: readonly string[] } => {
    const waiting = informers.waitingFor();
    return { ready: waiting.length === 0, reasons: waiting.map((plural) => `${plural} not listed yet`) };
  };
  const ownKeys = (): SigningKeysSeen | undefined => informers.stores.signingKeys.get(keyOf({ namespace: config.namespace, name: ownObjects.signingKeys }));
  const routes = [healthRoute(), readyRoute(readiness), metricsRoute(metrics), ...publishedKeyRoutes(config.issuer, ownKeys)];
  const server = await startHttpServer({ ...config.httpAddress, handler: routed(routes), clock, log });
  log.info({ url: server.url, identity: config.identity, apiServer: credentials.server }, "controller started");

  const following = new AbortController();
  const followed = controller.follow(following.signal);
  const end = await election.run({ signal, onLeading: (leading) => controller.lead(leading) });
  log.info({ end }, "controller stops");
  // What is still in flight when the Lease is lost must not keep the process alive.
  if (end === "lost") process.exit(1);
  following.abort();
  await Promise.all([server.close(closeGraceMs), ...[transport, eventTransport, leaseTransport].map((open) => open.close())]);
  await followed;
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
  const isUserError = error instanceof ConfigError;
  process.stderr.write(`latchkey: ${error instanceof Error ? (isUserError ? error.message : (error.stack ?? error.message)) : String(error)}\n`);
  process.exitCode = isUserError ? 2 : 1;
}
