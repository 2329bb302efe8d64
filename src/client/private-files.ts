import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
  existsSync,
  mkdirSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, dirname } from "node:path";
import { UsageError, ConfigError } from "../runtime/config-values.ts";
import { errorCode } from "../runtime/read-text-file.ts";

/** A file that only its owner can read, which did not exist before. */
export interface PrivateFile {
  /** Writes the content and closes the file. */
  readonly finish: (content: string | Uint8Array) => void;
  /** Removes the file, because there is nothing to write. */
  readonly discard: () => void;
}

/** Creates a file with mode 0600; throws a UsageError if it exists or cannot be written. */
export function createPrivateFile(path: string, option: string): PrivateFile {
  const problem = (error: unknown): UsageError =>
    new UsageError(
      errorCode(error) === "EEXIST"
        ? `${option}: "${path}" already exists; remove it, or choose another file`
        : `${option}: "${path}" cannot be written: ${errorCode(error) ?? "unknown error"}`,
    );
  try {
    const file = openSync(path, "wx", 0o600);
    return {
      finish(content) {
        const bytes = typeof content === "string" ? Buffer.from(content, "utf8") : content;
        for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
        closeSync(file);
      },
      discard() {
        closeSync(file);
        rmSync(path, { force: true });
      },
    };
  } catch (error) {
    throw problem(error);
  }
}

/**
 * The text of a file that only its owner, the user of this process, can read and write; undefined
 * for any other file, and without one.
 */
export function readPrivateFile(path: string): string | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
    const { mode, uid } = fstatSync(file);
    // Windows has neither users nor modes here.
    const user = process.getuid?.();
    const isPrivate = user === undefined || (uid === user && (mode & 0o077) === 0);
    return isPrivate ? readFileSync(file, "utf8") : undefined;
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/**
 * Replaces files in a directory, each with mode 0600 and at once, so that no reader sees half a
 * value; the directory is created with mode 0700. Throws a UsageError.
 */
export function writePrivateFiles(
  directory: string,
  files: ReadonlyMap<string, Uint8Array>,
  option: string,
): void {
  try {
    makeDirectory(directory, 0o700);
    for (const [name, content] of files) {
      const draft = join(directory, `.${name}.${process.pid}.draft`);
      const file = createPrivateFile(draft, option);
      file.finish(content);
      renameSync(draft, join(directory, name));
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `${option}: "${directory}" cannot be written: ${errorCode(error) ?? "unknown error"}`,
    );
  }
}

/** A file for kube-apiserver. */
export interface OutputFile {
  readonly name: string;
  readonly text: string;
}

/**
 * Writes files that only the owner can read into a directory, and creates the directory; throws a
 * ConfigError if it cannot.
 */
export function writeFiles(directory: string, files: readonly OutputFile[]): void {
  try {
    makeDirectory(directory);
    for (const { name, text } of files) writeFileSync(join(directory, name), text, { mode: 0o600 });
  } catch (error) {
    throw new ConfigError(
      "--output",
      directory,
      `cannot be written: ${errorCode(error) ?? "unknown error"}`,
    );
  }
}

/**
 * Creates a directory and those above it that are missing; throws the error of the system. Below
 * /proc, `recursive` of mkdirSync never ends.
 */
function makeDirectory(path: string, mode?: number): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const parent = dirname(path);
  if (!existsSync(parent)) makeDirectory(parent, mode);
  mkdirSync(path, { mode });
}
