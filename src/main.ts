import { fieldManager, ownObjects } from "./api/names.ts";
import { keyOf } from "./api/object.ts";
import { stringAt } from "./api/parse.ts";
import { printTrustConfig } from "./cli/trust-config.ts";
import { assembleController } from "./controllers/assemble.ts";
import { publishedKeyRoutes } from "./controllers/published-keys.ts";
import { type Credentials, CredentialsError } from "./kube/credentials.ts";
import { createClient } from "./kube/http-client.ts";
import { loadCredentials } from "./kube/load-credentials.ts";
import { createTransport } from "./kube/transport.ts";
import { systemClock as clock } from "./runtime/clock.ts";
import { ConfigError } from "./runtime/config-values.ts";
import {
  readControllerConfig,
  readPodApiServer,
  readTrustConfigOptions,
  readWebhookConfig,
} from "./runtime/config.ts";
import { type ControllerConfig, controllerHelp } from "./runtime/controller-config.ts";
import { wantsHelp } from "./runtime/flags.ts";
import { followCertificateFiles } from "./runtime/certificate-files.ts";
import { type HttpServer, startHttpServer, type ServerTls } from "./runtime/http-server.ts";
import { createLogger } from "./runtime/log.ts";
import { createMetrics } from "./runtime/metrics.ts";
import { healthRoute, metricsRoute, type Readiness, readyRoute, served } from "./runtime/routes.ts";
import { shutdownSignal } from "./runtime/shutdown.ts";
import { aborted } from "./runtime/sleep.ts";
import { trustConfigHelp } from "./runtime/trust-config-options.ts";
import { type WebhookConfig, webhookHelp } from "./runtime/webhook-config.ts";
import type { ObservedSigningKeys } from "./tokens/signing-keys.ts";
import { assembleWebhook } from "./webhooks/assemble.ts";

const closeGraceMs = 2_000;
/**
 * A load balancer or kube-proxy that learns of the end of a replica later than this finds nobody
 * listening.
 */
const leastDrainMs = 5_000;
const requestTimeoutMs = 30_000;

function credentialsFrom({
  kubeconfig,
}: Pick<ControllerConfig, "kubeconfig">): Promise<Credentials> {
  return loadCredentials({ kubeconfig, pod: readPodApiServer() }, clock);
}

async function runController(config: ControllerConfig): Promise<number> {
  const log = createLogger({ level: config.logLevel });
  const metrics = createMetrics();
  const signal = shutdownSignal({ process, clock, log, exitHard: (code) => process.exit(code) });
  const credentials = await credentialsFrom(config);
  const options = {
    ...config,
    prefixes: { user: config.userPrefix, team: config.teamPrefix },
    writers: config.writeConcurrency,
    lease: {
      leaseDuration: config.leaseDuration,
      renewDeadline: config.renewDeadline,
      retryPeriod: config.retryPeriod,
    },
  };
  const assembly = assembleController(options, {
    credentials,
    clock,
    random: Math.random,
    log,
    metrics,
  });
  const { stores, unprovenBecause } = assembly.informers;
  const readiness = (): Readiness => ({
    ready: unprovenBecause().length === 0,
    reasons: unprovenBecause(),
  });
  const ownKeys = (): ObservedSigningKeys | undefined =>
    stores.signingKeys.get(keyOf({ namespace: config.namespace, name: ownObjects.signingKeys }));
  const routes = [
    healthRoute(),
    readyRoute(readiness),
    metricsRoute(metrics),
    ...publishedKeyRoutes(config.issuer, ownKeys),
  ];
  const server = await startHttpServer({
    ...config.httpAddress,
    ...served(routes),
    onRefused: (reason) => metrics.refusedHttp("http", reason),
    clock,
    log,
  });
  log.info(
    { url: server.url, identity: config.identity, apiServer: credentials.server },
    "controller started",
  );

  const end = await assembly.run(signal);
  log.info({ end }, "controller stops");
  if (end === "lost") process.exit(1);
  await Promise.all([server.close(closeGraceMs), assembly.close()]);
  return 0;
}

async function runWebhook(config: WebhookConfig): Promise<number> {
  const log = createLogger({ level: config.logLevel });
  const metrics = createMetrics();
  const signal = shutdownSignal({ process, clock, log, exitHard: (code) => process.exit(code) });
  const credentials = await credentialsFrom(config);
  const options = { ...config, prefixes: { user: config.userPrefix, team: config.teamPrefix } };
  const assembly = assembleWebhook(options, {
    credentials,
    clock,
    random: Math.random,
    log,
    metrics,
  });
  let answering: Promise<HttpServer> | undefined;
  let isAnswering = false;
  const onTls = (tls: ServerTls): void => {
    if (answering !== undefined) return void answering.then((server) => server.useTls(tls));
    answering = startHttpServer({
      ...config.webhookAddress,
      ...served(assembly.routes, assembly.isAdmissionSegment),
      onRefused: (reason) => metrics.refusedHttp("webhook", reason),
      clock,
      log,
      tls,
    });
    void answering.then(() => (isAnswering = true));
  };
  const missing = (): readonly string[] => [
    ...(signal.aborted ? ["shutting down"] : []),
    ...assembly.book.unprovenBecause(),
    ...(isAnswering ? [] : ["no certificate yet"]),
  ];
  const readiness = (): Readiness => ({
    ready: missing().length === 0,
    reasons: missing(),
    warnings: assembly.warnings(),
  });
  const server = await startHttpServer({
    ...config.httpAddress,
    ...served([healthRoute(), readyRoute(readiness), metricsRoute(metrics)]),
    onRefused: (reason) => metrics.refusedHttp("http", reason),
    clock,
    log,
  });
  log.info({ url: server.url, apiServer: credentials.server }, "webhook started");

  // Answers need what is followed: it ends when nobody is answered any more.
  const following = new AbortController();
  const directory = config.certificateDirectory;
  const certificates =
    directory === undefined
      ? assembly.keepCertificates(following.signal, onTls)
      : followCertificateFiles(directory, {
          clock,
          log,
          signal: following.signal,
          onChange: onTls,
        });
  const followed = Promise.all([assembly.run(following.signal), certificates]);
  await Promise.race([aborted(signal), followed]);
  log.info({}, "webhook stops");
  const { drainTimeout: mostMs } = config;
  await (
    await answering
  )?.drain({ leastMs: Math.min(leastDrainMs, mostMs), mostMs, graceMs: closeGraceMs });
  following.abort();
  await followed;
  await Promise.all([server.close(closeGraceMs), assembly.close()]);
  return 0;
}

async function runTrustConfig(argv: readonly string[]): Promise<number> {
  const options = readTrustConfigOptions(argv);
  const credentials = await credentialsFrom(options);
  const transport = createTransport({
    credentials,
    clock,
    connections: 1,
    timeoutMs: requestTimeoutMs,
  });
  const serverVersion = async (): Promise<string> =>
    stringAt(
      JSON.parse((await transport.request({ method: "GET", path: "/version" })).text),
      "gitVersion",
    ) ?? "";
  try {
    await printTrustConfig(options, {
      client: createClient(transport, fieldManager),
      serverVersion,
      print: (text) => process.stdout.write(text),
    });
  } finally {
    await transport.close();
  }
  return 0;
}

const usage = `Usage: latchkey <command> [options]

Commands:
  controller   keeps SharedSecrets, OwnedAccessKeys and DirectClusterEndpointTokens true
  webhook      tells the API server whose an access key is, and whether a request stays within its scope
  trust-config --authorization
               prints what kube-apiserver needs to ask the webhook: files and flags

latchkey <command> --help tells the options of a command.
`;

function helpOf(command: string | undefined): (() => string) | undefined {
  if (command === "controller") return controllerHelp;
  if (command === "webhook") return webhookHelp;
  return command === "trust-config" ? trustConfigHelp : undefined;
}

async function main([command, ...argv]: readonly string[]): Promise<number> {
  const help = helpOf(command);
  if (help !== undefined && wantsHelp(argv)) {
    process.stdout.write(help());
    return 0;
  }
  if (command === "controller") return runController(readControllerConfig(argv));
  if (command === "webhook") return runWebhook(readWebhookConfig(argv));
  if (command === "trust-config" && argv[0] === "--authorization")
    return runTrustConfig(argv.slice(1));
  const asked = command === undefined || command === "--help" || command === "help";
  (asked ? process.stdout : process.stderr).write(
    asked ? usage : `latchkey: unknown command ${JSON.stringify(command)}\n\n${usage}`,
  );
  return command === undefined || !asked ? 2 : 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const isUserError = error instanceof ConfigError || error instanceof CredentialsError;
  process.stderr.write(
    `latchkey: ${error instanceof Error ? (isUserError ? error.message : (error.stack ?? error.message)) : String(error)}\n`,
  );
  process.exitCode = isUserError ? 2 : 1;
}
