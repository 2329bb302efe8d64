import { ConfigError, httpsUrl, optional, type ParseValue, text } from "./config-values.ts";
import {
  commandHelp,
  type Option,
  option,
  optionReader,
  type OptionSources,
  sharedOptions,
} from "./options.ts";

const minorVersion: ParseValue<number> = (value, where) => {
  const minor = Number(/^v?1\.(\d+)(?:\..*)?$/.exec(value)?.[1] ?? Number.NaN);
  if (Number.isNaN(minor))
    throw new ConfigError(where, value, "must be a version of Kubernetes, such as 1.36");
  return minor;
};

/** Every option of `latchkey trust-config --authorization`. */
const options = {
  kubeconfig: sharedOptions.kubeconfig,
  namespace: sharedOptions.namespace,
  serviceName: option("service-name", {
    value: "<name>",
    initial: "latchkey-webhook",
    help: "the Service in front of the webhook",
    parse: text,
  }),
  kubernetesVersion: option("kubernetes-version", {
    value: "<1.minor>",
    initial: "",
    help: "version of kube-apiserver that the files are for; that of the cluster if unset",
    parse: optional(minorVersion),
  }),
  webhookUrl: option("webhook-url", {
    value: "<url>",
    initial: "",
    help: "how kube-apiserver reaches the webhook; the address of the Service in the cluster if unset",
    parse: optional(httpsUrl),
  }),
  directory: option("directory", {
    value: "<path>",
    initial: "/etc/kubernetes/latchkey",
    help: "where the files will be on the API server's machine",
    parse: text,
  }),
  output: option("output", {
    value: "<directory>",
    initial: "",
    help: "write the files there; print them if unset",
    parse: optional(text),
  }),
};

const allOptions: readonly Option<unknown>[] = Object.values(options);

/** What `latchkey trust-config` was asked for. */
export interface TrustConfigOptions {
  readonly kubeconfig: string | undefined;
  readonly namespace: string;
  readonly serviceName: string;
  /** Minor version of Kubernetes 1. */
  readonly kubernetesVersion: number | undefined;
  readonly webhookUrl: string | undefined;
  readonly directory: string;
  readonly output: string | undefined;
}

/**
 * The options after `trust-config --authorization`; throws a ConfigError that names option, value
 * and fix.
 */
export function parseTrustConfigOptions(sources: OptionSources): TrustConfigOptions {
  const read = optionReader(allOptions, sources);
  return {
    kubeconfig: read(options.kubeconfig),
    namespace: read(options.namespace),
    serviceName: read(options.serviceName),
    kubernetesVersion: read(options.kubernetesVersion),
    webhookUrl: read(options.webhookUrl),
    directory: read(options.directory).replace(/\/+$/, ""),
    output: read(options.output),
  };
}

/** What `latchkey trust-config --help` prints. */
export function trustConfigHelp(): string {
  return commandHelp("trust-config --authorization", allOptions);
}
