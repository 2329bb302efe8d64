import { followCertificateFiles } from "../certificates/certificate-files.ts";
import { loadCredentials } from "../kube/credentials/load-credentials.ts";
import type { ProcessConnectionDeps } from "../kube/process-connection.ts";
import { readIssuerAuthority } from "../published/follow-issuer.ts";
import { aborted, type Clock } from "../runtime/clock.ts";
import { readEnvironment } from "../runtime/environment.ts";
import {
  httpRefusals,
  type HttpServer,
  refusalCounter,
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
import { assembleDirectAuthorizer } from "./assemble-direct.ts";
import { assembleWebhook } from "./assemble.ts";
import type { WebhookAssembly } from "./webhook-assembly.ts";
import { directWebhookConfig, type WebhookConfig, webhookServices } from "./webhook-options.ts";

const closeGraceMs = 2_000;
/**
 * Minimum time to accept connections after the shutdown signal, until load balancers and kube-proxy
 * have removed the replica.
 */
const leastDrainMs = 5_000;

/** Runs `latchkey webhook` until SIGTERM. */
export async function runWebhook(
  config: WebhookConfig,
  { clock, random, exit }: ServerProcess,
): Promise<void> {
  const log = createLogger({ level: config.logLevel });
  const metrics = createMetrics();
  const signal = shutdownSignal({ process, clock, log, exitHard: exit });
  const credentials = await loadCredentials({ ...config, env: readEnvironment() }, clock);
  const assembly = assemble(config, { credentials, clock, random, log, metrics });
  const onFailure = exitOnFailure({ exit }, log);
  const reviews = reviewServer({ config, assembly, clock, log, metrics, onFailure });
  const readiness = (): Readiness => {
    const reasons = [
      ...(signal.aborted ? ["shutting down"] : []),
      ...assembly.problems(),
      ...(reviews.isListening() ? [] : ["no certificate yet"]),
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
  log.info(
    { url: server.url, apiServer: credentials.server, direct: config.direct },
    "webhook started",
  );

  // Reviews need the caches, so informers stop after the review server has drained.
  const following = new AbortController();
  const directory = config.certificateDirectory;
  const certificates =
    directory === undefined
      ? assembly.keepCertificates(following.signal, reviews.useTls)
      : followCertificateFiles(directory, {
          clock,
          log,
          signal: following.signal,
          onChange: reviews.useTls,
        });
  const followed = Promise.all([assembly.run(following.signal), certificates]);
  await Promise.race([aborted(signal), followed]);
  log.info({}, "webhook stops");
  const leastMs = Math.min(leastDrainMs, config.drainTimeout);
  const drained = { leastMs, mostMs: config.drainTimeout, graceMs: closeGraceMs };
  await (await reviews.server)?.drain(drained);
  following.abort();
  await followed;
  await Promise.all([server.close(closeGraceMs), assembly.close()]);
}

/** The webhook of the management cluster, or with `--direct` the authorizer of a connected one. */
function assemble(config: WebhookConfig, deps: ProcessConnectionDeps): WebhookAssembly {
  const direct = directWebhookConfig(config);
  if (direct !== undefined) {
    const issuerCa = readIssuerAuthority(direct.certificateAuthority);
    const serviceName = direct.serviceName ?? webhookServices.direct;
    return assembleDirectAuthorizer({ ...direct, issuerCa, serviceName }, deps);
  }
  const prefixes = { user: config.userPrefix, team: config.teamPrefix };
  const serviceName = config.serviceName ?? webhookServices.webhook;
  return assembleWebhook({ ...config, prefixes, serviceName }, deps);
}

/** Dependencies of the review server. */
interface ReviewServerDeps {
  readonly config: Pick<WebhookConfig, "webhookAddress">;
  readonly assembly: Pick<WebhookAssembly, "routes" | "isAdmissionSegment">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Called if it cannot listen. */
  readonly onFailure: (error: unknown) => void;
}

/** The server for reviews by kube-apiserver. */
function reviewServer({
  config,
  assembly,
  clock,
  log,
  metrics,
  onFailure,
}: ReviewServerDeps): TlsListener<HttpServer> {
  return new TlsListener(
    (tls) =>
      startHttpServer({
        ...config.webhookAddress,
        ...served(assembly.routes, assembly.isAdmissionSegment),
        onRefused: refusalCounter("webhook", httpRefusals, metrics),
        ...{ clock, log, tls },
      }),
    onFailure,
  );
}
