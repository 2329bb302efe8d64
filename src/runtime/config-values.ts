import { isIP } from "node:net";

/** An invalid command line or configuration; the message is one sentence. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** An invalid option; the message names the option, quotes its value and states what is valid. */
export class ConfigError extends UsageError {
  constructor(option: string, value: string, fix: string) {
    super(`${option}: "${value}" ${fix}`);
    this.name = "ConfigError";
  }
}

/** Parses the text of the option called `option`; throws a ConfigError. */
export type ParseValue<T> = (text: string, option: string) => T;

/** Any text. */
export const text: ParseValue<string> = (value) => value;

/** Returns undefined for an empty text, else the result of `parse`. */
export function optional<T>(parse: ParseValue<T>): ParseValue<T | undefined> {
  return (value, option) => (value === "" ? undefined : parse(value, option));
}

/** `true` or `false`. */
export const trueOrFalse: ParseValue<boolean> = (value, option) => {
  if (value === "true" || value === "false") return value === "true";
  throw new ConfigError(option, value, "must be true or false");
};

const dnsLabel = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const dnsSubdomain = new RegExp(`^${dnsLabel}(?:\\.${dnsLabel})*$`);

/** Whether a text is a DNS subdomain (RFC 1123), which is at most 253 characters. */
function isDnsSubdomain(name: string): boolean {
  return name.length <= 253 && dnsSubdomain.test(name);
}

/**
 * The name of an object: a DNS subdomain, as of all custom resources, Secrets and Services
 * (Kubernetes, Object Names and IDs).
 */
export function objectName(kind: string, example: string): ParseValue<string> {
  return (value, option) => {
    if (isDnsSubdomain(value)) return value;
    throw new ConfigError(
      option,
      value,
      `must be a valid ${kind} name, such as ${example}: lower-case letters, digits, - and .`,
    );
  };
}

/** Whether a text is a DNS label (RFC 1123), as the name of a namespace is. */
export function isNamespaceName(name: string): boolean {
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name);
}

/** The name of a namespace. */
export const namespaceName: ParseValue<string> = (value, option) => {
  if (isNamespaceName(value)) return value;
  throw new ConfigError(
    option,
    value,
    "must be the name of a namespace: lower-case letters, digits and -, such as latchkey-system",
  );
};

/** An address to listen on; an empty host is all of both families, and port 0 is any free port. */
export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** `host:port`, `[IPv6]:port`, or `:port` and `[::]:port` for all addresses of both families. */
export const hostPort: ParseValue<HostPort> = (value, option) => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/]*)):(\d{1,5})$/.exec(value);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535)
    throw new ConfigError(
      option,
      value,
      "must be host:port with a port up to 65535, such as :8080 or [fd00::1]:8080",
    );
  return { host: (match[1] ?? match[2] ?? "").replace(/^::$/, ""), port };
};

/** A secret path segment; errors do not quote it. */
export const pathSegment: ParseValue<string> = (value, option) => {
  if (/^(?!replace-me)[A-Za-z0-9_-]{32,128}$/.test(value)) return value;
  throw new ConfigError(
    option,
    "(not shown)",
    "must be 32 to 128 letters, digits, - and _, such as the output of openssl rand -hex 20; " +
      "replace the placeholder of the manifest",
  );
};

/** DNS names, separated by commas. */
export const dnsNames: ParseValue<readonly string[]> = (value, option) => {
  const names = listed(value);
  const invalid = names.find((name) => !isDnsSubdomain(name));
  if (invalid !== undefined)
    throw new ConfigError(
      option,
      invalid,
      "must be a DNS name in lower case, such as latchkey.example.com; separate several by commas",
    );
  return names;
};

/** DNS names and IP addresses, IPv6 as in RFC 5952, separated by commas. */
export const hostNames: ParseValue<readonly string[]> = (value, option) => {
  const names = listed(value);
  const addresses = names.flatMap((name) => {
    if (isIP(name) !== 6) return isIP(name) === 4 ? [name] : [];
    const plain = URL.parse(`http://[${name}]`)?.hostname.slice(1, -1);
    if (plain !== undefined) return [plain];
    throw new ConfigError(option, name, "must be an address without a zone, such as fd00::1");
  });
  return [...addresses, ...dnsNames(names.filter((name) => isIP(name) === 0).join(","), option)];
};

/** Names of users, separated by commas. */
export const userNames: ParseValue<readonly string[]> = (value) => listed(value);

/** Keys of labels and annotations, or `<domain>/*` for all of a domain, separated by commas. */
export const labelKeys: ParseValue<readonly string[]> = (value, option) => {
  const keys = listed(value);
  const wrong = keys.find((key) => !keyOfLabel.test(key) && !domainWithStar.test(key));
  if (wrong === undefined) return keys;
  throw new ConfigError(
    option,
    wrong,
    "must be the key of a label or annotation, such as team or example.com/team, " +
      "or <domain>/*, such as example.com/*; separate several by commas",
  );
};

const domainWithStar = /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?\/\*$/;
const keyOfLabel = /^(?:[A-Za-z0-9][-A-Za-z0-9.]*\/)?[A-Za-z0-9](?:[-\w.]*[A-Za-z0-9])?$/;

/** The texts between commas, without empty ones. */
function listed(value: string): readonly string[] {
  return value
    .split(",")
    .map((text) => text.trim())
    .filter((text) => text !== "");
}

/** A log level. */
export const level: ParseValue<LogLevel> = (value, option) => {
  const found = logLevels.find((name) => name === value);
  if (found === undefined)
    throw new ConfigError(option, value, `must be one of ${logLevels.join(", ")}`);
  return found;
};

/** A prefix of names; `system:` is reserved for Kubernetes. */
export const namePrefix: ParseValue<string> = (value, option) => {
  if (value.startsWith("system:"))
    throw new ConfigError(
      option,
      value,
      "must not begin with system:, which is reserved for Kubernetes",
    );
  return value;
};

/**
 * An https URL without credentials, query and fragment (OpenID Connect Discovery 1.0, section 3),
 * returned as written.
 */
export const httpsUrl: ParseValue<string> = (value, option) => {
  const url = URL.parse(value);
  const isBare =
    url !== null &&
    url.username === "" &&
    url.password === "" &&
    url.search === "" &&
    url.hash === "";
  if (url?.protocol === "https:" && isBare) return value;
  const shown = url === null || isBare ? value : "(not shown)";
  throw new ConfigError(
    option,
    shown,
    "must be an https URL without credentials, query and fragment, " +
      "such as https://latchkey.example.com",
  );
};

/** An https URL without a path, and without what `httpsUrl` refuses; returns its origin. */
export const httpsOrigin: ParseValue<string> = (value, option) => {
  const { origin, pathname } = new URL(httpsUrl(value, option));
  if (pathname === "/") return origin;
  throw new ConfigError(option, value, "must not have a path: the gateway serves below /");
};

type Numbers<K extends string> = Readonly<Record<K, number>>;

/** An integer from `least` to `most`. */
export function wholeNumber({ least, most }: Numbers<"least" | "most">): ParseValue<number> {
  return (value, option) => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= least && number <= most) return number;
    throw new ConfigError(option, value, `must be a whole number from ${least} to ${most}`);
  };
}

const unitBytes: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["Ki", 1024],
  ["Mi", 1024 ** 2],
  ["Gi", 1024 ** 3],
]);

/**
 * Bytes, such as `65536`, `512Ki` or `16Mi` (Kubernetes resource quantities with binary suffixes).
 */
export function byteQuantity({ least, most }: Numbers<"least" | "most">): ParseValue<number> {
  return (value, option) => {
    const [, digits, unit = ""] = /^(\d+)([KMG]i)?$/.exec(value) ?? [];
    const bytes = Number(digits) * (unitBytes.get(unit) ?? 1);
    if (bytes >= least && bytes <= most) return bytes;
    throw new ConfigError(
      option,
      value,
      `must be a number of bytes from ${least} to ${most}, such as 512Ki or 16Mi`,
    );
  };
}

const unitSeconds: ReadonlyMap<string, number> = new Map([
  ["s", 1],
  ["m", 60],
  ["h", 3600],
  ["d", 86_400],
]);
const mostSeconds = 2 ** 31 - 1;

/**
 * `90`, `30s`, `15m`, `1h` or `7d`, at least `least` seconds; returns the number of seconds times
 * `unit`.
 */
export function duration({ unit, least }: Numbers<"unit" | "least">): ParseValue<number> {
  return (value, option) => {
    const match = /^(\d+)([smhd]?)$/.exec(value);
    const seconds = Number(match?.[1]) * (unitSeconds.get(match?.[2] || "s") ?? 1);
    if (seconds >= least && seconds <= mostSeconds) return seconds * unit;
    throw new ConfigError(
      option,
      value,
      `must be a duration from ${least}s to ${mostSeconds}s, such as 90, 30s, 15m, 1h or 7d`,
    );
  };
}

/** Log levels, the most verbose first. */
const logLevels = ["debug", "info", "warn", "error"] as const;

/** Name of a log level. */
export type LogLevel = (typeof logLevels)[number];
