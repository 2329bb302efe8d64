import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { ConfigError, duration, hostPort, httpsUrl, level, namePrefix, namespaceName, optional, text, wholeNumber } from "./config-values.ts";
import type { ParseValue } from "./config-values.ts";
import { parseFlags } from "./flags.ts";
import type { LogLevel } from "./log.ts";

/** An option as the help shows it; an empty default means that it is unset. */
interface Option<T> {
  readonly flag: string;
  readonly env: string;
  readonly value: string;
  readonly initial: string;
  readonly help: string;
  readonly parse: ParseValue<T>;
}

function option<T>(flag: string, rest: Pick<Option<T>, "value" | "initial" | "help" | "parse"> & { readonly env?: string }): Option<T> {
  return { flag, env: `LATCHKEY_${flag.toUpperCase().replaceAll("-", "_")}`, ...rest };
}

const second = 1000;

/** Every option of `latchkey controller`. */
const options = {
  kubeconfig: option("kubeconfig", {
    env: "KUBECONFIG",
    value: "<file>",
    initial: "",
    help: "kubeconfig of the cluster; without it the ServiceAccount of the pod",
    parse: optional(text),
  }),
  namespace: option("namespace", { value: "<name>", initial: "latchkey-system", help: "Latchkey's own namespace", parse: namespaceName }),
  httpAddress: option("http-address", {
    value: "<host:port>",
    initial: "0.0.0.0:8080",
    help: "where metrics, health and the public signing keys are served",
    parse: hostPort,
  }),
  identity: option("identity", {
    value: "<name>",
    initial: "",
    help: "name of this process in the Lease, shared with no other that runs; host name and a random part if unset",
    parse: optional(text),
  }),
  logLevel: option("log-level", { value: "<level>", initial: "info", help: "debug, info, warn or error", parse: level }),
  userPrefix: option("user-prefix", { value: "<text>", initial: "", help: "put before the names of users", parse: namePrefix }),
  teamPrefix: option("team-prefix", { value: "<text>", initial: "", help: "put before the names of teams, which are groups", parse: namePrefix }),
  issuer: option("issuer", {
    value: "<url>",
    initial: "https://latchkey.latchkey-system.svc",
    help: "`iss` of direct tokens",
    parse: httpsUrl,
  }),
  audience: option("audience", { value: "<text>", initial: "management.service/direct", help: "`aud` of direct tokens", parse: text }),
  maximumKeyTtl: option("maximum-key-ttl", {
    value: "<duration>",
    initial: "0",
    help: "longest life of an access key; 0 is no limit",
    parse: duration({ unit: 1, least: 0 }),
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
  workers: option("workers", { value: "<number>", initial: "16", help: "objects of a kind that are worked on at a time", parse: wholeNumber({ least: 1, most: 256 }) }),
  writeConcurrency: option("write-concurrency", {
    value: "<number>",
    initial: "16",
    help: "requests under way at a time for copies, and as many for everything else",
    parse: wholeNumber({ least: 1, most: 256 }),
  }),
};

const allOptions: readonly Option<unknown>[] = Object.values(options);

/** Configuration of `latchkey controller`. */
export interface ControllerConfig {
  /** Path of a kubeconfig; undefined in a pod. */
  readonly kubeconfig: string | undefined;
  readonly namespace: string;
  readonly httpAddress: { readonly host: string; readonly port: number };
  readonly identity: string;
  readonly logLevel: LogLevel;
  readonly userPrefix: string;
  readonly teamPrefix: string;
  readonly issuer: string;
  readonly audience: string;
  /** Seconds; 0 is no limit. */
  readonly maximumKeyTtl: number;
  /** Seconds. */
  readonly maximumTokenTtl: number;
  /** Seconds. */
  readonly deleteExpiredTokensAfter: number;
  /** Seconds; undefined is never. */
  readonly deleteExpiredKeysAfter: number | undefined;
  /** Milliseconds, like the two that follow. */
  readonly leaseDuration: number;
  readonly renewDeadline: number;
  readonly retryPeriod: number;
  readonly workers: number;
  readonly writeConcurrency: number;
}

/** What configuration is read from: arguments after `controller`, the environment, and the identity if neither names one. */
export interface ConfigSources {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly defaultIdentity: string;
}

/** The configuration; a flag goes before its variable, an empty variable is unset. Throws a ConfigError that names option, value and fix. */
export function parseControllerConfig({ argv, env, defaultIdentity }: ConfigSources): ControllerConfig {
  const flags = parseFlags(argv, allOptions.map(({ flag }) => flag));
  function read<T>({ flag, env: variable, initial, parse }: Option<T>): T {
    const given = flags.get(flag) ?? env[variable] ?? "";
    return parse(given === "" ? initial : given, `--${flag} (${variable})`);
  }
  const config = {
    kubeconfig: read(options.kubeconfig),
    namespace: read(options.namespace),
    httpAddress: read(options.httpAddress),
    identity: read(options.identity) ?? defaultIdentity,
    logLevel: read(options.logLevel),
    userPrefix: read(options.userPrefix),
    teamPrefix: read(options.teamPrefix),
    issuer: read(options.issuer),
    audience: read(options.audience),
    maximumKeyTtl: read(options.maximumKeyTtl),
    maximumTokenTtl: read(options.maximumTokenTtl),
    deleteExpiredTokensAfter: read(options.deleteExpiredTokensAfter),
    deleteExpiredKeysAfter: read(options.deleteExpiredKeysAfter),
    leaseDuration: read(options.leaseDuration),
    renewDeadline: read(options.renewDeadline),
    retryPeriod: read(options.retryPeriod),
    workers: read(options.workers),
    writeConcurrency: read(options.writeConcurrency),
  };
  requireOrder(config);
  return config;
}

/** The configuration of this process; `argv` is what follows `controller` on the command line. */
export function readControllerConfig(argv: readonly string[]): ControllerConfig {
  return parseControllerConfig({ argv, env: process.env, defaultIdentity: `${hostname()}_${randomUUID()}` });
}

/** What `latchkey controller --help` prints. */
export function controllerHelp(): string {
  const rows = allOptions.map(({ flag, value, env, initial, help }) => ({
    left: `  --${flag} ${value}`,
    right: `${help}${initial === "" ? "" : ` (default ${initial})`} [${env}]`,
  }));
  const width = Math.max(...rows.map(({ left }) => left.length));
  const lines = rows.map(({ left, right }) => `${left.padEnd(width)}  ${right}`);
  return ["Usage: latchkey controller [options]", "", ...lines, "", "Durations: 90, 30s, 15m, 1h, 7d; a number alone is seconds.", ""].join("\n");
}

function requireOrder({ leaseDuration, renewDeadline, retryPeriod }: Pick<ControllerConfig, "leaseDuration" | "renewDeadline" | "retryPeriod">): void {
  if (renewDeadline >= leaseDuration) {
    throw new ConfigError("--renew-deadline", `${renewDeadline / second}s`, `must be shorter than --lease-duration (${leaseDuration / second}s)`);
  }
  if (retryPeriod >= renewDeadline) {
    throw new ConfigError("--retry-period", `${retryPeriod / second}s`, `must be shorter than --renew-deadline (${renewDeadline / second}s)`);
  }
}
