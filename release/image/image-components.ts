import { integrityChecksum } from "../bundled-packages.ts";
import { type Component, purlOf } from "../component.ts";
import type { Pins, Platform } from "./pins.ts";

/**
 * What the image of a platform has beside the bundle: the Debian packages of its pins, then
 * Node.js, which links the libraries among them. Throws an Error if the integrity of Node.js is no
 * SHA-512.
 */
export function imageComponents(platform: Platform, pins: Pins): readonly Component[] {
  const { version, integrity } = pins.node;
  const debian = pins.debian.map((pinned) => debianComponent(platform, pinned));
  const node: Component = {
    purl: purlOf(["npm", platform.node], version),
    name: platform.node,
    version,
    license: { textIn: "/nodejs/LICENSE of the image" },
    checksum: integrityChecksum(`${platform.node} ${version}`, integrity),
    needs: debian.filter(({ name }) => name.startsWith("lib")).map(({ purl }) => purl),
  };
  return [...debian, node];
}

function debianComponent(
  platform: Platform,
  { name, version, sha256 }: Pins["debian"][number],
): Component {
  return {
    purl: `${purlOf(["deb", "debian", name], version)}?arch=${platform.name}`,
    name,
    version,
    license: { textIn: "the file `copyright` of the Debian package" },
    checksum: { algorithm: "SHA256", hex: sha256 },
    needs: [],
  };
}
