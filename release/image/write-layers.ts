/*
 * Writes the layers of one platform that do not change with Latchkey to the directory of the second
 * argument: `debian.tar.gz` and `node.tar.gz`.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { debianPackages, unpack } from "../../test/support/debian-packages.ts";
import { packDirectory } from "../archive.ts";
import { type Pins, pinsOf, type Platform, platforms } from "./pins.ts";

const [name = "", draft = ""] = process.argv.slice(2);
const platform = platforms.find((one) => one.name === name);
if (platform === undefined) throw new Error(`"${name}" is no platform of the image`);
const scratch = mkdtempSync(join(tmpdir(), "latchkey-image-"));
try {
  writeLayers(platform, pinsOf(platform));
} catch (error) {
  process.exitCode = 1;
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
} finally {
  rmSync(scratch, { recursive: true });
}

function writeLayers(of: Platform, { debian, node }: Pins): void {
  mkdirSync(draft, { recursive: true });
  packDirectory(debianFiles(of, debian), join(draft, "debian.tar.gz"));
  packDirectory(nodeFiles(of, node), join(draft, "node.tar.gz"));
}

function debianFiles(of: Platform, pinned: Pins["debian"]): string {
  const root = emptyRoot("debian-root");
  const served = debianPackages(of.name, join(scratch, "apt"));
  // Where scanners look for the packages of an image without dpkg.
  const status = join(root, "var", "lib", "dpkg", "status.d");
  mkdirSync(status, { recursive: true });
  for (const wanted of pinned) {
    const file = downloaded(served, wanted, of);
    check(file, `sha256-${Buffer.from(wanted.sha256, "hex").toString("base64")}`);
    unpack(file, root);
    writeFileSync(join(status, wanted.name), execFileSync("dpkg-deb", ["--field", file]));
  }
  writeCertificates(root);
  writeFileSync(
    join(root, "etc", "passwd"),
    "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n",
  );
  writeFileSync(join(root, "etc", "group"), "root:x:0:\nnonroot:x:65532:\n");
  for (const mountPoint of ["dev", "proc", "sys", "tmp"]) mkdirSync(join(root, mountPoint));
  return root;
}

function downloaded(
  served: ReturnType<typeof debianPackages>,
  { name: wanted, version }: Pins["debian"][number],
  of: Platform,
): string {
  try {
    return served.download(`${wanted}=${version}`);
  } catch (error) {
    throw new Error(
      `the apt sources of this machine do not serve ${wanted} ${version} for ${of.name}. If they are those of Debian 12, pin the versions that they serve now: npm run image -- --pin`,
      { cause: error },
    );
  }
}

/** What the script of the package does when it is installed: all certificates in one file. */
function writeCertificates(root: string): void {
  const source = join(root, "usr", "share", "ca-certificates", "mozilla");
  const all = readdirSync(source).toSorted();
  mkdirSync(join(root, "etc", "ssl", "certs"), { recursive: true });
  writeFileSync(
    join(root, "etc", "ssl", "certs", "ca-certificates.crt"),
    all.map((file) => readFileSync(join(source, file), "utf8")).join(""),
  );
}

function nodeFiles({ node: pack }: Platform, { version, integrity }: Pins["node"]): string {
  const root = emptyRoot("node-root");
  const npm = ["pack", "--silent", `--pack-destination=${scratch}`, `${pack}@${version}`];
  const archive = join(scratch, execFileSync("npm", npm, { encoding: "utf8" }).trim());
  check(archive, integrity);
  execFileSync("tar", ["--extract", `--file=${archive}`, `--directory=${scratch}`]);
  mkdirSync(join(root, "nodejs", "bin"), { recursive: true });
  copyFileSync(join(scratch, "package", "bin", "node"), join(root, "nodejs", "bin", "node"));
  copyFileSync(join(scratch, "package", "LICENSE"), join(root, "nodejs", "LICENSE"));
  return root;
}

/** Throws unless a file has this Subresource Integrity, such as `sha512-<base64>`. */
function check(file: string, integrity: string): void {
  const [algorithm = ""] = integrity.split("-");
  const found = createHash(algorithm).update(readFileSync(file)).digest("base64");
  if (integrity !== `${algorithm}-${found}`)
    throw new Error(`${file} has ${algorithm}-${found}, but pins.json wants ${integrity}`);
}

function emptyRoot(below: string): string {
  const root = join(scratch, below);
  mkdirSync(root);
  return root;
}
