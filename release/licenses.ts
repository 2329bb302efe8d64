/** The licenses that a bundled package may have, by their ids of the SPDX License List. */
const permitted: ReadonlySet<string> = new Set([
  "0BSD",
  "Apache-2.0",
  "BlueOak-1.0.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "CC0-1.0",
  "ISC",
  "MIT",
  "Python-2.0",
  "Unlicense",
]);

/**
 * The license that a package may have. Throws an Error that names the package (such as
 * `jose 6.2.17`) if its license is missing or not permitted: a person then decides about it.
 */
export function permittedLicense(of: string, license: string | undefined): string {
  if (license === undefined) throw new Error(`${of} names no license`);
  if (!permitted.has(license))
    throw new Error(
      `${of} has the license "${license}"; must be one of ${[...permitted].join(", ")}`,
    );
  return license;
}
