import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { boolYaml11Tag, CORE_SCHEMA, loadAll, mergeTag, YAMLException } from "js-yaml";
import { keyOf, type Manifest, type ObjectRef } from "../../api/object.ts";
import { isRecord, ownValue, listAt, recordAt, stringAt, isOfKind } from "../../api/parse.ts";
import type { ReportObject } from "../../api/report.ts";
import { apiVersionOf, type Resource, resources } from "../../api/resources.ts";
import { SecretText } from "../../api/secret-text.ts";
import { nameOf, annotationField } from "../../domain/report-object.ts";
import { ConfigError, namespaceName, objectName, UsageError } from "../../runtime/config-values.ts";
import { errorCode, mostInputBytes, readFileBytes } from "../../runtime/read-text-file.ts";

/** A kind that decides which copies exist. */
type PlannedKind = "SharedSecret" | "Namespace" | "Secret";

/** An object of a file; its values are SecretTexts. */
export interface PlannedManifest {
  readonly kind: PlannedKind;
  readonly resource: Resource;
  readonly ref: ObjectRef;
  readonly manifest: Manifest;
  /** The file, for messages. */
  readonly file: string;
}

/** The objects of files, and those of kinds that sync does not depend on. */
interface PlannedManifests {
  readonly manifests: readonly PlannedManifest[];
  readonly skipped: readonly ReportObject[];
}

/** A file and its text. */
export interface ManifestText {
  readonly file: string;
  readonly text: string;
}

const planned: Readonly<Record<PlannedKind, Resource>> = {
  SharedSecret: resources.sharedSecrets,
  Namespace: resources.namespaces,
  Secret: resources.secrets,
};

/** Reads files, and the YAML and JSON files of directories, as `kubectl apply -f` does. */
export function readManifestFiles(paths: readonly string[]): readonly ManifestText[] {
  return paths.flatMap(filesOf).map((path) => ({
    file: path,
    text: readFileBytes({ option: "--filename", path }, mostInputBytes).toString("utf8"),
  }));
}

function filesOf(path: string): readonly string[] {
  try {
    if (!statSync(path).isDirectory()) return [path];
    return readdirSync(path)
      .filter((name) => /\.(?:json|ya?ml)$/.test(name))
      .toSorted()
      .map((name) => join(path, name));
  } catch (error) {
    const code = errorCode(error) ?? "unknown error";
    throw new ConfigError("--filename", path, `cannot be read: ${code}`);
  }
}

/**
 * Parses the documents of files; throws a UsageError that quotes no value, also if there is none.
 * `namespace` is that of objects without one.
 */
export function parseManifests(
  texts: readonly ManifestText[],
  namespace: string,
): PlannedManifests {
  const manifests = new Map<string, PlannedManifest>();
  const skipped: ReportObject[] = [];
  for (const { file, text } of texts) {
    for (const document of documentsOf(text, file).flatMap(itemsOf)) {
      const place = `${file}: ${nameOf(objectOf(document))}`;
      const problem = valueProblem(document);
      if (problem !== undefined) throw new UsageError(`${place}: ${problem}`);
      const found = plannedManifest(document, { file, namespace, place });
      if (found === undefined) skipped.push(objectOf(document));
      else if (manifests.has(keyIn(found)))
        throw new UsageError(`${place} is there twice; remove one of them`);
      else manifests.set(keyIn(found), found);
    }
  }
  if (manifests.size === 0 && skipped.length === 0)
    throw new UsageError("--filename: there is no object to plan; name a file with one");
  return { manifests: [...manifests.values()], skipped };
}

function keyIn({ kind, ref }: PlannedManifest): string {
  return `${kind} ${keyOf(ref)}`;
}

/** Scalars as kubectl reads them: yes and no are no texts, and << merges. */
const schema = CORE_SCHEMA.withTags(boolYaml11Tag, mergeTag);

function documentsOf(text: string, file: string): readonly Readonly<Record<string, unknown>>[] {
  let documents: readonly unknown[];
  let expanded: number;
  try {
    documents = loadAll(text, { schema });
    expanded = expandedLength(documents, new Map());
  } catch (error) {
    // The message of the library quotes the file.
    const line = error instanceof YAMLException ? error.mark?.line : undefined;
    throw new UsageError(
      `${file}: is not valid YAML${line === undefined ? "" : ` at line ${line + 1}`}`,
    );
  }
  if (expanded > mostInputBytes)
    throw new UsageError(
      `${file}: has more than ${mostInputBytes} characters once its aliases are expanded; ` +
        "write the values without aliases",
    );
  return documents
    .filter((document) => document !== null && document !== undefined)
    .map((document) => {
      if (isRecord(document)) return document;
      throw new UsageError(`${file}: a document is not an object`);
    });
}

/** The characters of a value with its aliases expanded; infinite if it contains itself. */
function expandedLength(value: unknown, known: Map<object, number>): number {
  if (typeof value === "string") return value.length + 1;
  if (typeof value !== "object" || value === null) return 1;
  const found = known.get(value);
  if (found !== undefined) return found;
  known.set(value, Number.POSITIVE_INFINITY);
  let length = 1;
  for (const [name, inner] of Object.entries(value))
    length += name.length + expandedLength(inner, known);
  known.set(value, length);
  return length;
}

function itemsOf(
  document: Readonly<Record<string, unknown>>,
): readonly Readonly<Record<string, unknown>>[] {
  const isList = stringAt(document, "kind")?.endsWith("List") === true && "items" in document;
  return isList ? listAt(document, "items").filter(isRecord) : [document];
}

function objectOf(document: unknown): ReportObject {
  const metadata = recordAt(document, "metadata");
  const [namespace, name] = [stringAt(metadata, "namespace"), stringAt(metadata, "name")];
  return {
    kind: stringAt(document, "kind") ?? "an object without a kind",
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
  };
}

/** Undefined for a kind that sync does not depend on. */
function plannedManifest(
  document: Readonly<Record<string, unknown>>,
  at: { readonly file: string; readonly namespace: string; readonly place: string },
): PlannedManifest | undefined {
  const { file, place } = at;
  const [given, apiVersion] = [stringAt(document, "kind"), stringAt(document, "apiVersion")];
  if (given === undefined || apiVersion === undefined)
    throw new UsageError(`${place} must have apiVersion and kind`);
  const kind = plannedKind(given, apiVersion);
  if (kind === undefined) return undefined;
  const resource = planned[kind];
  const metadata = recordAt(document, "metadata");
  const name = stringAt(metadata, "name");
  if (name === undefined || name === "")
    throw new UsageError(`${place} must have metadata.name, as kubectl apply requires`);
  const nameIn = kind === "Namespace" ? namespaceName : objectName(kind, "database");
  nameIn(name, `${place}: metadata.name`);
  const namespace = stringAt(metadata, "namespace") ?? at.namespace;
  namespaceName(namespace, `${place}: metadata.namespace`);
  const ref = resource.namespaced ? { namespace, name } : { name };
  const manifest = { ...covered(document, kind, place), apiVersion, kind };
  return {
    kind,
    resource,
    ref,
    manifest: { ...manifest, metadata: { ...metadata, ...ref } },
    file,
  };
}

function plannedKind(kind: string, apiVersion: string): PlannedKind | undefined {
  if (kind !== "SharedSecret" && kind !== "Namespace" && kind !== "Secret") return undefined;
  return apiVersion === apiVersionOf(planned[kind]) ? kind : undefined;
}

/** The document with SecretTexts for its values, which no message then quotes. */
function covered(
  document: Readonly<Record<string, unknown>>,
  kind: PlannedKind,
  place: string,
): Readonly<Record<string, unknown>> {
  switch (kind) {
    case "Namespace":
      return document;
    case "SharedSecret": {
      if (!("spec" in document)) return document;
      const spec = recordAt(document, "spec");
      return { ...document, spec: coveredFields(spec, ["data"], `${place}: spec.`) };
    }
    case "Secret":
      return coveredFields(document, ["data", "stringData"], `${place}: `);
  }
}

function coveredFields(
  object: Readonly<Record<string, unknown>>,
  fields: readonly string[],
  place: string,
): Readonly<Record<string, unknown>> {
  const entries = fields
    .map((field) => [field, ownValue(object, field)] as const)
    .filter(([, values]) => values !== undefined && values !== null)
    .map(([field, values]) => {
      if (!isRecord(values)) throw new UsageError(`${place}${field} must be an object`);
      return [
        field,
        Object.fromEntries(
          Object.entries(values).map(([key, value]) => {
            if (typeof value === "string") return [key, new SecretText(value)];
            throw new UsageError(
              `${place}${field}[${JSON.stringify(key)}] must be a string; put the value in quotes`,
            );
          }),
        ),
      ] as const;
    });
  return { ...object, ...Object.fromEntries(entries) };
}

/** Fields of a key or token that limit it; the schema refuses null in them. */
const limits = ["scope", "ttl", "disabled"];

/**
 * What is wrong with the values of an object in a file; undefined if nothing is. The API server
 * names no annotation that is no text, and a merge patch drops a null before anybody sees it.
 */
function valueProblem(document: unknown): string | undefined {
  const annotations = recordAt(recordAt(document, "metadata"), "annotations");
  for (const [name, value] of Object.entries(annotations))
    if (typeof value !== "string" && value !== null)
      return `${annotationField(name)} must be a string; put the value in quotes`;
  if (!isKeyOrToken(document)) return undefined;
  const spec = recordAt(document, "spec");
  const found = limits.map((field) => nullIn(spec[field], `spec.${field}`));
  const path = found.find((each) => each !== undefined);
  return path === undefined ? undefined : `${path} must not be null; set it, or remove the field`;
}

function isKeyOrToken(document: unknown): boolean {
  return [resources.ownedAccessKeys, resources.endpointTokens].some((resource) =>
    isOfKind(document, apiVersionOf(resource), resource.kind),
  );
}

/** The path of the first null in a value of a document, whose aliases are bounded. */
function nullIn(value: unknown, path: string): string | undefined {
  if (value === null) return path;
  const fields: readonly (readonly [string, unknown])[] = Array.isArray(value)
    ? value.map((entry, at) => [`[${at}]`, entry] as const)
    : isRecord(value)
      ? Object.entries(value).map(([name, inner]) => [`.${name}`, inner] as const)
      : [];
  for (const [step, inner] of fields) {
    const found = nullIn(inner, `${path}${step}`);
    if (found !== undefined) return found;
  }
  return undefined;
}
