import type { LogLevel } from "../../src/runtime/log-level.ts";
import type { LogFields, Logger } from "../../src/runtime/log.ts";

/** A line that was logged. */
export interface LoggedLine {
  readonly level: LogLevel;
  readonly fields: LogFields;
  readonly message: string;
}

/** A logger that keeps its lines for a test to look at. */
export function recordingLog(): Logger & { readonly lines: LoggedLine[] } {
  const lines: LoggedLine[] = [];
  const at = (level: LogLevel) => (fields: LogFields, message: string) =>
    void lines.push({ level, fields, message });
  return { lines, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
