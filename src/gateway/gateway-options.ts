import { keyOptions } from "../authn/key-options.ts";
import { duration, hostPort, httpsOrigin, optional, text } from "../runtime/config-values.ts";
import {
  clientServerOptions,
  type ConfigOf,
  type OptionTable,
  processOptions,
} from "../runtime/options.ts";

/** The address at which a process that forwards requests serves its clients. */
export const clientAddress = {
  value: "<host:port>",
  initial: ":8443",
  help: "address for requests of clients, over TLS",
  parse: hostPort,
} as const;

/** How long a process that forwards requests ends its connections, in milliseconds. */
export function drainTimeoutOf(what: "gateway" | "endpoint") {
  return {
    value: "<duration>",
    initial: "55s",
    help:
      "maximum time after SIGTERM for requests and connections to end; " +
      `the ${what} serves for 5s, then ends open watches one by one within 10s; 0 ends at once`,
    parse: duration({ unit: 1000, least: 0 }),
  } as const;
}

/** Every option of `latchkey gateway`. */
export const gatewayOptions = {
  ...processOptions,
  ...keyOptions,
  gatewayAddress: clientAddress,
  serviceName: {
    value: "<name>",
    initial: "latchkey-gateway",
    help: "name of the gateway's Service; certificates are for <name>.<namespace>.svc",
    parse: text,
  },
  externalNames: clientServerOptions.externalNames,
  /** Without a trailing slash; undefined: not known. */
  externalUrl: {
    value: "<url>",
    initial: "",
    help:
      "https URL at which clients reach the gateway, such as https://latchkey.example.com, " +
      "for the list of connected clusters and for kubeconfigs of new keys; " +
      "if unset, the list has no addresses",
    parse: optional(httpsOrigin),
  },
  certificateDirectory: clientServerOptions.certificateDirectory,
  /** Milliseconds. */
  drainTimeout: drainTimeoutOf("gateway"),
} as const satisfies OptionTable;

/** Configuration of `latchkey gateway`. */
export type GatewayConfig = ConfigOf<typeof gatewayOptions>;
