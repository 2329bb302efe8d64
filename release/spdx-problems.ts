import { isRecord, listAt, recordAt, stringAt, stringsAt } from "../src/api/parse.ts";

/** The length of checksums in hexadecimal digits, by algorithm. */
const digits = new Map([
  ["SHA256", 64],
  ["SHA512", 128],
]);

const documentId = "SPDXRef-DOCUMENT";
const types: readonly (string | undefined)[] = ["DESCRIBES", "CONTAINS", "DEPENDS_ON"];

/**
 * What is wrong with a document by the SPDX specification 2.3, a sentence each: fields of its
 * sections 6 (document), 7 (packages) and 11 (relationships) as Latchkey writes them, ids that are
 * not unique, and relationships of what is not in the document. Empty for a valid document.
 */
export function spdxProblems(document: unknown): readonly string[] {
  const packages = listAt(document, "packages");
  const ids = [document, ...packages].map((element) => stringAt(element, "SPDXID") ?? "");
  return [
    ...creationProblems(document),
    ...(packages.length === 0 ? ["packages must not be empty"] : []),
    ...packages.flatMap(packageProblems),
    ...[...new Set(ids.filter((id, at) => ids.indexOf(id) !== at))].map(
      (id) => `SPDXID "${id}" is not unique`,
    ),
    ...relationshipProblems(listAt(document, "relationships"), new Set(ids)),
  ];
}

function creationProblems(document: unknown): readonly string[] {
  const info = recordAt(document, "creationInfo");
  const creators = stringsAt(info, "creators");
  return [
    ...mismatch(document, "spdxVersion", /^SPDX-2\.3$/),
    ...mismatch(document, "dataLicense", /^CC0-1\.0$/),
    ...mismatch(document, "SPDXID", /^SPDXRef-DOCUMENT$/),
    ...mismatch(document, "name", /\S/),
    ...mismatch(document, "documentNamespace", /^[a-z][a-z0-9+.-]*:[^\s#]+$/),
    ...mismatch(info, "created", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    ...(creators.length === 0 ? ["creators must not be empty"] : []),
    ...creators
      .filter((creator) => !/^(?:Tool|Organization|Person): \S/.test(creator))
      .map((creator) => `creator "${creator}" is invalid`),
  ];
}

function packageProblems(element: unknown): readonly string[] {
  const id = stringAt(element, "SPDXID") ?? "a package";
  const problems = [
    ...mismatch(element, "SPDXID", /^SPDXRef-[A-Za-z0-9.-]+$/),
    ...mismatch(element, "name", /\S/),
    ...mismatch(element, "versionInfo", /\S/),
    ...mismatch(element, "downloadLocation", /\S/),
    ...mismatch(element, "licenseDeclared", /\S/),
    // Otherwise the package would need a verification code of its files.
    ...(isRecord(element) && element["filesAnalyzed"] === false
      ? []
      : ["filesAnalyzed must be false"]),
    ...listAt(element, "checksums").flatMap(checksumProblem),
  ];
  return problems.map((problem) => `${id}: ${problem}`);
}

function checksumProblem(checksum: unknown): readonly string[] {
  const algorithm = stringAt(checksum, "algorithm") ?? "";
  const length = digits.get(algorithm);
  if (length === undefined) return [`the checksum algorithm "${algorithm}" is not supported`];
  return mismatch(checksum, "checksumValue", new RegExp(`^[0-9a-f]{${length}}$`));
}

function relationshipProblems(
  relationships: readonly unknown[],
  ids: ReadonlySet<string>,
): readonly string[] {
  const described = relationships.filter(
    (relationship) =>
      stringAt(relationship, "spdxElementId") === documentId &&
      stringAt(relationship, "relationshipType") === "DESCRIBES",
  );
  return [
    ...(described.length === 0 ? ["the document must DESCRIBE a package"] : []),
    ...relationships.flatMap((relationship) => {
      const type = stringAt(relationship, "relationshipType");
      const ends = ["spdxElementId", "relatedSpdxElement"].map(
        (field) => stringAt(relationship, field) ?? "",
      );
      return [
        ...(types.includes(type) ? [] : [`relationshipType "${type ?? ""}" is not supported`]),
        ...ends.filter((id) => !ids.has(id)).map((id) => `a relationship names "${id}"`),
      ];
    }),
  ];
}

function mismatch(record: unknown, field: string, pattern: RegExp): readonly string[] {
  const value = stringAt(record, field);
  if (value === undefined) return [`${field} is missing`];
  return pattern.test(value) ? [] : [`${field} "${value}" is invalid`];
}
