import { type BundledPackage, bundledPackages } from "../../release/bundled-packages.ts";
import type { Artefact } from "../../release/sbom.ts";

/** An integrity of 64 equal bytes, as package-lock.json has it. */
export const integrityOf = (byte: number): string =>
  `sha512-${Buffer.alloc(64, byte).toString("base64")}`;

/** A small package-lock.json: `a` needs both versions of `c`, one of them through `@s/b`. */
export const lock = {
  packages: {
    "": { dependencies: { a: "1.0.0" } },
    "node_modules/a": {
      version: "1.0.0",
      integrity: integrityOf(1),
      license: "MIT",
      dependencies: { "@s/b": "2", c: "1", unused: "1" },
    },
    "node_modules/@s/b": {
      version: "2.0.0",
      integrity: integrityOf(2),
      license: "Apache-2.0",
      peerDependencies: { c: "2" },
    },
    "node_modules/@s/b/node_modules/c": {
      version: "2.1.0",
      integrity: integrityOf(3),
      license: "0BSD",
    },
    "node_modules/c": { version: "1.1.0", integrity: integrityOf(4), license: "0BSD" },
    "node_modules/unused": { version: "1.0.0", integrity: integrityOf(5), license: "GPL-3.0" },
  },
};

/** A metafile of esbuild with bytes of these files, and none of `unused`. */
export const metafileOf = (...files: readonly string[]): unknown => ({
  outputs: {
    "dist/main.mjs": {
      inputs: Object.fromEntries([
        ["src/main.ts", { bytesInOutput: 10 }],
        ["node_modules/unused/index.js", { bytesInOutput: 0 }],
        ...files.map((file) => [file, { bytesInOutput: 1 }]),
      ]),
    },
  },
});

/** Files of all packages but `unused`, of which two are of one package. */
export const bundledFiles: readonly string[] = [
  "node_modules/c/index.js",
  "../other/node_modules/a/index.js",
  "node_modules/a/lib/more.js",
  "node_modules/@s/b/index.js",
  "node_modules/@s/b/node_modules/c/index.js",
];

/** The packages of these files. */
export const packages: readonly BundledPackage[] = bundledPackages(metafileOf(...bundledFiles), {
  lock,
  manifestOf: () => undefined,
});

/** An artefact of these packages. */
export const artefact: Artefact = {
  name: "latchkey",
  version: "0.1.0",
  purpose: "APPLICATION",
  sha256: "ab".repeat(32),
  components: packages,
};

/** The instant of the sources of a release. */
export const created = new Date(1_800_000_000_000);
