import {
  ConfigError,
  httpsUrl,
  optional,
  type ParseValue,
  text,
  trueOrFalse,
  UsageError,
} from "./config-values.ts";
import { type ConfigOf, type OptionTable, sharedOptions } from "./options.ts";

const minorVersion: ParseValue<number> = (value, where) => {
  const minor = Number(/^v?1\.(\d+)(?:\..*)?$/.exec(value)?.[1] ?? Number.NaN);
  if (Number.isNaN(minor))
    throw new ConfigError(where, value, "must be a version of Kubernetes, such as 1.36");
  return minor;
};

const withoutSlashAtEnd: ParseValue<string> = (value) => value.replace(/\/+$/, "");

/** Every option of `latchkey trust-config`. */
export const trustConfigOptions = {
  authorization: {
    value: "",
    initial: "false",
    help: "required: print an AuthorizationConfiguration and two kubeconfigs for kube-apiserver",
    parse: trueOrFalse,
  },
  ...sharedOptions,
  serviceName: {
    value: "<name>",
    initial: "latchkey-webhook",
    help: "name of the webhook's Service",
    parse: text,
  },
  /** Minor version of Kubernetes 1. */
  kubernetesVersion: {
    value: "<1.minor>",
    initial: "",
    help: "version of kube-apiserver that the files are for; if unset, that of the cluster",
    parse: optional(minorVersion),
  },
  webhookUrl: {
    value: "<url>",
    initial: "",
    help: "URL at which kube-apiserver reaches the webhook; if unset, the cluster IP of the Service",
    parse: optional(httpsUrl),
  },
  directory: {
    value: "<path>",
    initial: "/etc/kubernetes/latchkey",
    help: "directory of the files on the machine of kube-apiserver",
    parse: withoutSlashAtEnd,
  },
  output: {
    value: "<directory>",
    initial: "",
    help: "directory to write the files to; if unset, they are printed",
    parse: optional(text),
  },
} as const satisfies OptionTable;

/** Configuration of `latchkey trust-config`. */
export type TrustConfigOptions = ConfigOf<typeof trustConfigOptions>;

/** Throws a UsageError unless `--authorization` is set. */
export function checkTrustConfigOptions({
  authorization,
}: Pick<TrustConfigOptions, "authorization">): void {
  if (!authorization)
    throw new UsageError(
      "trust-config requires --authorization, which prints the files and flags that kube-apiserver needs to call the webhook",
    );
}
