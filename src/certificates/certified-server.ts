import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { SecretText } from "../api/secret-text.ts";
import { type Clock, sleep } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { errorCode } from "../runtime/read-text-file.ts";
import type { ProcessPart, ServerContext } from "../runtime/run-process.ts";
import type { ServerTls } from "../runtime/server-options.ts";
import { caCertificates, isPair } from "../tokens/certificate-pem.ts";
import type { Certificates } from "./certificates.ts";

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
  /** Those that Latchkey makes. */
  readonly certificates: Pick<Certificates, "run">;
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
  { clock, log, onFailure }: ServerContext,
): ProcessPart {
  let starting: Promise<S> | undefined;
  let isListening = false;
  let unusable: string | undefined;
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
        ? options.certificates.run(signal, useTls)
        : followCertificateFiles(directory, {
            clock,
            log,
            signal,
            onChange: useTls,
            onProblem: (why) => void (unusable = why),
          }),
    warnings: () =>
      unusable === undefined ? [] : [`the files in "${directory}" cannot be used: ${unusable}`],
    problems: () => (isListening ? [] : [options.missing]),
    ...(drain === undefined
      ? { close: async () => (await starting)?.close?.(closeGraceMs) }
      : { drain: async () => starting && drain(await starting) }),
  };
}

/** How {@link followCertificateFiles} follows the files. */
interface FollowOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Called with the content of the files, at once and after every change. */
  readonly onChange: (material: ServerTls) => void;
  /** Called with why the files cannot be used, and with undefined when they can. */
  readonly onProblem: (why: string | undefined) => void;
}

/** Interval between two reads; the kubelet updates a mounted Secret within about a minute. */
const lookMs = 10_000;

/**
 * Reads the certificate, key and CA from a directory with the files of a kubernetes.io/tls Secret;
 * rejects if one is missing or cannot be used, as while they are written.
 */
async function readCertificateFiles(directory: string): Promise<ServerTls> {
  const [certificate = "", privateKey = "", clientAuthority = ""] = await Promise.all(
    ["tls.crt", "tls.key", "ca.crt"].map((file) => readFile(join(directory, file), "utf8")),
  );
  if ([certificate, privateKey, clientAuthority].includes(""))
    throw Object.assign(new Error("a file is empty"), { code: "EMPTY" });
  if ([certificate, clientAuthority].some((pem) => caCertificates(pem) === undefined))
    throw Object.assign(new Error("a certificate is invalid"), { code: "INVALID" });
  if (!isPair({ certificate, privateKey: new SecretText(privateKey) }))
    throw Object.assign(new Error("the key is of another certificate"), { code: "MISMATCH" });
  return { certificate, privateKey, clientAuthority };
}

/** Follows the files of a directory until the signal aborts. */
export async function followCertificateFiles(
  directory: string,
  { clock, log, signal, onChange, onProblem }: FollowOptions,
): Promise<void> {
  let last = "";
  while (!signal.aborted) {
    try {
      const material = await readCertificateFiles(directory);
      const text = JSON.stringify(material);
      if (text !== last) onChange(material);
      last = text;
      onProblem(undefined);
    } catch (error) {
      // An update of the files may be incomplete.
      const why = errorCode(error) ?? "unreadable";
      onProblem(why);
      log.warn({ files: directory, why }, "certificate files are invalid");
    }
    await sleep(lookMs, { clock, signal });
  }
}
