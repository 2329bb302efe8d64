import { pino } from "pino";
import type { DestinationStream } from "pino";
import type { LogLevel } from "./log-level.ts";
import { scrubFields } from "./scrub.ts";

/** Facts beside a message; errors go under `error`, the name of an object under `object`. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes one line per call; `message` is a constant, what varies is in `fields`. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

/** Where lines go and from which level on; `destination` is standard output unless given. */
export interface LoggerOptions {
  readonly level: LogLevel;
  readonly destination?: DestinationStream;
}

/**
 * A logger of JSON lines that passes every field through {@link scrubFields}, so that no secret is
 * printed.
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
