import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";

/**
 * Packs a part of a directory, all of it by default, into an archive that is the same on every
 * machine: sorted, of root, of 1970, without the bits that a umask decides. gzip and not zlib
 * compresses it, because the output of Node's zlib depends on the processor.
 */
export function packDirectory(directory: string, path: string, part = "."): void {
  const tar = [
    ...["tar", "--create", "--format=ustar", "--sort=name", "--mtime=@0"],
    ...["--owner=0", "--group=0", "--numeric-owner", "--mode=u+rwX,go+rX,go-w"],
  ];
  execFileSync("/bin/bash", ["-ec", `set -o pipefail; "$@" | gzip -n >"$0"`, path, ...tar, part], {
    cwd: directory,
  });
}

/** The digest of a content, such as `sha256:<hex>`. */
export function digestOf(content: Buffer | string): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`;
}
