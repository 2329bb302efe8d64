import { keyOptions, quotaOptions } from "../authn/key-options.ts";
import { directTokenOptions } from "../authn/token-options.ts";
import {
  byteQuantity,
  ConfigError,
  duration,
  hostNames,
  hostPort,
  httpsUrl,
  labelKeys,
  optional,
  text,
  trueOrFalse,
  wholeNumber,
} from "../runtime/config-values.ts";
import { type ConfigOf, type OptionTable, processOptions } from "../runtime/options.ts";

const second = 1000;

/** Options that decide what namespaces accept. */
export const namespaceOptions = {
  requireSyncFrom: {
    value: "<true|false>",
    initial: "false",
    help: "whether a namespace needs the annotation management.service/sync-from to receive copies",
    parse: trueOrFalse,
  },
  copyKeys: {
    value: "<keys>",
    initial: "",
    help:
      "keys of labels and annotations that copies may have in every namespace: <key> or " +
      "<domain>/*, separated by commas",
    parse: labelKeys,
  },
} as const satisfies OptionTable;

/** Every option of `latchkey controller`. */
export const controllerOptions = {
  ...processOptions,
  ...keyOptions,
  ...quotaOptions,
  identity: {
    value: "<name>",
    initial: "",
    help:
      "name of this process in the Lease, unique among running processes; " +
      "if unset, host name and a random part",
    parse: optional(text),
  },
  ...directTokenOptions,
  jwksUrl: {
    value: "<url>",
    initial: "",
    help:
      "URL at which other clusters read the public signing keys, for the discovery document; " +
      "if unset, /openid/v1/jwks below the issuer",
    parse: optional(httpsUrl),
  },
  issuerAddress: {
    value: "<host:port>",
    initial: ":8443",
    help:
      "address at which the issuer serves its discovery document and public signing keys, " +
      "over TLS",
    parse: hostPort,
  },
  serviceName: {
    value: "<name>",
    initial: "latchkey",
    help: "name of the issuer's Service; certificates are for <name>.<namespace>.svc",
    parse: text,
  },
  externalNames: {
    value: "<names>",
    initial: "",
    help:
      "more DNS names and IP addresses in the certificate that Latchkey makes, " +
      "separated by commas, such as those of --issuer and --jwks-url",
    parse: hostNames,
  },
  /** Where the issuer's certificates come from; undefined: Latchkey makes them. */
  certificateDirectory: {
    value: "<directory>",
    initial: "",
    help:
      "directory with tls.crt, tls.key and ca.crt of the issuer, such as from cert-manager, " +
      "read again when they change; if unset, Latchkey makes its own certificates",
    parse: optional(text),
  },
  /** Milliseconds. */
  signingKeyRotation: {
    value: "<duration>",
    initial: "30d",
    help:
      "time for which a signing key signs before the next one replaces it; " +
      "0 to rotate only by kubectl latchkey rotate-signing-key",
    parse: duration({ unit: second, least: 0 }),
  },
  /** Seconds. */
  deleteExpiredTokensAfter: {
    value: "<duration>",
    initial: "1h",
    help: "time after which the object of an expired token is deleted",
    parse: duration({ unit: 1, least: 0 }),
  },
  /** Seconds; undefined is never. */
  deleteExpiredKeysAfter: {
    value: "<duration>",
    initial: "",
    help: "time after which the object of an expired key is deleted; if unset, it is kept",
    parse: optional(duration({ unit: 1, least: 0 })),
  },
  /** Maximum number of valid tokens of one requester. */
  quotaTokens: {
    value: "<number>",
    initial: "1000",
    help:
      "maximum number of valid direct tokens of one requester, " +
      "deleted tokens that have not expired included",
    parse: wholeNumber({ least: 1, most: 1_000_000 }),
  },
  ...namespaceOptions,
  /** Milliseconds, like the three that follow. */
  grantSettleTime: {
    value: "<duration>",
    initial: "2s",
    help:
      "time that access grants stay after the deletion of an object, " +
      "and that the object stays after its grants",
    parse: duration({ unit: second, least: 0 }),
  },
  leaseDuration: {
    value: "<duration>",
    initial: "15s",
    help: "time without a renewal after which another process takes the Lease",
    parse: duration({ unit: second, least: 1 }),
  },
  renewDeadline: {
    value: "<duration>",
    initial: "10s",
    help: "time without a renewal after which the leader gives up; shorter than --lease-duration",
    parse: duration({ unit: second, least: 1 }),
  },
  retryPeriod: {
    value: "<duration>",
    initial: "2s",
    help: "time between two tries to take or renew the Lease; shorter than --renew-deadline",
    parse: duration({ unit: second, least: 1 }),
  },
  workers: {
    value: "<number>",
    initial: "16",
    help: "maximum number of concurrent reconciles of a kind",
    parse: wholeNumber({ least: 1, most: 256 }),
  },
  writeConcurrency: {
    value: "<number>",
    initial: "16",
    help: "maximum number of concurrent requests for copies, and as many for all other objects",
    parse: wholeNumber({ least: 1, most: 256 }),
  },
  /** Bytes. */
  maximumOutboxBytes: {
    value: "<bytes>",
    initial: "256Mi",
    help: "maximum bytes of the SharedSecrets that a connected cluster is offered",
    parse: byteQuantity({ least: 1024 * 1024, most: 8 * 1024 ** 3 }),
  },
  /** Bytes. */
  maxBodyBytesInFlight: {
    value: "<bytes>",
    initial: "16Mi",
    help:
      "maximum bytes of request and response bodies in memory at a time, " +
      "without lists and watches; a larger request is sent alone",
    parse: byteQuantity({ least: 1024 * 1024, most: 1024 ** 3 }),
  },
} as const satisfies OptionTable;

/** Configuration of `latchkey controller`. */
export type ControllerConfig = ConfigOf<typeof controllerOptions>;

/** Throws a ConfigError unless retryPeriod < renewDeadline < leaseDuration. */
export function checkControllerConfig({
  leaseDuration,
  renewDeadline,
  retryPeriod,
}: Pick<ControllerConfig, "leaseDuration" | "renewDeadline" | "retryPeriod">): void {
  if (renewDeadline >= leaseDuration) {
    throw new ConfigError(
      "--renew-deadline",
      `${renewDeadline / second}s`,
      `must be shorter than --lease-duration (${leaseDuration / second}s)`,
    );
  }
  if (retryPeriod >= renewDeadline) {
    throw new ConfigError(
      "--retry-period",
      `${retryPeriod / second}s`,
      `must be shorter than --renew-deadline (${renewDeadline / second}s)`,
    );
  }
}
