import {
  clusterAudienceOptions,
  directTokenOptions,
  virtualClusterNamespaceOption,
} from "../authn/token-options.ts";
import { issuerFollowingOptions } from "../published/issuer-options.ts";
import { namePrefix, text } from "../runtime/config-values.ts";
import {
  clientServerOptions,
  type ConfigOf,
  type OptionTable,
  processOptions,
} from "../runtime/options.ts";
import { clientAddress, drainTimeoutOf } from "./gateway-options.ts";

const { issuer, audience } = directTokenOptions;

/** Every option of `latchkey direct-endpoint`. */
export const directEndpointOptions = {
  ...processOptions,
  issuer,
  audience,
  ...clusterAudienceOptions,
  ...virtualClusterNamespaceOption,
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
  endpointAddress: clientAddress,
  serviceName: {
    value: "<name>",
    initial: "latchkey-direct-endpoint",
    help: "name of the endpoint's Service; certificates are for <name>.<namespace>.svc",
    parse: text,
  },
  externalNames: clientServerOptions.externalNames,
  certificateDirectory: clientServerOptions.certificateDirectory,
  /** Milliseconds. */
  drainTimeout: drainTimeoutOf("endpoint"),
} as const satisfies OptionTable;

/** Configuration of `latchkey direct-endpoint`. */
export type DirectEndpointConfig = ConfigOf<typeof directEndpointOptions>;
