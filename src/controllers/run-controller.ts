import { certifiedServer } from "../certificates/certified-server.ts";
import { loadCredentials } from "../kube/credentials/load-credentials.ts";
import { readEnvironment, uniqueIdentity } from "../runtime/environment.ts";
import { httpRefusals, refusalCounter, startHttpServer } from "../runtime/http-server.ts";
import { type Route, served } from "../runtime/routes.ts";
import {
  type AssembledProcess,
  type ServerContext,
  type ProcessPart,
  runProcess,
  type ServerProcess,
} from "../runtime/run-process.ts";
import { assembleController, type Assembly, type AssemblyOptions } from "./assemble.ts";
import type { ControllerConfig } from "./controller-options.ts";
import { createIssuer } from "./issuer.ts";

/** Runs `latchkey controller` until SIGTERM, or exits with 1 if the Lease is lost. */
export function runController(config: ControllerConfig, process: ServerProcess): Promise<void> {
  return runProcess(
    { name: "controller", config, assemble: (context) => assembleProcess(config, context) },
    process,
  );
}

async function assembleProcess(
  config: ControllerConfig,
  context: ServerContext,
): Promise<AssembledProcess> {
  const { clock } = context;
  const identity = config.identity ?? uniqueIdentity();
  const source = { ...config, env: readEnvironment() };
  const credentials = await loadCredentials(source, clock, context.log);
  const assembly = assembleController(assemblyOptions(config, identity), {
    ...context,
    credentials,
    log: credentials.quiet(context.log),
  });
  const { informers } = assembly;
  const { routes, parts } = createIssuer(config, informers, context);
  return {
    parts: [
      credentials.part,
      {
        problems: () => informers.staleReasons(),
        warnings: () => informers.warnings(),
        close: () => assembly.close(),
      },
      ...parts,
      assembly.policies,
      issuerServer(config, { assembly, routes }, context),
    ],
    started: { identity, server: credentials.server },
    routes,
    lead: (signal) => assembly.run(signal),
  };
}

/** The server of the issuer of direct tokens; every replica has one, leading or not. */
function issuerServer(
  config: ControllerConfig,
  { assembly, routes }: { readonly assembly: Assembly; readonly routes: readonly Route[] },
  context: ServerContext,
): ProcessPart {
  const { clock, log, metrics } = context;
  const { certificateDirectory, issuerAddress } = config;
  return certifiedServer(
    {
      async start(tls) {
        const server = await startHttpServer({
          ...issuerAddress,
          ...served(routes),
          clock,
          log,
          tls,
          onRefused: refusalCounter("issuer", httpRefusals, metrics),
        });
        log.info({ url: server.url }, "issuer listens");
        return server;
      },
      certificates: assembly.issuerCertificates(config),
      certificateDirectory,
      missing: "no certificate for the issuer yet",
    },
    context,
  );
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
