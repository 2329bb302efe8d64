import {
  ConfigError,
  duration,
  httpsUrl,
  namespaceName,
  optional,
  type ParseValue,
  text,
  trueOrFalse,
  UsageError,
} from "../runtime/config-values.ts";
import type { OptionTable } from "../runtime/options.ts";

/** Options of what mints direct tokens, and of what describes them to a connected cluster. */
export const directTokenOptions = {
  issuer: {
    value: "<url>",
    initial: "https://latchkey.latchkey-system.svc",
    help: "`iss` of direct tokens; set the same for controller and trust-config",
    parse: httpsUrl,
  },
  audience: {
    value: "<text>",
    initial: "management.service/direct",
    help:
      "`aud` of direct tokens; that of a token for one cluster is <text>/<cluster>; " +
      "set the same for controller, direct-endpoint and trust-config",
    parse: text,
  },
  /** Seconds. */
  maximumTokenTtl: {
    value: "<duration>",
    initial: "24h",
    help: "maximum lifetime of a direct token; set the same for controller and trust-config",
    parse: duration({ unit: 1, least: 1 }),
  },
} as const satisfies OptionTable;

const name = "[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?";
const names = new RegExp(`^${name}(?:/${name})?$`);

/** The name of a connected cluster in scopes and audiences. */
export const clusterName: ParseValue<string> = (value, option) => {
  if (names.test(value)) return value;
  throw new ConfigError(
    option,
    value,
    "must be the name of a connected cluster, such as east, " +
      "or a project and the name of a virtual cluster, such as web/dev",
  );
};

/** The namespace of a virtual cluster in the cluster that runs it; undefined if not known. */
export const virtualClusterNamespaceOption = {
  virtualClusterNamespace: {
    value: "<namespace>",
    initial: "",
    help:
      "namespace of this virtual cluster in the cluster that runs it, as rules[].virtualClusters " +
      "of scopes name it; requires a --cluster-name of the form <project>/<name>",
    parse: optional(namespaceName),
  },
} as const satisfies OptionTable;

/**
 * Throws a UsageError for a namespace of a virtual cluster where `--cluster-name` names no virtual
 * cluster.
 */
export function checkVirtualClusterNamespace({
  clusterName: named = "",
  virtualClusterNamespace,
}: Readonly<Record<"clusterName" | "virtualClusterNamespace", string | undefined>>): void {
  if (virtualClusterNamespace === undefined || named.includes("/")) return;
  throw new UsageError(
    `--virtual-cluster-namespace=${virtualClusterNamespace} requires that --cluster-name names a ` +
      `virtual cluster as <project>/<name>, such as web/dev; it is ${JSON.stringify(named)}`,
  );
}

/** Options of what accepts direct tokens in a connected cluster. */
export const clusterAudienceOptions = {
  clusterName: {
    value: "<name>",
    initial: "",
    help:
      "required: name of this cluster in the scopes and audiences of tokens, such as east; " +
      "<project>/<name> for a virtual cluster",
    parse: clusterName,
  },
  ownAudienceOnly: {
    value: "",
    initial: "false",
    help: "accept only tokens for this cluster, and none that every connected cluster accepts",
    parse: trueOrFalse,
  },
} as const satisfies OptionTable;
