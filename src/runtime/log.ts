import { pino, type DestinationStream } from "pino";
import type { LogLevel } from "./config-values.ts";
import { reasonOf } from "./failure-reason.ts";

/** The names of the fields of log lines; docs/operations.md explains those at level info. */
const logFields = [
  ...["kind", "object", "objects", "reason", "why", "code", "error", "controller", "resource"],
  ...["cluster", "projects", "gained", "lost", "written", "removed", "count", "omitted", "seconds"],
  ...["server", "central", "url", "identity", "direct", "list", "version", "files"],
  ...["signal", "end"],
  ...["problem", "former", "now", "isNew", "certificates", "kid", "publishes", "takenByAnother"],
  ...["field", "ignored"],
  ...["verb", "group", "subresource", "namespace", "keyId", "method", "path", "status", "bytes"],
] as const;

/** Structured fields of a log line. */
export type LogFields = Readonly<Partial<Record<(typeof logFields)[number], unknown>>>;

/** Writes one line per call; `message` is a constant, and variable parts go into `fields`. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

/** Options of a logger; `destination` defaults to standard output. */
interface LoggerOptions {
  readonly level: LogLevel;
  readonly destination?: DestinationStream;
}

/**
 * Creates a logger of JSON lines, which passes every field through {@link scrubFields}, so that no
 * secret is printed.
 */
export function createLogger({ level, destination }: LoggerOptions): Logger {
  const options = {
    level,
    base: null,
    messageKey: "message",
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  const lines = destination === undefined ? pino(options) : pino(options, destination);
  const at =
    (name: LogLevel): Logger["info"] =>
    (fields, message) => {
      // Most processes do not write lines of level debug, of which there is one for each request.
      if (lines.isLevelEnabled(name)) lines[name](scrubFields(fields), message);
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

const redacted = "[redacted]";
const deepest = 6;

/**
 * Names of fields whose values are never logged, at any depth; compared in lower case, without `-`
 * and `_`.
 */
const secretFields: ReadonlySet<string> = new Set([
  "accesstoken",
  "authorization",
  "body",
  "cause",
  "clientcertificatedata",
  "clientkeydata",
  "connectordata",
  "cookie",
  "credential",
  "credentials",
  "data",
  "idtoken",
  "key",
  "oidclogin",
  "password",
  "privatekey",
  "refreshtoken",
  "secret",
  "setcookie",
  "stringdata",
  "token",
]);

/** Secrets in texts: PEM keys, bearer headers, generated access keys, digests of keys. */
const secretTexts = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/gi,
  /\bBearer +\S+/gi,
  /\blk_[A-Za-z0-9]+_\w+/gi,
  /\bsha256:[0-9a-f.]{64,}/gi,
];

/**
 * Returns a copy of `fields` without secrets: no values of fields with secret names, no texts that
 * look like secrets, no additional properties of errors, no bytes.
 */
function scrubFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (fields instanceof Error) return { error: scrubError(fields) };
  return scrubRecord(fields, 0);
}

function scrub(value: unknown, depth: number): unknown {
  if (typeof value === "string") return scrubText(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > deepest) return "[deep]";
  if (value instanceof Error) return scrubError(value);
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return "[bytes]";
  if ("toJSON" in value && typeof value.toJSON === "function")
    return scrub(value.toJSON(), depth + 1);
  if (value instanceof Map || value instanceof Set)
    return `[${value.constructor.name} of ${value.size}]`;
  if (Array.isArray(value)) return value.map((entry) => scrub(entry, depth + 1));
  return scrubRecord(value, depth);
}

function scrubRecord(record: object, depth: number): Record<string, unknown> {
  const entries = Object.entries(record).map(([field, value]) => [
    field,
    isSecret(field) ? redacted : scrub(value, depth + 1),
  ]);
  return Object.fromEntries(entries);
}

/**
 * Name, code, message and stack frames; the cause and enumerable properties may contain bodies and
 * are omitted.
 */
function scrubError(error: Error): Record<string, unknown> {
  const code = "code" in error && typeof error.code === "string" ? { code: error.code } : {};
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  return {
    name: error.name,
    ...code,
    message: messageOf(error),
    stack: frames.map((line) => line.trim()).join("\n"),
  };
}

// A SyntaxError of JSON.parse quotes the invalid text.
function messageOf(error: Error): string {
  return error instanceof SyntaxError
    ? "invalid syntax"
    : scrubText(error.message === "" ? reasonOf(error) : error.message);
}

function scrubText(text: string): string {
  // Half of a surrogate pair is six characters of JSON, which not every reader of a log takes.
  const scrubbed = secretTexts.reduce(
    (rest, secret) => rest.replaceAll(secret, redacted),
    text.toWellFormed(),
  );
  return scrubbed.replaceAll(/[\w.-]{11,}/g, withoutJwt);
}

/** A word without the JWT (RFC 7519) in it: three parts, of which the first is base64 of `{"`. */
function withoutJwt(word: string): string {
  const at = word.search(/eyJ[\w-]{5}/i);
  const isJwt = at !== -1 && word.slice(at).split(".", 3).length > 2;
  return isJwt ? word.slice(0, at) + redacted : word;
}

function isSecret(field: string): boolean {
  return secretFields.has(field.toLowerCase().replaceAll(/[-_]/g, ""));
}

/** A log whose warnings name a server; those without one are about the process's own API server. */
export function aboutServer(log: Logger, server: string): Logger {
  return { ...log, warn: (fields, message) => log.warn({ server, ...fields }, message) };
}

/** Logs a warning of one code once: a cluster may lack a right, or be away for days. */
export function saidOnce(log: Logger): Logger {
  const last = new Map<string, unknown>();
  return {
    ...log,
    warn(fields, message) {
      const isSaid = "code" in fields && fields["code"] === last.get(message);
      if (!isSaid) log.warn(fields, message);
      last.set(message, fields["code"]);
    },
  };
}
