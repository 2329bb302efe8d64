import { clusterAudienceOptions, directTokenOptions } from "../authn/token-options.ts";
import { issuerFollowingOptions } from "../published/issuer-options.ts";
import { duration, hostPort, namePrefix, text } from "../runtime/config-values.ts";
import {
  clientServerOptions,
  type ConfigOf,
  type OptionTable,
  processOptions,
} from "../runtime/options.ts";

const { issuer, audience } = directTokenOptions;

/** Every option of `latchkey direct-endpoint`. */
export const directEndpointOptions = {
  ...processOptions,
  ...{ issuer, audience },
  ...clusterAudienceOptions,
  ...issuerFollowingOptions,
  usernamePrefix: {
    value: "<text>",
    initial: "",
    help: "prefix of the usernames of tokens in this cluster",
    parse: namePrefix,
  },
  groupsPrefix: {
    value: "<text>",
    initial: "",
    help: "prefix of the groups of tokens in this cluster",
    parse: namePrefix,
  },
  endpointAddress: {
    value: "<host:port>",
    initial: "0.0.0.0:8443",
    help: "address for requests of clients, over TLS",
    parse: hostPort,
  },
  serviceName: {
    value: "<name>",
    initial: "latchkey-direct-endpoint",
    help: "name of the endpoint's Service; certificates are for <name>.<namespace>.svc",
    parse: text,
  },
  externalNames: clientServerOptions.externalNames,
  certificateDirectory: clientServerOptions.certificateDirectory,
  /** Milliseconds. */
  drainTimeout: {
    value: "<duration>",
    initial: "55s",
    help:
      "maximum time after SIGTERM for requests and connections to end; " +
      "the endpoint serves for 5s, then ends open watches one by one within 10s; 0 ends at once",
    parse: duration({ unit: 1000, least: 0 }),
  },
} as const satisfies OptionTable;

/** Configuration of `latchkey direct-endpoint`. */
export type DirectEndpointConfig = ConfigOf<typeof directEndpointOptions>;
