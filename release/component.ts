/** A package of others in an artefact of a release, in one exact version. */
export interface Component {
  /** Its package URL, such as `pkg:npm/jose@6.2.17`; two components of an artefact have two. */
  readonly purl: string;
  readonly name: string;
  readonly version: string;
  readonly license: License;
  /** Of the archive from which it was installed. */
  readonly checksum: Checksum;
  /** The package URLs of the components of the artefact that it depends on. */
  readonly needs: readonly string[];
}

/** One license by its id of the SPDX License List, or where the text of several licenses is. */
export type License = { readonly id: string } | { readonly textIn: string };

/** A checksum in lower-case hexadecimal digits. */
export interface Checksum {
  readonly algorithm: "SHA256" | "SHA512";
  readonly hex: string;
}

/**
 * The package URL of a package: `path` is its type, its namespace if it has one, and its name. The
 * percent-encoding is that of https://github.com/package-url/purl-spec, which keeps colons.
 */
export function purlOf(path: readonly string[], version: string): string {
  const encoded = (part: string) => encodeURIComponent(part).replaceAll("%3A", ":");
  return `pkg:${path.map(encoded).join("/")}@${encoded(version)}`;
}
