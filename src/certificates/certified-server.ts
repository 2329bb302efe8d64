import type { ServerTls } from "../runtime/http-server.ts";
import type { ProcessContext, ProcessPart } from "../runtime/run-process.ts";
import { followCertificateFiles } from "./certificate-files.ts";

/** A server whose certificates can be replaced while it runs. */
interface TlsServer {
  useTls(material: ServerTls): void;
  /** Closes every connection after at most this time, in milliseconds. */
  close?(graceMs: number): Promise<void>;
}

/** A server that needs certificates, and where they come from. */
interface CertifiedServerOptions<S extends TlsServer> {
  /** Starts the server with its first certificates. */
  readonly start: (tls: ServerTls) => Promise<S>;
  /** A directory with certificates; undefined if Latchkey makes them. */
  readonly certificateDirectory: string | undefined;
  /** Keeps the certificates that Latchkey makes; calls `onTls` for each set of them. */
  readonly keepCertificates: (
    signal: AbortSignal,
    onTls: (material: ServerTls) => void,
  ) => Promise<void>;
  /** Called for each set of certificates. */
  readonly onTls?: (material: ServerTls) => void;
  /** Why the process is not ready until the server listens. */
  readonly missing: string;
  /** Serves until the clients have left; without it, the server is closed with the process. */
  readonly drain?: (server: S) => Promise<void>;
}

const closeGraceMs = 2_000;

/** A server that listens as soon as it has certificates, and uses each further set of them. */
export function certifiedServer<S extends TlsServer>(
  { start, certificateDirectory: directory, ...options }: CertifiedServerOptions<S>,
  { clock, log, onFailure }: Pick<ProcessContext, "clock" | "log" | "onFailure">,
): ProcessPart {
  let starting: Promise<S> | undefined;
  let isListening = false;
  const useTls = (tls: ServerTls): void => {
    options.onTls?.(tls);
    if (starting !== undefined) return void starting.then((server) => server.useTls(tls));
    starting = start(tls);
    starting.then(() => (isListening = true), onFailure);
  };
  const { drain } = options;
  return {
    run: (signal) =>
      directory === undefined
        ? options.keepCertificates(signal, useTls)
        : followCertificateFiles(directory, { clock, log, signal, onChange: useTls }),
    problems: () => (isListening ? [] : [options.missing]),
    ...(drain === undefined
      ? { close: async () => (await starting)?.close?.(closeGraceMs) }
      : { drain: async () => starting && drain(await starting) }),
  };
}
