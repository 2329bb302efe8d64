import { gzipSync } from "node:zlib";

/** A file of an archive; its path is relative, with `/`. */
export interface ArchivedFile {
  readonly path: string;
  readonly text: string;
}

const block = 512;

/**
 * A gzipped tar archive (POSIX ustar) of files: the same bytes for the same files, because times are
 * 0, the owner is root and the order is that of the paths. Throws if a path is over 100 bytes.
 */
export function archiveOf(files: readonly ArchivedFile[]): Buffer {
  const sorted = files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  const archived = gzipSync(Buffer.concat([...sorted.flatMap(entryOf), Buffer.alloc(2 * block)]), {
    level: 9,
  });
  // The operating system in the header of gzip (RFC 1952): unknown.
  archived[9] = 255;
  return archived;
}

function entryOf({ path, text }: ArchivedFile): readonly Buffer[] {
  const content = Buffer.from(text);
  if (Buffer.byteLength(path) > 100)
    throw new Error(`path "${path}" is too long for an archive; must be at most 100 bytes`);
  return [headerOf(path, content.length), content, Buffer.alloc(-content.length & (block - 1))];
}

function headerOf(path: string, size: number): Buffer {
  const header = Buffer.alloc(block);
  const fields: readonly (readonly [offset: number, text: string])[] = [
    [0, path],
    [100, "0000644"],
    [108, "0000000"],
    [116, "0000000"],
    [124, octal(size, 11)],
    [136, octal(0, 11)],
    [148, " ".repeat(8)],
    [156, "0"],
    [257, "ustar\u000000"],
  ];
  for (const [offset, text] of fields) header.write(text, offset);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)}\u0000`, 148);
  return header;
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0");
}
