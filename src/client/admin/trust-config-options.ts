import { withoutEnd } from "../../api/text-end.ts";
import {
  httpsUrl,
  namePrefix,
  objectName,
  optional,
  type ParseValue,
  text,
  trueOrFalse,
  UsageError,
} from "../../runtime/config-values.ts";
import { clusterAudienceOptions, directTokenOptions } from "../../authn/token-options.ts";
import { type ConfigOf, flagOf, type OptionTable } from "../../runtime/options.ts";

const withoutSlashAtEnd: ParseValue<string> = (value) => withoutEnd(value, "/");

const { clusterName, ownAudienceOnly } = clusterAudienceOptions;

/** The options that only `--authentication` reads, without the options of direct tokens. */
const authenticationOptions = {
  clusterName: {
    ...clusterName,
    help: `with --authentication: ${clusterName.help}`,
    parse: optional(clusterName.parse),
  },
  ownAudienceOnly: { ...ownAudienceOnly, help: `with --authentication: ${ownAudienceOnly.help}` },
  discoveryUrl: {
    value: "<url>",
    initial: "",
    help:
      "with --authentication: URL at which kube-apiserver of the connected cluster reads the " +
      "issuer's discovery document, such as " +
      "https://latchkey.example.com/.well-known/openid-configuration; " +
      "if unset, /.well-known/openid-configuration below --issuer",
    parse: optional(httpsUrl),
  },
  issuerCertificateAuthority: {
    value: "<file>",
    initial: "",
    help:
      "with --authentication: file with the PEM certificates of the CAs of the issuer's " +
      "server, or system for the public CAs that the machine of kube-apiserver trusts; " +
      "required with --authorization too; if unset, the CA in Secret " +
      "latchkey-issuer-certificates of the central cluster",
    parse: optional(text),
  },
  usernamePrefix: {
    value: "<text>",
    initial: "",
    help:
      "with --authentication: prefix of the usernames of direct tokens in the connected " +
      "cluster",
    parse: namePrefix,
  },
  groupsPrefix: {
    value: "<text>",
    initial: "",
    help: "with --authentication: prefix of the groups of direct tokens in the connected cluster",
    parse: namePrefix,
  },
} as const satisfies OptionTable;

/** Every option of `kubectl latchkey trust-config`. */
export const trustConfigOptions = {
  authorization: {
    value: "",
    initial: "false",
    help:
      "print an AuthorizationConfiguration, an AdmissionConfiguration and three kubeconfigs, " +
      "with which kube-apiserver of the central cluster calls the webhook; " +
      "this or --authentication is required; both are for a connected cluster with latchkey " +
      "webhook --direct, whose kubeconfig is then needed",
    parse: trueOrFalse,
  },
  authentication: {
    value: "",
    initial: "false",
    help:
      "print an AuthenticationConfiguration, with which kube-apiserver of a connected cluster " +
      "trusts direct tokens; this or --authorization is required; " +
      "with both, also an AuthorizationConfiguration and a kubeconfig, " +
      "with which it calls latchkey webhook --direct there",
    parse: trueOrFalse,
  },
  serviceName: {
    value: "<name>",
    initial: "",
    help:
      "with --authorization: name of the webhook's Service; " +
      "if unset, latchkey-webhook, with --authentication too latchkey-direct-authorizer",
    parse: optional(objectName("Service", "latchkey-webhook")),
  },
  webhookUrl: {
    value: "<url>",
    initial: "",
    help:
      "with --authorization: URL at which kube-apiserver reaches the webhook; " +
      "if unset, the cluster IP of the Service",
    parse: optional(httpsUrl),
  },
  ...directTokenOptions,
  ...authenticationOptions,
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

/** Configuration of `kubectl latchkey trust-config`. */
export type TrustConfigOptions = ConfigOf<typeof trustConfigOptions> & {
  readonly namespace: string;
};

/**
 * Throws a UsageError unless `--authorization`, `--authentication` or both are set, with the
 * options that they require, and without options that nothing reads. Options with a default are not
 * checked.
 */
export function checkTrustConfigOptions(options: Omit<TrustConfigOptions, "namespace">): void {
  const { authorization, authentication, webhookUrl } = options;
  if (authentication) connectedClusterName(options);
  if (authorization && authentication) {
    if (options.issuerCertificateAuthority !== undefined) return;
    throw new UsageError(
      "--authentication with --authorization requires --issuer-certificate-authority, " +
        "a file with the CA certificates of the issuer, or system for public CAs, " +
        "because the kubeconfig is that of the connected cluster",
    );
  }
  if (!authorization && !authentication)
    throw new UsageError(
      "trust-config requires --authorization, which prints the files and flags that " +
        "kube-apiserver needs to call the webhook, or --authentication, " +
        "which prints those that a connected cluster needs to trust direct tokens; " +
        "set both for a connected cluster with latchkey webhook --direct",
    );
  if (authorization) {
    const set = Object.entries(options).find(
      ([name, value]) => Object.hasOwn(authenticationOptions, name) && Boolean(value),
    );
    if (set !== undefined)
      throw new UsageError(
        `--${flagOf(set[0])} has no effect with --authorization alone; ` +
          "remove it, or set --authentication",
      );
    return;
  }
  if (webhookUrl !== undefined)
    throw new UsageError(
      "--webhook-url has no effect with --authentication alone; " +
        "remove it, or set --authorization too",
    );
}

/** The name of the connected cluster; throws a UsageError without it. */
export function connectedClusterName({
  clusterName: name,
}: Pick<TrustConfigOptions, "clusterName">): string {
  if (name !== undefined) return name;
  throw new UsageError(
    "--authentication requires --cluster-name, the name of the connected cluster, " +
      "such as east: a token for another cluster is refused",
  );
}
