/*
 * Unpacks the Debian packages of the other arguments into the directory of the first, in the
 * versions that the apt sources of this machine serve.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { debianPackages, unpack } from "./debian-packages.ts";

const [draft = "", ...packages] = process.argv.slice(2);
const scratch = mkdtempSync(join(tmpdir(), "latchkey-debian-"));
mkdirSync(draft, { recursive: true });
try {
  const served = debianPackages(process.arch === "x64" ? "amd64" : process.arch, scratch);
  for (const name of packages) unpack(served.download(name), draft);
} finally {
  rmSync(scratch, { recursive: true });
}
