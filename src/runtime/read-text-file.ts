import { closeSync, openSync, readSync } from "node:fs";
import { errorCode } from "./error-code.ts";
import { ConfigError } from "./config-values.ts";

/** The file that an option names. */
export interface NamedFile {
  /** The option with its dashes. */
  readonly option: string;
  readonly path: string;
}

/** The maximum size of a file in bytes. */
export const mostFileBytes = 1024 * 1024;

/**
 * Reads a file of UTF-8 text; throws a ConfigError if it cannot be read, is larger than
 * {@link mostFileBytes} or is not text.
 */
export function readTextFile({ option, path }: NamedFile): string {
  const bytes = readBytes({ option, path });
  if (bytes.length > mostFileBytes)
    throw new ConfigError(option, path, `is larger than ${mostFileBytes} bytes`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new ConfigError(option, path, "is not a text file in UTF-8");
  }
}

/** Reads until the end or one byte more than allowed; a pipe has no size to check in advance. */
function readBytes({ option, path }: NamedFile): Buffer {
  const buffer = Buffer.alloc(mostFileBytes + 1);
  try {
    const file = openSync(path, "r");
    try {
      let length = 0;
      for (let count = 1; count > 0 && length < buffer.length; length += count)
        count = readSync(file, buffer, length, buffer.length - length, null);
      return buffer.subarray(0, length);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw new ConfigError(option, path, `cannot be read: ${errorCode(error) ?? "unknown error"}`);
  }
}
