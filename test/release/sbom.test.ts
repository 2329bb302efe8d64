import { describe, expect, it, test } from "vitest";
import { imageComponents } from "../../release/image/image-components.ts";
import { pinsOf, platforms } from "../../release/image/pins.ts";
import { documentation } from "../../release/registry.ts";
import { spdxDocument } from "../../release/sbom.ts";
import { spdxProblems } from "../../release/spdx-problems.ts";
import { artefact, created, packages } from "./release-fixture.ts";

const document = spdxDocument(artefact, created);

describe("an SBOM", () => {
  it("describes the artefact, then its packages", () => {
    expect(document).toMatchObject({
      spdxVersion: "SPDX-2.3",
      name: "latchkey-0.1.0",
      creationInfo: { created: "2027-01-15T08:00:00Z", creators: ["Tool: latchkey-release"] },
    });
    expect(document.packages.map(({ SPDXID }) => SPDXID)).toEqual([
      "SPDXRef-latchkey-0.1.0",
      "SPDXRef-npm-s-b-2.0.0",
      "SPDXRef-npm-a-1.0.0",
      "SPDXRef-npm-c-1.1.0",
      "SPDXRef-npm-c-2.1.0",
    ]);
  });

  it("says of a package where it is from, and what is known about it", () => {
    expect(document.packages[1]).toEqual({
      name: "@s/b",
      SPDXID: "SPDXRef-npm-s-b-2.0.0",
      versionInfo: "2.0.0",
      downloadLocation: "NOASSERTION",
      filesAnalyzed: false,
      checksums: [{ algorithm: "SHA512", checksumValue: "02".repeat(64) }],
      licenseConcluded: "NOASSERTION",
      licenseDeclared: "Apache-2.0",
      copyrightText: "NOASSERTION",
      externalRefs: [
        {
          referenceCategory: "PACKAGE-MANAGER",
          referenceType: "purl",
          referenceLocator: "pkg:npm/%40s/b@2.0.0",
        },
      ],
    });
  });

  it("says what contains and what needs what", () => {
    const lines = document.relationships.map(
      ({ spdxElementId, relationshipType, relatedSpdxElement }) =>
        `${spdxElementId} ${relationshipType} ${relatedSpdxElement}`.replaceAll("SPDXRef-", ""),
    );
    expect(lines).toEqual([
      "DOCUMENT DESCRIBES latchkey-0.1.0",
      "latchkey-0.1.0 CONTAINS npm-s-b-2.0.0",
      "latchkey-0.1.0 CONTAINS npm-a-1.0.0",
      "latchkey-0.1.0 CONTAINS npm-c-1.1.0",
      "latchkey-0.1.0 CONTAINS npm-c-2.1.0",
      "npm-s-b-2.0.0 DEPENDS_ON npm-c-2.1.0",
      "npm-a-1.0.0 DEPENDS_ON npm-s-b-2.0.0",
      "npm-a-1.0.0 DEPENDS_ON npm-c-1.1.0",
    ]);
  });

  it("is the same for the same packages in another order", () => {
    const turned = { ...artefact, components: packages.toReversed() };
    expect(JSON.stringify(spdxDocument(turned, created))).toBe(JSON.stringify(document));
  });

  it("has a namespace of its content", () => {
    const { documentNamespace } = document;
    expect(documentNamespace).toMatch(/\/spdx\/latchkey-0\.1\.0-[0-9a-f]{64}$/);
    expect(documentNamespace.startsWith(`${documentation}/`)).toBe(true);
    const other = spdxDocument({ ...artefact, sha256: "cd".repeat(32) }, created);
    expect(other.documentNamespace).not.toBe(documentNamespace);
  });

  it("of packages with one id is refused", () => {
    const twice = { ...artefact, components: [...packages, ...packages] };
    expect(() => spdxDocument(twice, created)).toThrow(
      'SBOM of latchkey: SPDXID "SPDXRef-npm-s-b-2.0.0" is not unique',
    );
  });
});

test.each(platforms)("the image of $name has Debian packages and Node.js", (platform) => {
  const components = imageComponents(platform, pinsOf(platform));
  const image = spdxDocument({ ...artefact, purpose: "CONTAINER", components }, created);
  const named = (name: string) => image.packages.find((one) => one.name === name);
  expect(named("libstdc++6")).toMatchObject({
    SPDXID: expect.stringMatching(/^SPDXRef-deb-debian-libstdc-6-/),
    checksums: [{ algorithm: "SHA256" }],
    licenseDeclared: "NOASSERTION",
  });
  expect(named("libstdc++6")?.externalRefs?.[0]?.referenceLocator).toMatch(
    new RegExp(String.raw`^pkg:deb/debian/libstdc%2B%2B6@[\w.%-]+\?arch=${platform.name}$`),
  );
  expect(named(platform.node)?.checksums).toMatchObject([{ algorithm: "SHA512" }]);
  expect(components.at(-1)?.needs).toHaveLength(3);
});

describe("a document", () => {
  const [first, ...others] = document.packages;
  const firstWith = (fields: object) => ({ packages: [{ ...first, ...fields }, ...others] });
  const relationship = document.relationships[1];
  const related = (fields: object) => ({
    relationships: [...document.relationships, { ...relationship, ...fields }],
  });
  const info = document.creationInfo;
  const own = "SPDXRef-latchkey-0.1.0";

  it.each<[string, object, string]>([
    ["of another version", { spdxVersion: "SPDX-2.2" }, 'spdxVersion "SPDX-2.2" is invalid'],
    ["without a license", { dataLicense: undefined }, "dataLicense is missing"],
    ["with a blank name", { name: " " }, 'name " " is invalid'],
    ["with a relative namespace", { documentNamespace: "a" }, 'documentNamespace "a" is invalid'],
    [
      "with a fragment in its namespace",
      { documentNamespace: "https://a/b#c" },
      'documentNamespace "https://a/b#c" is invalid',
    ],
    [
      "created in another time zone",
      { creationInfo: { ...info, created: "2027-01-15T08:00:00+01:00" } },
      'created "2027-01-15T08:00:00+01:00" is invalid',
    ],
    ["without creators", { creationInfo: { ...info, creators: [] } }, "creators must not be empty"],
    [
      "of a creator of no kind",
      { creationInfo: { ...info, creators: ["me"] } },
      'creator "me" is invalid',
    ],
    [
      "with a package without a place to download",
      firstWith({ downloadLocation: undefined }),
      `${own}: downloadLocation is missing`,
    ],
    [
      "with a package whose files are analyzed",
      firstWith({ filesAnalyzed: true }),
      `${own}: filesAnalyzed must be false`,
    ],
    [
      "with a short checksum",
      firstWith({ checksums: [{ algorithm: "SHA512", checksumValue: "ab".repeat(32) }] }),
      `${own}: checksumValue "${"ab".repeat(32)}" is invalid`,
    ],
    [
      "with another checksum",
      firstWith({ checksums: [{ algorithm: "MD5", checksumValue: "ab" }] }),
      `${own}: the checksum algorithm "MD5" is not supported`,
    ],
    [
      "with another relationship",
      related({ relationshipType: "EATS" }),
      'relationshipType "EATS" is not supported',
    ],
    [
      "with a relationship of an unknown package",
      related({ relatedSpdxElement: "SPDXRef-gone" }),
      'a relationship names "SPDXRef-gone"',
    ],
    [
      "that describes nothing",
      { relationships: document.relationships.slice(1) },
      "the document must DESCRIBE a package",
    ],
  ])("%s is invalid", (_rule, fields, problem) => {
    expect(spdxProblems({ ...document, ...fields })).toEqual([problem]);
  });

  it.each<[string, object, string]>([
    [
      "with an id of other characters",
      firstWith({ SPDXID: "SPDXRef-a_b" }),
      'SPDXRef-a_b: SPDXID "SPDXRef-a_b" is invalid',
    ],
    [
      "with one id twice",
      firstWith({ SPDXID: "SPDXRef-npm-a-1.0.0" }),
      'SPDXID "SPDXRef-npm-a-1.0.0" is not unique',
    ],
    ["without packages", { packages: [] }, "packages must not be empty"],
  ])("%s is invalid, with what names it", (_rule, fields, problem) => {
    const problems = spdxProblems({ ...document, ...fields });
    expect(problems).toContain(problem);
    expect(problems).toContain(`a relationship names "${own}"`);
  });

  it("that is no object is invalid, and the SBOM is valid", () => {
    expect(spdxProblems("SPDX")).not.toEqual([]);
    expect(spdxProblems(document)).toEqual([]);
  });
});
