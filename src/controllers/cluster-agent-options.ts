import {
  ConfigError,
  duration,
  isNamespaceName,
  optional,
  type ParseValue,
  text,
  UsageError,
} from "../runtime/config-values.ts";
import { type ConfigOf, type OptionTable, processOptions } from "../runtime/options.ts";
import {
  checkControllerConfig,
  controllerOptions,
  namespaceOptions,
} from "./controller-options.ts";

const second = 1000;

/** The name of a connected cluster, of which the namespace of its outbox is made. */
const outboxCluster: ParseValue<string> = (value, option) => {
  // The longest name of a namespace, without its prefix.
  if (value.length <= 46 && isNamespaceName(value)) return value;
  throw new ConfigError(
    option,
    value,
    "must be the name of this cluster in the central cluster, such as east",
  );
};

const { identity, leaseDuration, renewDeadline, retryPeriod, workers } = controllerOptions;

/** Every option of `latchkey cluster-agent`. */
export const clusterAgentOptions = {
  ...processOptions,
  centralKubeconfig: {
    value: "<file>",
    initial: "",
    help: "required: kubeconfig with the credential of this agent for the central cluster",
    parse: optional(text),
  },
  clusterName: {
    value: "<name>",
    initial: "",
    help: "required: name of this cluster in the central cluster, such as east",
    parse: outboxCluster,
  },
  identity,
  ...namespaceOptions,
  /** Milliseconds; undefined is never. */
  deleteAfterDisconnect: {
    value: "<duration>",
    initial: "",
    help:
      "time without the central cluster after which all copies are deleted, at least 1h; " +
      "the agent counts only the time for which it runs; if unset, copies stay",
    parse: optional(duration({ unit: second, least: 3600 })),
  },
  leaseDuration,
  renewDeadline,
  retryPeriod,
  workers,
  writeConcurrency: {
    ...controllerOptions.writeConcurrency,
    help: "maximum number of concurrent requests for copies",
  },
  maxBodyBytesInFlight: controllerOptions.maxBodyBytesInFlight,
} as const satisfies OptionTable;

/** Configuration of `latchkey cluster-agent`. */
export type ClusterAgentConfig = ConfigOf<typeof clusterAgentOptions>;

/** Throws a UsageError without a central kubeconfig, and a ConfigError for invalid lease times. */
export function checkClusterAgentConfig(config: ClusterAgentConfig): void {
  if (config.centralKubeconfig === undefined)
    throw new UsageError(
      "--central-kubeconfig (LATCHKEY_CENTRAL_KUBECONFIG) is required: the file with the " +
        "credential of this agent for the central cluster",
    );
  checkControllerConfig(config);
}
