import { describe, expect, it } from "vitest";
import { bundledPackages, integrityChecksum } from "../../release/bundled-packages.ts";
import { integrityOf, lock, metafileOf, packages } from "./release-fixture.ts";

const manifestOf = () => undefined;

/** The lock with other fields of its package `c`. */
const lockWith = (fields: object) => ({
  packages: {
    ...lock.packages,
    "node_modules/c": { ...lock.packages["node_modules/c"], ...fields },
  },
});
const ofC = metafileOf("node_modules/c/index.js");

describe("the packages of a bundle", () => {
  it("are those with bytes in it, in one order, with what they need of each other", () => {
    expect(packages.map(({ purl, needs }) => [purl, needs])).toEqual([
      ["pkg:npm/%40s/b@2.0.0", ["pkg:npm/c@2.1.0"]],
      ["pkg:npm/a@1.0.0", ["pkg:npm/%40s/b@2.0.0", "pkg:npm/c@1.1.0"]],
      ["pkg:npm/c@1.1.0", []],
      ["pkg:npm/c@2.1.0", []],
    ]);
  });

  it("have name, version, license and checksum of the lock", () => {
    expect(packages[0]).toEqual({
      path: "node_modules/@s/b",
      purl: "pkg:npm/%40s/b@2.0.0",
      name: "@s/b",
      version: "2.0.0",
      license: { id: "Apache-2.0" },
      checksum: { algorithm: "SHA512", hex: "02".repeat(64) },
      needs: ["pkg:npm/c@2.1.0"],
    });
  });

  it("have the license of their package.json if it names one", () => {
    const installed = { lock, manifestOf: () => ({ license: "ISC" }) };
    expect(bundledPackages(ofC, installed)[0]?.license).toEqual({ id: "ISC" });
  });

  it("are one if they are installed twice", () => {
    const twice = metafileOf(
      "node_modules/c/index.js",
      "node_modules/@s/b/node_modules/c/index.js",
    );
    const same = bundledPackages(twice, { lock: lockWith({ version: "2.1.0" }), manifestOf });
    expect(same.map(({ purl }) => purl)).toEqual(["pkg:npm/c@2.1.0"]);
  });

  it("have the name of the package that an alias stands for", () => {
    const [aliased] = bundledPackages(ofC, { lock: lockWith({ name: "@s/real" }), manifestOf });
    expect(aliased?.purl).toBe("pkg:npm/%40s/real@1.1.0");
  });

  it.each([
    ["no license", { license: undefined }, "c 1.1.0 names no license"],
    ["another license", { license: "GPL-3.0" }, 'c 1.1.0 has the license "GPL-3.0"; must be'],
    ["a choice of licenses", { license: "(MIT OR GPL-3.0)" }, "c 1.1.0 has the license"],
    ["no version", { version: undefined }, "package-lock.json has no version of node_modules/c"],
    ["no integrity", { integrity: undefined }, "c 1.1.0 has no SHA-512 in its integrity"],
  ])("are refused with %s", (_rule, fields, message) => {
    expect(() => bundledPackages(ofC, { lock: lockWith(fields), manifestOf })).toThrow(message);
  });

  it("are refused if the lock does not have them", () => {
    const files = metafileOf("node_modules/gone/index.js");
    expect(() => bundledPackages(files, { lock, manifestOf })).toThrow("node_modules/gone");
  });
});

describe("an integrity", () => {
  it("may have other algorithms beside SHA-512", () => {
    const several = `sha1-${"A".repeat(27)}= ${integrityOf(255)}`;
    expect(integrityChecksum("a", several).hex).toBe("ff".repeat(64));
  });

  it.each(["sha1-AAAA", "sha512-AAAA", "", `${integrityOf(1)}A`])("%j is refused", (integrity) => {
    expect(() => integrityChecksum("a 1", integrity)).toThrow("a 1 has no SHA-512");
  });
});
