import { certifiedServer } from "../certificates/certified-server.ts";
import { loadCredentials } from "../kube/credentials/load-credentials.ts";
import { environmentProxies } from "../kube/credentials/proxies.ts";
import type { OutwardConnectionDeps } from "../kube/process-connection.ts";
import { followIssuerAuthority } from "../published/follow-issuer.ts";
import { readEnvironment } from "../runtime/environment.ts";
import { httpRefusals, refusalCounter, startHttpServer } from "../runtime/http-server.ts";
import { served } from "../runtime/routes.ts";
import {
  type ServerContext,
  type ProcessPart,
  runProcess,
  type ServerProcess,
} from "../runtime/run-process.ts";
import { assembleDirectAuthorizer } from "./assemble-direct.ts";
import { assembleWebhook, type WebhookAssembly } from "./assemble.ts";
import { directWebhookConfig, type WebhookConfig, webhookServices } from "./webhook-options.ts";

const closeGraceMs = 2_000;
/**
 * Time without a new connection after which load balancers and kube-proxy have removed the replica.
 */
const leastDrainMs = 5_000;

/** Runs `latchkey webhook` until SIGTERM. */
export function runWebhook(config: WebhookConfig, process: ServerProcess): Promise<void> {
  return runProcess(
    {
      name: "webhook",
      config,
      async assemble(context) {
        const env = readEnvironment();
        const { clock, log } = context;
        const credentials = await loadCredentials({ ...config, env }, clock, log);
        const proxyOf = environmentProxies(env);
        const deps = { ...context, credentials, proxyOf, log: credentials.quiet(log) };
        const assembly = assemble(config, deps);
        return {
          parts: [credentials.part, ...assembly.parts, reviewServer(config, assembly, context)],
          started: { server: credentials.server, direct: config.direct },
        };
      },
    },
    process,
  );
}

/** The webhook of the central cluster, or with `--direct` the authorizer of a connected one. */
function assemble(config: WebhookConfig, deps: OutwardConnectionDeps): WebhookAssembly {
  const direct = directWebhookConfig(config);
  if (direct !== undefined) {
    const issuerCa = followIssuerAuthority(direct.certificateAuthority, deps);
    const serviceName = direct.serviceName ?? webhookServices.direct;
    return assembleDirectAuthorizer({ ...direct, issuerCa, serviceName }, deps);
  }
  const prefixes = { user: config.userPrefix, team: config.teamPrefix };
  const serviceName = config.serviceName ?? webhookServices.webhook;
  return assembleWebhook({ ...config, prefixes, serviceName }, deps);
}

/** The server for reviews by kube-apiserver. */
function reviewServer(
  { webhookAddress, certificateDirectory, drainTimeout: mostMs }: WebhookConfig,
  { routes, isAdmissionSegment, certificates }: WebhookAssembly,
  context: ServerContext,
): ProcessPart {
  const { clock, log, metrics } = context;
  const leastMs = Math.min(leastDrainMs, mostMs);
  return certifiedServer(
    {
      start: (tls) =>
        startHttpServer({
          ...webhookAddress,
          ...served(routes, isAdmissionSegment),
          clock,
          log,
          tls,
          onRefused: refusalCounter("webhook", httpRefusals, metrics),
        }),
      certificateDirectory,
      certificates,
      missing: "no certificate yet",
      drain: (server) => server.drain({ leastMs, mostMs, graceMs: closeGraceMs }),
    },
    context,
  );
}
