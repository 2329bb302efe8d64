import type { LogLevel } from "../../src/runtime/config-values.ts";
import type { LogFields, Logger } from "../../src/runtime/log.ts";

/** A logged line. */
export interface LoggedLine {
  readonly level: LogLevel;
  readonly fields: LogFields;
  readonly message: string;
}

/** A logger that records its lines for a test. */
export function recordingLog(): Logger & { readonly lines: LoggedLine[] } {
  const lines: LoggedLine[] = [];
  const at = (level: LogLevel) => (fields: LogFields, message: string) =>
    void lines.push({ level, fields, message });
  return { lines, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
