import { createHash } from "node:crypto";
import type { Component } from "./component.ts";
import { documentation } from "./registry.ts";
import { spdxProblems } from "./spdx-problems.ts";

/** An artefact of a release, and the packages of others in it. */
export interface Artefact {
  /** Such as `latchkey-image-amd64`. */
  readonly name: string;
  readonly version: string;
  readonly purpose: "APPLICATION" | "CONTAINER";
  /** Of the file, or of the manifest of the image, in hexadecimal digits. */
  readonly sha256: string;
  readonly components: readonly Component[];
}

/** A document as the SPDX specification 2.3 defines it, with the fields that Latchkey writes. */
export interface SpdxDocument {
  readonly spdxVersion: "SPDX-2.3";
  readonly dataLicense: "CC0-1.0";
  readonly SPDXID: "SPDXRef-DOCUMENT";
  readonly name: string;
  readonly documentNamespace: string;
  readonly creationInfo: { readonly created: string; readonly creators: readonly string[] };
  readonly packages: readonly SpdxPackage[];
  readonly relationships: readonly SpdxRelationship[];
}

/** Section 7 of the specification: one package. */
interface SpdxPackage {
  readonly name: string;
  readonly SPDXID: string;
  readonly versionInfo: string;
  readonly primaryPackagePurpose?: string;
  readonly downloadLocation: "NOASSERTION";
  readonly filesAnalyzed: false;
  readonly checksums: readonly { readonly algorithm: string; readonly checksumValue: string }[];
  readonly licenseConcluded: "NOASSERTION";
  readonly licenseDeclared: string;
  readonly copyrightText: "NOASSERTION";
  readonly externalRefs?: readonly {
    readonly referenceCategory: "PACKAGE-MANAGER";
    readonly referenceType: "purl";
    readonly referenceLocator: string;
  }[];
}

/** Section 11 of the specification: `spdxElementId` DESCRIBES, CONTAINS or DEPENDS_ON the other. */
interface SpdxRelationship {
  readonly spdxElementId: string;
  readonly relationshipType: "DESCRIBES" | "CONTAINS" | "DEPENDS_ON";
  readonly relatedSpdxElement: string;
}

const documentId = "SPDXRef-DOCUMENT";
const unknowns = {
  downloadLocation: "NOASSERTION",
  filesAnalyzed: false,
  licenseConcluded: "NOASSERTION",
  copyrightText: "NOASSERTION",
} as const;

/**
 * The SBOM of an artefact: the same components give the same document, in any order. `created` is
 * the instant of the sources, such as SOURCE_DATE_EPOCH. Throws an Error with the problems if the
 * document is invalid, such as two components with one id.
 */
export function spdxDocument(artefact: Artefact, created: Date): SpdxDocument {
  const { name, version } = artefact;
  const components = artefact.components.toSorted((a, b) => (a.purl < b.purl ? -1 : 1));
  const content = {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: documentId,
    name: `${name}-${version}`,
    creationInfo: {
      created: created.toISOString().replace(/\.\d+Z$/, "Z"),
      creators: ["Tool: latchkey-release"],
    },
    packages: [artefactPackage(artefact), ...components.map(componentPackage)],
    relationships: relationshipsOf(artefact, components),
  } as const;
  const digest = createHash("sha256").update(JSON.stringify(content)).digest("hex");
  const documentNamespace = `${documentation}/spdx/${name}-${version}-${digest}`;
  const document = { ...content, documentNamespace };
  const problems = spdxProblems(document);
  if (problems.length > 0) throw new Error(`SBOM of ${name}: ${problems.join("; ")}`);
  return document;
}

function artefactPackage(artefact: Artefact): SpdxPackage {
  return {
    name: artefact.name,
    SPDXID: artefactId(artefact),
    versionInfo: artefact.version,
    primaryPackagePurpose: artefact.purpose,
    ...unknowns,
    checksums: [{ algorithm: "SHA256", checksumValue: artefact.sha256 }],
    licenseDeclared: "Apache-2.0",
  };
}

function componentPackage({ name, version, ...component }: Component): SpdxPackage {
  const { license, checksum, purl } = component;
  return {
    name,
    SPDXID: idOf(purl),
    versionInfo: version,
    ...unknowns,
    checksums: [{ algorithm: checksum.algorithm, checksumValue: checksum.hex }],
    licenseDeclared: "id" in license ? license.id : "NOASSERTION",
    externalRefs: [
      {
        referenceCategory: "PACKAGE-MANAGER",
        referenceType: "purl",
        referenceLocator: purl,
      },
    ],
  };
}

function relationshipsOf(
  artefact: Artefact,
  components: readonly Component[],
): readonly SpdxRelationship[] {
  const own = artefactId(artefact);
  return [
    relationship(documentId, "DESCRIBES", own),
    ...components.map(({ purl }) => relationship(own, "CONTAINS", idOf(purl))),
    ...components.flatMap(({ purl, needs }) =>
      needs.toSorted().map((needed) => relationship(idOf(purl), "DEPENDS_ON", idOf(needed))),
    ),
  ];
}

function relationship(
  spdxElementId: string,
  relationshipType: SpdxRelationship["relationshipType"],
  relatedSpdxElement: string,
): SpdxRelationship {
  return { spdxElementId, relationshipType, relatedSpdxElement };
}

function artefactId({ name, version }: Artefact): string {
  return `SPDXRef-${legible(`${name}-${version}`)}`;
}

/** `SPDXRef-npm-peculiar-x509-2.2.0` of `pkg:npm/%40peculiar/x509@2.2.0`. */
function idOf(purl: string): string {
  return `SPDXRef-${legible(decodeURIComponent(purl.replace(/^pkg:/, "")))}`;
}

function legible(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9.]+/g, "-");
}
