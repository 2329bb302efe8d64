import { ConfigError } from "../runtime/config-values.ts";
import { readTextFile } from "../runtime/read-text-file.ts";
import { caCertificates } from "../tokens/certificate-pem.ts";

/**
 * Reads the CAs of the issuer's server (PEM) from the file of `--certificate-authority`; undefined
 * without a file. Throws a ConfigError if the file has no certificates.
 */
export function readIssuerAuthority(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  const option = "--certificate-authority";
  const certificates = caCertificates(readTextFile({ option, path }));
  if (certificates !== undefined) return certificates;
  throw new ConfigError(option, path, "must be a file of PEM certificates");
}
