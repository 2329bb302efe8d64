import { followCertificateFiles } from "../certificates/certificate-files.ts";
import type { ServiceNames } from "../certificates/certificates.ts";
import type { Clock } from "../runtime/clock.ts";
import type { ControllerConfig } from "./controller-options.ts";
import {
  httpRefusals,
  type HttpServer,
  refusalCounter,
  startHttpServer,
} from "../runtime/http-server.ts";
import type { Logger } from "../runtime/log.ts";
import type { Metrics } from "../runtime/metrics.ts";
import { type Route, served } from "../runtime/routes.ts";
import { TlsListener } from "../runtime/tls-listener.ts";
import type { Assembly } from "./assemble.ts";

/** Dependencies of an {@link Issuer}. */
interface IssuerDeps {
  readonly assembly: Pick<Assembly, "keepCertificates">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Called if it cannot listen. */
  readonly onFailure: (error: unknown) => void;
}

/** The HTTPS server of the issuer of direct tokens; every replica has one, leading or not. */
interface Issuer {
  isListening(): boolean;
  /** Gets certificates, and serves from the first ones on, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  /** Closes every connection after at most this time, in milliseconds. */
  close(graceMs: number): Promise<void>;
}

/** Creates the issuer's server. */
export function createIssuer(
  config: Pick<ControllerConfig, "issuerAddress" | "certificateDirectory"> & ServiceNames,
  routes: readonly Route[],
  { assembly, clock, log, metrics, onFailure }: IssuerDeps,
): Issuer {
  const listener = new TlsListener<HttpServer>(async (tls) => {
    const server = await startHttpServer({
      ...config.issuerAddress,
      ...served(routes),
      onRefused: refusalCounter("issuer", httpRefusals, metrics),
      clock,
      log,
      tls,
    });
    log.info({ url: server.url }, "issuer listens");
    return server;
  }, onFailure);
  const { certificateDirectory: directory } = config;
  return {
    isListening: () => listener.isListening(),
    run: (signal) =>
      directory === undefined
        ? assembly.keepCertificates(config, signal, listener.useTls)
        : followCertificateFiles(directory, { clock, log, signal, onChange: listener.useTls }),
    close: async (graceMs) => (await listener.server)?.close(graceMs),
  };
}
