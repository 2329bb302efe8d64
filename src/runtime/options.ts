import {
  hostNames,
  hostPort,
  level,
  namespaceName,
  optional,
  type ParseValue,
  text,
} from "./config-values.ts";

/**
 * The value, the default and the help of an option; the names of its flag and variable follow from
 * its key in the table.
 */
export interface Option<T> {
  /** Placeholder of the value in the help; empty for a switch, which takes no value. */
  readonly value: string;
  /** The default as text, parsed if the option is not set; undefined without one. */
  readonly initial?: string;
  readonly help: string;
  readonly parse: ParseValue<T>;
  /** Whether the option may be repeated, and is a list. */
  readonly many?: true;
  /** The variable, if it is not LATCHKEY_ and the name of the flag. */
  readonly env?: string;
}

/**
 * Every option of a command by the name of its field in the configuration. Flags, variables,
 * types, help and documentation follow from this table.
 */
export type OptionTable = Readonly<Record<string, Option<unknown>>>;

/** The configuration that a table describes. */
export type ConfigOf<Table extends OptionTable> = {
  readonly [Name in keyof Table]: ValueOf<Table[Name]>;
};

type ValueOf<Described> =
  Described extends Option<infer T>
    ? Described extends { readonly many: true }
      ? readonly T[]
      : Described extends { readonly initial: string }
        ? T
        : T | undefined
    : never;

/** Sources of options: texts of flags without their dashes, and the environment. */
interface OptionSources {
  readonly flags: ReadonlyMap<string, string>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Environment variables of the process. */
export type Environment = OptionSources["env"];

/** The flag of a field without its dashes: `logLevel` is `log-level`. */
export function flagOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The variable of a field: `logLevel` is LATCHKEY_LOG_LEVEL. */
export function variableOf(name: string, { env }: Option<unknown>): string {
  return env ?? `LATCHKEY_${flagOf(name).toUpperCase().replaceAll("-", "_")}`;
}

/**
 * Parses the configuration of a command: a flag takes precedence over its variable, and both over
 * the default; an empty text is unset. Throws a ConfigError that names the option, its value and
 * what is valid.
 */
export function parseConfig<Table extends OptionTable>(
  table: Table,
  sources: OptionSources,
): ConfigOf<Table>;
/** The same for a table whose fields are unknown to the compiler. */
export function parseConfig(table: OptionTable, { flags, env }: OptionSources): object {
  const fields = Object.entries(table).map(([name, option]) => {
    const [flag, variable] = [flagOf(name), variableOf(name, option)];
    const given = flags.get(flag) ?? env[variable] ?? "";
    return [
      name,
      option.parse(given === "" ? (option.initial ?? "") : given, `--${flag} (${variable})`),
    ] as const;
  });
  return Object.fromEntries(fields);
}

/** Options that every server has. */
export const processOptions = {
  /** Path of a kubeconfig; undefined in a pod. */
  kubeconfig: {
    env: "KUBECONFIG",
    value: "<file>",
    initial: "",
    help: "kubeconfig of the cluster; if unset, the ServiceAccount of the pod",
    parse: optional(text),
  },
  namespace: {
    value: "<name>",
    initial: "latchkey-system",
    help: "namespace that Latchkey runs in",
    parse: namespaceName,
  },
  httpAddress: {
    value: "<host:port>",
    initial: ":8080",
    help: "address for metrics, health and, in the controller, the public signing keys",
    parse: hostPort,
  },
  logLevel: {
    value: "<level>",
    initial: "info",
    help: "debug, info, warn or error",
    parse: level,
  },
} as const satisfies OptionTable;

/** Options of servers whose clients get the CA from an administrator. */
export const clientServerOptions = {
  /** DNS names beside those of the Service. */
  externalNames: {
    value: "<names>",
    initial: "",
    help:
      "more DNS names and IP addresses in the certificate that Latchkey makes, " +
      "separated by commas, such as those that clients use",
    parse: hostNames,
  },
  /** Where certificates come from; undefined: Latchkey makes them. */
  certificateDirectory: {
    value: "<directory>",
    initial: "",
    help:
      "directory with tls.crt, tls.key and ca.crt, such as from cert-manager, " +
      "read again when they change; if unset, Latchkey makes its own certificates",
    parse: optional(text),
  },
} as const satisfies OptionTable;
