import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, sleep } from "../runtime/clock.ts";
import type { ServerTls } from "../runtime/http-server.ts";
import type { Logger } from "../runtime/log.ts";

/** Dependencies of {@link followCertificateFiles}. */
interface CertificateFilesDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Interval between two reads; the kubelet updates a mounted Secret within about a minute. */
const lookMs = 10_000;

/**
 * Reads the certificate, key and CA from a directory with the files of a kubernetes.io/tls Secret;
 * rejects if one is missing.
 */
async function readCertificateFiles(directory: string): Promise<ServerTls> {
  const [certificate, privateKey, clientAuthority] = await Promise.all(
    ["tls.crt", "tls.key", "ca.crt"].map((file) => readFile(join(directory, file), "utf8")),
  );
  return {
    certificate: certificate ?? "",
    privateKey: privateKey ?? "",
    clientAuthority: clientAuthority ?? "",
  };
}

/**
 * Calls `onChange` with the content of the files, at once and after every change, until the signal
 * aborts.
 */
export async function followCertificateFiles(
  directory: string,
  {
    clock,
    log,
    signal,
    onChange,
  }: CertificateFilesDeps & {
    readonly signal: AbortSignal;
    readonly onChange: (material: ServerTls) => void;
  },
): Promise<void> {
  let last = "";
  while (!signal.aborted) {
    try {
      const material = await readCertificateFiles(directory);
      const text = JSON.stringify(material);
      if (text !== last) onChange(material);
      last = text;
    } catch (error) {
      // An update of the files may be incomplete.
      log.warn(
        { directory, why: error instanceof Error && "code" in error ? error.code : "unreadable" },
        "certificate files are invalid",
      );
    }
    await sleep(lookMs, { clock, signal });
  }
}
