import {
  dnsNames,
  duration,
  hostPort,
  optional,
  pathSegment,
  text,
  UsageError,
  wholeNumber,
} from "./config-values.ts";
import { type ConfigOf, type OptionTable, quotaOptions, serverOptions } from "./options.ts";

/** Every option of `latchkey webhook`. */
export const webhookOptions = {
  ...serverOptions,
  ...quotaOptions,
  webhookAddress: {
    value: "<host:port>",
    initial: "0.0.0.0:8443",
    help: "address for requests of kube-apiserver, over TLS",
    parse: hostPort,
  },
  serviceName: {
    value: "<name>",
    initial: "latchkey-webhook",
    help: "name of the webhook's Service; certificates are for <name>.<namespace>.svc",
    parse: text,
  },
  /** Maximum number of keys of one requester. */
  quotaKeys: {
    value: "<number>",
    initial: "1000",
    help: "maximum number of OwnedAccessKeys of one requester, expired keys included",
    parse: wholeNumber({ least: 1, most: 1_000_000 }),
  },
  /** DNS names in addition to those of the Service. */
  certificateNames: {
    value: "<names>",
    initial: "",
    help: "more DNS names in the certificate that Latchkey makes, separated by commas",
    parse: dnsNames,
  },
  /** Directory of the certificates; undefined if Latchkey generates them. */
  certificateDirectory: {
    value: "<directory>",
    initial: "",
    help: "directory with tls.crt, tls.key and ca.crt, such as from cert-manager, read again when they change; if unset, Latchkey makes its own certificates",
    parse: optional(text),
  },
  /** The first segment of admission paths; undefined if Latchkey generates and publishes it. */
  admissionPath: {
    value: "<segment>",
    initial: "",
    help: "first segment of admission paths, 32 to 128 of [A-Za-z0-9_-]; required with --certificate-directory; you then maintain path and caBundle in the webhook configurations; if unset, Latchkey makes a segment and maintains both",
    parse: optional(pathSegment),
  },
  /** Milliseconds. */
  drainTimeout: {
    value: "<duration>",
    initial: "20s",
    help: "maximum time after SIGTERM for kube-apiserver to end its connections; meanwhile the webhook answers requests and is not ready, for 5s at least; 0 ends at once",
    parse: duration({ unit: 1000, least: 0 }),
  },
} as const satisfies OptionTable;

/** Configuration of `latchkey webhook`. */
export type WebhookConfig = ConfigOf<typeof webhookOptions>;

/** Throws a UsageError if `--certificate-directory` is set without `--admission-path`. */
export function checkWebhookConfig({
  certificateDirectory,
  admissionPath,
}: Pick<WebhookConfig, "certificateDirectory" | "admissionPath">): void {
  if (certificateDirectory === undefined || admissionPath !== undefined) return;
  throw new UsageError(
    "--admission-path is required with --certificate-directory, because the webhook then publishes no path: make a segment with openssl rand -hex 20, and write /<segment>/admit/<webhook> into clientConfig.service.path",
  );
}
