import { duration, hostNames, hostPort, httpsOrigin, optional, text } from "./config-values.ts";
import { type ConfigOf, type OptionTable, serverOptions } from "./options.ts";

/** Every option of `latchkey gateway`. */
export const gatewayOptions = {
  ...serverOptions,
  gatewayAddress: {
    value: "<host:port>",
    initial: "0.0.0.0:8443",
    help: "address for requests of clients, over TLS",
    parse: hostPort,
  },
  serviceName: {
    value: "<name>",
    initial: "latchkey-gateway",
    help: "name of the gateway's Service; certificates are for <name>.<namespace>.svc",
    parse: text,
  },
  /** DNS names beside those of the Service. */
  externalNames: {
    value: "<names>",
    initial: "",
    help: "more DNS names and IP addresses in the certificate that Latchkey makes, separated by commas, such as those that clients use",
    parse: hostNames,
  },
  /** Without a trailing slash; undefined: not known. */
  externalUrl: {
    value: "<url>",
    initial: "",
    help: "https URL at which clients reach the gateway, such as https://latchkey.example.com, for the list of connected clusters; if unset, the list has no addresses",
    parse: optional(httpsOrigin),
  },
  /** Where certificates come from; undefined: Latchkey makes them. */
  certificateDirectory: {
    value: "<directory>",
    initial: "",
    help: "directory with tls.crt, tls.key and ca.crt, such as from cert-manager, read again when they change; if unset, Latchkey makes its own certificates",
    parse: optional(text),
  },
  /** Milliseconds. */
  drainTimeout: {
    value: "<duration>",
    initial: "55s",
    help: "maximum time after SIGTERM for requests and connections to end; the gateway serves for 5s, then ends open watches one by one within 10s; 0 ends at once",
    parse: duration({ unit: 1000, least: 0 }),
  },
} as const satisfies OptionTable;

/** Configuration of `latchkey gateway`. */
export type GatewayConfig = ConfigOf<typeof gatewayOptions>;
