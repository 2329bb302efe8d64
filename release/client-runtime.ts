import { recordAt, stringAt } from "../src/api/parse.ts";
import { integrityChecksum } from "./bundled-packages.ts";
import { type Component, purlOf } from "./component.ts";

/**
 * The runtime in a compiled `kubectl latchkey`: Bun's npm package for a platform of the Makefile,
 * such as `linux-arm64`. Throws an Error if package-lock.json has no version or SHA-512 of it.
 */
export function clientRuntime(platform: string, lock: unknown): Component {
  const name = `@oven/bun-${platform.replace("arm64", "aarch64")}`;
  const entry = recordAt(recordAt(lock, "packages"), `node_modules/${name}`);
  const version = stringAt(entry, "version");
  if (version === undefined) throw new Error(`package-lock.json has no version of ${name}`);
  return {
    purl: purlOf(["npm", ...name.split("/")], version),
    name,
    version,
    license: { textIn: `the file LICENSE.md of Bun ${version}` },
    checksum: integrityChecksum(`${name} ${version}`, stringAt(entry, "integrity")),
    needs: [],
  };
}
