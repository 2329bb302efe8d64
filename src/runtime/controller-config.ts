import {
  byteQuantity,
  ConfigError,
  duration,
  httpsUrl,
  optional,
  text,
  trueOrFalse,
  wholeNumber,
} from "./config-values.ts";
import {
  commandHelp,
  type Option,
  option,
  optionReader,
  type OptionSources,
  readShared,
  type SharedConfig,
  sharedOptions,
} from "./options.ts";

const second = 1000;

/** Every option of `latchkey controller`. */
const options = {
  ...sharedOptions,
  identity: option("identity", {
    value: "<name>",
    initial: "",
    help: "name of this process in the Lease, shared with no other that runs; host name and a random part if unset",
    parse: optional(text),
  }),
  issuer: option("issuer", {
    value: "<url>",
    initial: "https://latchkey.latchkey-system.svc",
    help: "`iss` of direct tokens",
    parse: httpsUrl,
  }),
  audience: option("audience", {
    value: "<text>",
    initial: "management.service/direct",
    help: "`aud` of direct tokens",
    parse: text,
  }),
  maximumTokenTtl: option("maximum-token-ttl", {
    value: "<duration>",
    initial: "24h",
    help: "longest life of a direct token",
    parse: duration({ unit: 1, least: 1 }),
  }),
  deleteExpiredTokensAfter: option("delete-expired-tokens-after", {
    value: "<duration>",
    initial: "1h",
    help: "how long an expired token's object stays",
    parse: duration({ unit: 1, least: 0 }),
  }),
  deleteExpiredKeysAfter: option("delete-expired-keys-after", {
    value: "<duration>",
    initial: "",
    help: "how long an expired key's object stays; for ever if unset",
    parse: optional(duration({ unit: 1, least: 0 })),
  }),
  quotaTokens: option("quota-tokens", {
    value: "<number>",
    initial: "1000",
    help: "most valid direct tokens of one requester, those deleted before their end included",
    parse: wholeNumber({ least: 1, most: 1_000_000 }),
  }),
  requireSyncFrom: option("require-sync-from", {
    value: "<true|false>",
    initial: "false",
    help: "whether a namespace without the annotation management.service/sync-from takes no copies",
    parse: trueOrFalse,
  }),
  grantSettleTime: option("grant-settle-time", {
    value: "<duration>",
    initial: "2s",
    help: "how long access grants stay after an object's deletion, and the object after its grants",
    parse: duration({ unit: second, least: 0 }),
  }),
  leaseDuration: option("lease-duration", {
    value: "<duration>",
    initial: "15s",
    help: "others take the Lease after this long without a renewal",
    parse: duration({ unit: second, least: 1 }),
  }),
  renewDeadline: option("renew-deadline", {
    value: "<duration>",
    initial: "10s",
    help: "the leader gives up after this long without a renewal",
    parse: duration({ unit: second, least: 1 }),
  }),
  retryPeriod: option("retry-period", {
    value: "<duration>",
    initial: "2s",
    help: "time between two tries to take or renew the Lease",
    parse: duration({ unit: second, least: 1 }),
  }),
  workers: option("workers", {
    value: "<number>",
    initial: "16",
    help: "objects of a kind that are worked on at a time",
    parse: wholeNumber({ least: 1, most: 256 }),
  }),
  writeConcurrency: option("write-concurrency", {
    value: "<number>",
    initial: "16",
    help: "requests under way at a time for copies, and as many for everything else",
    parse: wholeNumber({ least: 1, most: 256 }),
  }),
  maximumBodyBytesInFlight: option("max-body-bytes-in-flight", {
    value: "<bytes>",
    initial: "16Mi",
    help: "most bytes of request and response bodies of single requests in memory at a time, lists and watches apart; a bigger request is sent alone",
    parse: byteQuantity({ least: 1024 * 1024, most: 1024 ** 3 }),
  }),
};

const allOptions: readonly Option<unknown>[] = Object.values(options);

/** Configuration of `latchkey controller`. */
export interface ControllerConfig extends SharedConfig {
  readonly identity: string;
  readonly issuer: string;
  readonly audience: string;
  /** Seconds. */
  readonly maximumTokenTtl: number;
  /** Seconds. */
  readonly deleteExpiredTokensAfter: number;
  /** Seconds; undefined is never. */
  readonly deleteExpiredKeysAfter: number | undefined;
  /** The most valid tokens of one requester. */
  readonly quotaTokens: number;
  readonly requireSyncFrom: boolean;
  /** Milliseconds, like the three that follow. */
  readonly grantSettleTime: number;
  readonly leaseDuration: number;
  readonly renewDeadline: number;
  readonly retryPeriod: number;
  readonly workers: number;
  readonly writeConcurrency: number;
  /** Bytes. */
  readonly maximumBodyBytesInFlight: number;
}

/** The sources of options, and the identity if neither names one. */
export interface ControllerConfigSources extends OptionSources {
  readonly defaultIdentity: string;
}

/** The configuration; throws a ConfigError that names option, value and fix. */
export function parseControllerConfig({
  defaultIdentity,
  ...sources
}: ControllerConfigSources): ControllerConfig {
  const read = optionReader(allOptions, sources);
  const config = {
    ...readShared(read),
    identity: read(options.identity) ?? defaultIdentity,
    issuer: read(options.issuer),
    audience: read(options.audience),
    maximumTokenTtl: read(options.maximumTokenTtl),
    deleteExpiredTokensAfter: read(options.deleteExpiredTokensAfter),
    deleteExpiredKeysAfter: read(options.deleteExpiredKeysAfter),
    quotaTokens: read(options.quotaTokens),
    requireSyncFrom: read(options.requireSyncFrom),
    grantSettleTime: read(options.grantSettleTime),
    leaseDuration: read(options.leaseDuration),
    renewDeadline: read(options.renewDeadline),
    retryPeriod: read(options.retryPeriod),
    workers: read(options.workers),
    writeConcurrency: read(options.writeConcurrency),
    maximumBodyBytesInFlight: read(options.maximumBodyBytesInFlight),
  };
  requireOrder(config);
  return config;
}

/** What `latchkey controller --help` prints. */
export function controllerHelp(): string {
  return commandHelp("controller", allOptions);
}

function requireOrder({
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
