import {
  ConfigError,
  dnsNames,
  duration,
  hostPort,
  optional,
  pathSegment,
  text,
  wholeNumber,
} from "./config-values.ts";
import {
  commandHelp,
  type Option,
  option,
  optionReader,
  type OptionSources,
  readShared,
  type SharedConfig,
  sharedOptions,
} from "./options.ts";

/** Every option of `latchkey webhook`. */
const options = {
  ...sharedOptions,
  webhookAddress: option("webhook-address", {
    value: "<host:port>",
    initial: "0.0.0.0:8443",
    help: "where the API server is answered, over TLS",
    parse: hostPort,
  }),
  serviceName: option("service-name", {
    value: "<name>",
    initial: "latchkey-webhook",
    help: "the Service in front of the webhook; certificates name <name>.<namespace>.svc",
    parse: text,
  }),
  quotaKeys: option("quota-keys", {
    value: "<number>",
    initial: "1000",
    help: "most OwnedAccessKeys of one requester, expired ones included",
    parse: wholeNumber({ least: 1, most: 1_000_000 }),
  }),
  certificateNames: option("certificate-names", {
    value: "<names>",
    initial: "",
    help: "more DNS names for the certificate that Latchkey makes, separated by commas",
    parse: dnsNames,
  }),
  certificateDirectory: option("certificate-directory", {
    value: "<directory>",
    initial: "",
    help: "tls.crt, tls.key and ca.crt, such as cert-manager's; read again when they change; without it Latchkey makes its own",
    parse: optional(text),
  }),
  admissionPath: option("admission-path", {
    value: "<segment>",
    initial: "",
    help: "first segment of the paths of admission, 32 to 128 of [A-Za-z0-9_-]; you then keep path and caBundle in the webhook configurations; needed with --certificate-directory; without it Latchkey makes one and writes both there",
    parse: optional(pathSegment),
  }),
  drainTimeout: option("drain-timeout", {
    value: "<duration>",
    initial: "20s",
    help: "longest wait after SIGTERM for kube-apiserver to end its connections; the webhook answers meanwhile and is not ready, for 5s at least; 0 ends at once",
    parse: duration({ unit: 1000, least: 0 }),
  }),
};

const allOptions: readonly Option<unknown>[] = Object.values(options);

/** Configuration of `latchkey webhook`. */
export interface WebhookConfig extends SharedConfig {
  readonly webhookAddress: { readonly host: string; readonly port: number };
  readonly serviceName: string;
  /** The most keys of one requester. */
  readonly quotaKeys: number;
  /** DNS names beside those of the Service. */
  readonly certificateNames: readonly string[];
  /** Where certificates come from; undefined: Latchkey makes them. */
  readonly certificateDirectory: string | undefined;
  /** The first segment of the paths of admission; undefined: Latchkey makes and publishes it. */
  readonly admissionPath: string | undefined;
  /** Milliseconds. */
  readonly drainTimeout: number;
}

/** The configuration; throws a ConfigError that names option, value and fix. */
export function parseWebhookConfig(sources: OptionSources): WebhookConfig {
  const read = optionReader(allOptions, sources);
  if (
    read(options.certificateDirectory) !== undefined &&
    read(options.admissionPath) === undefined
  ) {
    throw new ConfigError(
      "--admission-path",
      "",
      "is required with --certificate-directory: the webhook then publishes nothing; make one with openssl rand -hex 20, and write /<segment>/admit/<webhook> into clientConfig.service.path",
    );
  }
  return {
    ...readShared(read),
    webhookAddress: read(options.webhookAddress),
    serviceName: read(options.serviceName),
    quotaKeys: read(options.quotaKeys),
    certificateNames: read(options.certificateNames),
    certificateDirectory: read(options.certificateDirectory),
    admissionPath: read(options.admissionPath),
    drainTimeout: read(options.drainTimeout),
  };
}

/** What `latchkey webhook --help` prints. */
export function webhookHelp(): string {
  return commandHelp("webhook", allOptions);
}
