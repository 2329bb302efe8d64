import { pino } from "pino";
import type { DestinationStream } from "pino";
import type { LogLevel } from "./log-level.ts";
import { scrubFields } from "./scrub.ts";

/**
 * Structured fields of a log line; errors go under `error`, the name of an object under `object`.
 */
export type LogFields = Readonly<Record<string, unknown>>;

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
  return {
    debug: (fields, message) => lines.debug(scrubFields(fields), message),
    info: (fields, message) => lines.info(scrubFields(fields), message),
    warn: (fields, message) => lines.warn(scrubFields(fields), message),
    error: (fields, message) => lines.error(scrubFields(fields), message),
  };
}
