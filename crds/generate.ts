import { readFile, readdir, writeFile } from "node:fs/promises";
import { load } from "js-yaml";
import { compile } from "json-schema-to-typescript";
import { isRecord, listAt, recordAt, stringAt } from "../src/api/parse.ts";

/** One generated file: its name within `src/api/generated`, and its text. */
export interface GeneratedFile {
  readonly name: string;
  readonly text: string;
}

/** Where the generated files belong. */
export const generatedDirectory = new URL("../src/api/generated/", import.meta.url);

const sources = new URL("./", import.meta.url);

/**
 * The TypeScript of every CustomResourceDefinition in this directory; throws when one cannot be
 * read.
 */
export async function generateTypes(): Promise<readonly GeneratedFile[]> {
  const names = (await readdir(sources)).filter(
    (name) => name.endsWith(".yaml") && name !== "kustomization.yaml",
  );
  return Promise.all(names.toSorted().map(async (name) => generateFile(name)));
}

async function generateFile(source: string): Promise<GeneratedFile> {
  const definition = recordAt(load(await readFile(new URL(source, sources), "utf8")), "spec");
  const kind = stringAt(recordAt(definition, "names"), "kind");
  if (kind === undefined) throw new TypeError(`crds/${source} names no kind`);
  const text = await compile(jsonSchemaOf(definition, kind), kind, {
    additionalProperties: false,
    bannerComment: bannerFor(source),
    style: { bracketSpacing: true, trailingComma: "all" },
  });
  return { name: `${dashed(kind)}.ts`, text };
}

function bannerFor(source: string): string {
  return [
    `// Generated from crds/${source}. Do not edit: change that file, then run "npm run generate".`,
    `import type { ManifestMetadata } from "../object.ts";`,
  ].join("\n");
}

function jsonSchemaOf(definition: unknown, kind: string) {
  const version = listAt(definition, "versions")[0];
  const root = recordAt(recordAt(version, "schema"), "openAPIV3Schema");
  const apiVersion = `${stringAt(definition, "group")}/${stringAt(version, "name")}`;
  const properties = {
    ...recordAt(root, "properties"),
    apiVersion: { const: apiVersion },
    kind: { const: kind },
    metadata: { tsType: "ManifestMetadata" },
  };
  const schema = { ...root, properties, required: ["apiVersion", "kind", "metadata"] };
  return JSON.parse(JSON.stringify(schema), (_key, value: unknown) => withoutKubernetes(value));
}

/** What limits a value without having a counterpart in its type. */
const limits: readonly string[] = ["not", "minItems", "maxItems"];

/**
 * A structural schema as plain JSON schema: what the API server keeps although unknown is an index
 * signature.
 */
function withoutKubernetes(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const kept = Object.entries(value).filter(
    ([key]) => !key.startsWith("x-kubernetes-") && !limits.includes(key),
  );
  const plain = Object.fromEntries(kept);
  return value["x-kubernetes-preserve-unknown-fields"] === true
    ? { ...plain, additionalProperties: true }
    : plain;
}

function dashed(kind: string): string {
  return kind.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
}

if (import.meta.main) {
  for (const file of await generateTypes())
    await writeFile(new URL(file.name, generatedDirectory), file.text);
}
