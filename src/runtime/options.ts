import {
  type ParseValue,
  duration,
  hostPort,
  level,
  namePrefix,
  namespaceName,
  optional,
  text,
  userNames,
} from "./config-values.ts";
import { parseFlags } from "./flags.ts";
import type { LogLevel } from "./log.ts";

/** An option as the help shows it; an empty default means that it is unset. */
export interface Option<T> {
  readonly flag: string;
  readonly env: string;
  readonly value: string;
  readonly initial: string;
  readonly help: string;
  readonly parse: ParseValue<T>;
}

/** An option whose variable is called like its flag, unless told otherwise. */
export function option<T>(
  flag: string,
  rest: Pick<Option<T>, "value" | "initial" | "help" | "parse"> & { readonly env?: string },
): Option<T> {
  return { flag, env: `LATCHKEY_${flag.toUpperCase().replaceAll("-", "_")}`, ...rest };
}

/** Options that several commands have. */
export const sharedOptions = {
  kubeconfig: option("kubeconfig", {
    env: "KUBECONFIG",
    value: "<file>",
    initial: "",
    help: "kubeconfig of the cluster; without it the ServiceAccount of the pod",
    parse: optional(text),
  }),
  namespace: option("namespace", {
    value: "<name>",
    initial: "latchkey-system",
    help: "Latchkey's own namespace",
    parse: namespaceName,
  }),
  httpAddress: option("http-address", {
    value: "<host:port>",
    initial: "0.0.0.0:8080",
    help: "where metrics, health and, by the controller, the public signing keys are served",
    parse: hostPort,
  }),
  logLevel: option("log-level", {
    value: "<level>",
    initial: "info",
    help: "debug, info, warn or error",
    parse: level,
  }),
  userPrefix: option("user-prefix", {
    value: "<text>",
    initial: "",
    help: "put before the names of users",
    parse: namePrefix,
  }),
  teamPrefix: option("team-prefix", {
    value: "<text>",
    initial: "",
    help: "put before the names of teams, which are groups",
    parse: namePrefix,
  }),
  quotaExempt: option("quota-exempt", {
    value: "<users>",
    initial: "",
    help: "usernames without a quota, separated by commas, such as system:serviceaccount:argocd:argocd-application-controller; the same for controller and webhook",
    parse: userNames,
  }),
  maximumKeyTtl: option("maximum-key-ttl", {
    value: "<duration>",
    initial: "0",
    help: "longest life of an access key; 0 is no limit; the same for controller and webhook",
    parse: duration({ unit: 1, least: 0 }),
  }),
};

/** What the shared options say. */
export interface SharedConfig {
  /** Path of a kubeconfig; undefined in a pod. */
  readonly kubeconfig: string | undefined;
  readonly namespace: string;
  readonly httpAddress: { readonly host: string; readonly port: number };
  readonly logLevel: LogLevel;
  readonly userPrefix: string;
  readonly teamPrefix: string;
  /** Usernames whose keys and tokens are not counted. */
  readonly quotaExempt: readonly string[];
  /** Seconds; 0 is no limit. */
  readonly maximumKeyTtl: number;
}

/** Reads the shared options; throws a ConfigError. */
export function readShared(read: <T>(wanted: Option<T>) => T): SharedConfig {
  return {
    kubeconfig: read(sharedOptions.kubeconfig),
    namespace: read(sharedOptions.namespace),
    httpAddress: read(sharedOptions.httpAddress),
    logLevel: read(sharedOptions.logLevel),
    userPrefix: read(sharedOptions.userPrefix),
    teamPrefix: read(sharedOptions.teamPrefix),
    quotaExempt: read(sharedOptions.quotaExempt),
    maximumKeyTtl: read(sharedOptions.maximumKeyTtl),
  };
}

/** What options are read from: the arguments after the command, and the environment. */
export interface OptionSources {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Reads options of a command one by one: a flag goes before its variable, an empty variable is
 * unset. Throws a ConfigError that names option, value and fix; flags that `all` does not have are
 * refused at once.
 */
export function optionReader(
  all: readonly Option<unknown>[],
  { argv, env }: OptionSources,
): <T>(wanted: Option<T>) => T {
  const flags = parseFlags(
    argv,
    all.map(({ flag }) => flag),
  );
  return ({ flag, env: variable, initial, parse }) => {
    const given = flags.get(flag) ?? env[variable] ?? "";
    return parse(given === "" ? initial : given, `--${flag} (${variable})`);
  };
}

/** What `latchkey <command> --help` prints. */
export function commandHelp(command: string, all: readonly Option<unknown>[]): string {
  const rows = all.map(({ flag, value, env, initial, help }) => ({
    left: `  --${flag} ${value}`,
    right: `${help}${initial === "" ? "" : ` (default ${initial})`} [${env}]`,
  }));
  const width = Math.max(...rows.map(({ left }) => left.length));
  const lines = rows.map(({ left, right }) => `${left.padEnd(width)}  ${right}`);
  return [
    `Usage: latchkey ${command} [options]`,
    "",
    ...lines,
    "",
    "Durations: 90, 30s, 15m, 1h, 7d; a number alone is seconds.",
    "",
  ].join("\n");
}
