import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "./clock.ts";
import type { ServerTls } from "./http-server.ts";
import type { Logger } from "./log.ts";
import { sleep } from "./sleep.ts";

/** What following files needs. */
export interface CertificateFilesDeps {
  readonly clock: Pick<Clock, "wakeAfter">;
  readonly log: Logger;
}

/** A mounted Secret changes within a minute; a look costs next to nothing. */
const lookMs = 10_000;

/**
 * The certificate, key and authority of a directory with the files of a kubernetes.io/tls Secret;
 * rejects when one is missing.
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
 * Tells of the files' contents whenever they have changed, the first ones at once, until the signal
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
      // Half of a new set of files may be there.
      log.warn(
        { directory, why: error instanceof Error && "code" in error ? error.code : "unreadable" },
        "certificate files are invalid",
      );
    }
    await sleep(lookMs, { clock, signal });
  }
}
