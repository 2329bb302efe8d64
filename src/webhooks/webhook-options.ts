import { keyOptions, quotaOptions } from "../authn/key-options.ts";
import {
  checkVirtualClusterNamespace,
  clusterName,
  directTokenOptions,
  virtualClusterNamespaceOption,
} from "../authn/token-options.ts";
import { issuerFollowingOptions } from "../published/issuer-options.ts";
import {
  dnsNames,
  duration,
  hostPort,
  optional,
  pathSegment,
  text,
  trueOrFalse,
  UsageError,
  wholeNumber,
} from "../runtime/config-values.ts";
import {
  clientServerOptions,
  type ConfigOf,
  flagOf,
  type Option,
  type OptionTable,
  processOptions,
} from "../runtime/options.ts";

/** The default name of the Service, which is also that of the ServiceAccount. */
export const webhookServices = {
  webhook: "latchkey-webhook",
  direct: "latchkey-direct-authorizer",
} as const;

function onlyDirect<Described extends Option<unknown>>(option: Described): Described {
  return { ...option, help: `with --direct: ${option.help}` };
}

/** The options that only `--direct` reads, without `--issuer`, which a shared variable may set. */
const directOptions = {
  clusterName: onlyDirect({
    value: "<name>",
    initial: "",
    help:
      "required: name of this cluster in the scopes of tokens, such as east; " +
      "<project>/<name> for a virtual cluster",
    parse: optional(clusterName),
  }),
  virtualClusterNamespace: onlyDirect(virtualClusterNamespaceOption.virtualClusterNamespace),
  jwksUrl: onlyDirect(issuerFollowingOptions.jwksUrl),
  certificateAuthority: onlyDirect(issuerFollowingOptions.certificateAuthority),
  maximumListAge: onlyDirect(issuerFollowingOptions.maximumListAge),
} as const satisfies OptionTable;

/** Every option of `latchkey webhook`. */
export const webhookOptions = {
  direct: {
    value: "",
    initial: "false",
    help:
      "run in a connected cluster, beside its kube-apiserver: only authorize requests with " +
      "direct tokens, by their scope and the issuer's list of revoked tokens",
    parse: trueOrFalse,
  },
  ...processOptions,
  ...keyOptions,
  ...quotaOptions,
  webhookAddress: {
    value: "<host:port>",
    initial: ":8443",
    help: "address for requests of kube-apiserver, over TLS",
    parse: hostPort,
  },
  serviceName: {
    value: "<name>",
    initial: "",
    help:
      "name of the webhook's Service; certificates are for <name>.<namespace>.svc; " +
      "if unset, latchkey-webhook, with --direct latchkey-direct-authorizer",
    parse: optional(text),
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
  certificateDirectory: clientServerOptions.certificateDirectory,
  /** The first segment of admission paths; undefined if Latchkey generates and publishes it. */
  admissionPath: {
    value: "<segment>",
    initial: "",
    help:
      "first segment of admission paths, 32 to 128 of [A-Za-z0-9_-]; " +
      "required with --certificate-directory; you then maintain path and caBundle in the " +
      "webhook configurations; if unset, Latchkey makes a segment and maintains both",
    parse: optional(pathSegment),
  },
  requireAdmissionClientCertificate: {
    value: "",
    initial: "false",
    help:
      "answer admission, too, only with kube-apiserver's client certificate; " +
      "set it once every kube-apiserver has the --admission-control-config-file of kubectl " +
      "latchkey trust-config --authorization",
    parse: trueOrFalse,
  },
  /** Milliseconds; longer than kube-apiserver keeps an idle connection (90 s). */
  drainTimeout: {
    value: "<duration>",
    initial: "95s",
    help:
      "maximum time after SIGTERM for kube-apiserver to end its connections; " +
      "meanwhile the webhook answers requests and is not ready, for 5s at least; 0 ends at once",
    parse: duration({ unit: 1000, least: 0 }),
  },
  issuer: onlyDirect(directTokenOptions.issuer),
  ...directOptions,
} as const satisfies OptionTable;

/** Configuration of `latchkey webhook`. */
export type WebhookConfig = ConfigOf<typeof webhookOptions>;

/** What the authorizer of a connected cluster requires. */
interface DirectWebhookConfig extends WebhookConfig {
  readonly clusterName: string;
}

/**
 * The configuration with what `--direct` requires; undefined without `--direct`. Throws a
 * UsageError without the name of the cluster.
 */
export function directWebhookConfig(config: WebhookConfig): DirectWebhookConfig | undefined {
  if (!config.direct) return undefined;
  const { clusterName: name } = config;
  if (name !== undefined) return { ...config, clusterName: name };
  throw new UsageError(
    "--cluster-name is required with --direct: the name of this cluster in the scopes of " +
      "tokens, such as east",
  );
}

/**
 * Throws a UsageError if a required option is missing: `--cluster-name` with `--direct`, and
 * `--admission-path` with `--certificate-directory` without it; or if an option has no effect, or
 * no meaning beside another one.
 */
export function checkWebhookConfig(config: WebhookConfig): void {
  const { certificateDirectory, admissionPath, requireAdmissionClientCertificate } = config;
  if (directWebhookConfig(config) !== undefined) {
    checkVirtualClusterNamespace(config);
    if (admissionPath === undefined && !requireAdmissionClientCertificate) return;
    const given = requireAdmissionClientCertificate
      ? flagOf("requireAdmissionClientCertificate")
      : flagOf("admissionPath");
    throw new UsageError(
      `--${given} has no effect with --direct, because a connected cluster has no admission by ` +
        "Latchkey; remove it",
    );
  }
  const set = Object.entries(config).find(
    ([name, value]) => Object.hasOwn(directOptions, name) && value !== undefined,
  );
  if (set !== undefined)
    throw new UsageError(`--${flagOf(set[0])} has no effect without --direct; remove it`);
  if (certificateDirectory === undefined || admissionPath !== undefined) return;
  throw new UsageError(
    "--admission-path is required with --certificate-directory, " +
      "because the webhook then publishes no path: make a segment with openssl rand -hex 20, " +
      "and write /<segment>/admit/<webhook> into clientConfig.service.path",
  );
}
