/** Log levels, the most verbose first. */
export const logLevels = ["debug", "info", "warn", "error"] as const;

/** Name of a log level. */
export type LogLevel = (typeof logLevels)[number];
