import {
  ConfigError,
  duration,
  hostPort,
  httpsUrl,
  namePrefix,
  optional,
  type ParseValue,
  text,
  trueOrFalse,
} from "./config-values.ts";
import {
  clientServerOptions,
  type ConfigOf,
  directTokenOptions,
  type OptionTable,
  serverOptions,
} from "./options.ts";

const { kubeconfig, namespace, httpAddress, logLevel } = serverOptions;
const { issuer, audience } = directTokenOptions;

const name = "[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?";
const names = new RegExp(`^${name}(?:/${name})?$`);

/** The name of a connected cluster in scopes and audiences. */
export const clusterName: ParseValue<string> = (value, option) => {
  if (names.test(value)) return value;
  throw new ConfigError(
    option,
    value,
    "must be the name of a connected cluster, such as east, or a project and the name of a virtual cluster, such as web/dev",
  );
};

/** Options of what accepts direct tokens in a connected cluster. */
export const clusterAudienceOptions = {
  clusterName: {
    value: "<name>",
    initial: "",
    help: "required: name of this cluster in the scopes and audiences of tokens, such as east; <project>/<name> for a virtual cluster",
    parse: clusterName,
  },
  ownAudienceOnly: {
    value: "",
    initial: "false",
    help: "accept only tokens for this cluster, and none that every connected cluster accepts",
    parse: trueOrFalse,
  },
} as const satisfies OptionTable;

/** Options of what follows the issuer of direct tokens in a connected cluster. */
export const issuerFollowingOptions = {
  jwksUrl: {
    value: "<url>",
    initial: "",
    help: "URL of the public signing keys; if unset, /openid/v1/jwks below --issuer; the list of revoked tokens is read from `revoked` in the same directory",
    parse: optional(httpsUrl),
  },
  certificateAuthority: {
    value: "<file>",
    initial: "",
    help: "file with the PEM certificates of the CAs of the issuer's server; if unset, the public CAs",
    parse: optional(text),
  },
  /** Milliseconds. */
  maximumListAge: {
    value: "<duration>",
    initial: "",
    help: "maximum time since the issuer last confirmed its list of revoked tokens, after which no token is accepted; at least 2m; if unset, the last list is used until the issuer answers again",
    parse: optional(duration({ unit: 1000, least: 120 })),
  },
} as const satisfies OptionTable;

/** Every option of `latchkey direct-endpoint`. */
export const directEndpointOptions = {
  ...{ kubeconfig, namespace, httpAddress, logLevel, issuer, audience },
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
    help: "maximum time after SIGTERM for requests and connections to end; the endpoint serves for 5s, then ends open watches one by one within 10s; 0 ends at once",
    parse: duration({ unit: 1000, least: 0 }),
  },
} as const satisfies OptionTable;

/** Configuration of `latchkey direct-endpoint`. */
export type DirectEndpointConfig = ConfigOf<typeof directEndpointOptions>;
