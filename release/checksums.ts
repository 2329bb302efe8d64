import { createHash } from "node:crypto";

/** A file of a release. */
export interface ReleaseFile {
  /** Letters, digits, `.`, `-`, `_` and `+`, beginning with a letter or digit: without a path. */
  readonly name: string;
  readonly bytes: Buffer | string;
}

const line = /^([0-9a-f]{64}) {2}([A-Za-z0-9][\w.+-]*)$/;

/** The SHA-256 of bytes in hexadecimal digits. */
export function sha256Of(bytes: Buffer | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/**
 * The text of SHA256SUMS, as `sha256sum` of coreutils writes and checks it, sorted by name. Throws
 * an Error that quotes a name with other characters, or of two files.
 */
export function checksumsText(files: readonly ReleaseFile[]): string {
  const lines = new Map<string, string>();
  for (const { name, bytes } of files) {
    const own = `${sha256Of(bytes)}  ${name}`;
    if (!line.test(own)) throw new Error(`"${name}" is not the name of a file of a release`);
    if (lines.has(name)) throw new Error(`two files of the release are named "${name}"`);
    lines.set(name, own);
  }
  const sorted = [...lines.keys()].toSorted();
  return sorted.map((name) => `${lines.get(name) ?? ""}\n`).join("");
}

/**
 * What is wrong with files by the text of SHA256SUMS, a sentence each: lines of another form, names
 * twice, files that are missing, not listed or changed. Empty if all files are as listed.
 */
export function checksumProblems(text: string, files: readonly ReleaseFile[]): readonly string[] {
  const lines = text.split("\n");
  const problems = lines.pop() === "" ? [] : ["the last line has no end"];
  const listed = new Map<string, string>();
  for (const [at, written] of lines.entries()) {
    const [, digest = "", name = ""] = line.exec(written) ?? [];
    if (name === "") problems.push(`line ${at + 1} is invalid`);
    else if (listed.has(name)) problems.push(`${name} is listed twice`);
    else listed.set(name, digest);
  }
  const present = new Map(files.map(({ name, bytes }) => [name, sha256Of(bytes)]));
  return [
    ...problems,
    ...[...listed.keys()].filter((name) => !present.has(name)).map((name) => `${name} is missing`),
    ...[...present].flatMap(([name, digest]) => {
      if (!listed.has(name)) return [`${name} is not listed`];
      return listed.get(name) === digest ? [] : [`${name} has another checksum`];
    }),
  ];
}
