import { isRecord, numberAt, recordAt, stringAt } from "../src/api/parse.ts";
import { type Checksum, type Component, purlOf } from "./component.ts";
import { permittedLicense } from "./licenses.ts";

/** An npm package in a bundle. */
export interface BundledPackage extends Component {
  /** Its key in package-lock.json, such as `node_modules/a/node_modules/@b/c`. */
  readonly path: string;
}

/** What is known about installed packages. */
export interface Installed {
  /** The content of package-lock.json. */
  readonly lock: unknown;
  /** The content of package.json of the package at a path such as `node_modules/jose`. */
  readonly manifestOf: (path: string) => unknown;
}

/** Also below directories outside of the project, where node_modules is a link. */
const packagePath =
  /(?:^|\/)(node_modules\/(?:@[^/]+\/)?[^/]+(?:\/node_modules\/(?:@[^/]+\/)?[^/]+)*)\//;

/**
 * The npm packages of which bytes are in the outputs of esbuild's metafile, sorted by package URL.
 * Throws an Error that names the package if package-lock.json has no version or no SHA-512 of it,
 * or if its license is missing or not permitted.
 */
export function bundledPackages(
  metafile: unknown,
  installed: Installed,
): readonly BundledPackage[] {
  const paths = bundledPaths(metafile);
  const found = new Map<string, BundledPackage>();
  for (const path of paths) {
    const own = bundledPackage(path, paths, installed);
    const same = found.get(own.purl);
    const needs = [...new Set([...(same?.needs ?? []), ...own.needs])].toSorted();
    found.set(own.purl, { ...own, ...same, needs });
  }
  return [...found.keys()].toSorted().flatMap((purl) => found.get(purl) ?? []);
}

function bundledPaths(metafile: unknown): readonly string[] {
  const files = Object.values(recordAt(metafile, "outputs"))
    .flatMap((output) => Object.entries(recordAt(output, "inputs")))
    .filter(([, input]) => (numberAt(input, "bytesInOutput") ?? 0) > 0);
  const paths = files.flatMap(([file]) => packagePath.exec(file)?.[1] ?? []);
  return [...new Set(paths)].toSorted();
}

function bundledPackage(
  path: string,
  bundled: readonly string[],
  { lock, manifestOf }: Installed,
): BundledPackage {
  const entry = recordAt(recordAt(lock, "packages"), path);
  const { name, version, purl } = identityOf(path, lock);
  const license = stringAt(manifestOf(path), "license") ?? stringAt(entry, "license");
  const needs = ["dependencies", "optionalDependencies", "peerDependencies"]
    .flatMap((field) => Object.keys(recordAt(entry, field)))
    .flatMap((needed) => placeOf(needed, path, lock) ?? [])
    .filter((place) => bundled.includes(place))
    .map((place) => identityOf(place, lock).purl);
  return {
    path,
    purl,
    name,
    version,
    license: { id: permittedLicense(`${name} ${version}`, license) },
    checksum: integrityChecksum(`${name} ${version}`, stringAt(entry, "integrity")),
    needs: [...new Set(needs)].toSorted(),
  };
}

/** Name, version and package URL of an entry of the lock; only the entry of an alias has a name. */
function identityOf(path: string, lock: unknown): Pick<Component, "name" | "version" | "purl"> {
  const entry = recordAt(recordAt(lock, "packages"), path);
  const name = stringAt(entry, "name") ?? path.replace(/^.*node_modules\//, "");
  const version = stringAt(entry, "version");
  if (version === undefined) throw new Error(`package-lock.json has no version of ${path}`);
  return { name, version, purl: purlOf(["npm", ...name.split("/")], version) };
}

/** Where Node finds a package that the package at `from` imports: in the nearest node_modules. */
function placeOf(name: string, from: string, lock: unknown): string | undefined {
  const path = `${from === "" ? "" : `${from}/`}node_modules/${name}`;
  if (isRecord(recordAt(lock, "packages")[path])) return path;
  if (from === "") return undefined;
  return placeOf(name, from.replace(/\/?node_modules\/(?:@[^/]+\/)?[^/]+$/, ""), lock);
}

/**
 * The SHA-512 of a Subresource Integrity such as `sha512-<base64>`. Throws an Error that names the
 * package if it has none.
 */
export function integrityChecksum(of: string, integrity: string | undefined): Checksum {
  const [, base64] = /(?:^|\s)sha512-([A-Za-z0-9+/]{86}==)(?:\s|$)/.exec(integrity ?? "") ?? [];
  if (base64 === undefined) throw new Error(`${of} has no SHA-512 in its integrity`);
  return { algorithm: "SHA512", hex: Buffer.from(base64, "base64").toString("hex") };
}
