import { readFile } from "node:fs/promises";
import { load } from "js-yaml";
import { isRecord, listAt, recordAt } from "../../src/api/parse.ts";

/** A field of a schema: its path, such as `spec.access[].verbs`, and its own schema. */
export interface Field {
  readonly path: string;
  readonly schema: Readonly<Record<string, unknown>>;
}

/** Plurals of the three kinds; their CustomResourceDefinitions are in files of these names. */
export const plurals = ["sharedsecrets", "ownedaccesskeys", "directclusterendpointtokens"] as const;

/** The only version of a kind in its CustomResourceDefinition. */
export async function versionOf(plural: string): Promise<unknown> {
  const text = await readFile(new URL(`../../crds/${plural}.yaml`, import.meta.url), "utf8");
  return listAt(recordAt(load(text), "spec"), "versions")[0];
}

/** The schema of a kind. */
export async function schemaOf(plural: string) {
  return recordAt(recordAt(await versionOf(plural), "schema"), "openAPIV3Schema");
}

/** All fields below a schema, including those inside lists. */
export function fieldsOf(schema: unknown, prefix = ""): readonly Field[] {
  return Object.entries(recordAt(schema, "properties")).flatMap(([name, value]) => {
    const path = `${prefix}${name}`;
    const items = recordAt(value, "items");
    return [
      { path, schema: isRecord(value) ? value : {} },
      ...fieldsOf(value, `${path}.`),
      ...fieldsOf(items, `${path}[].`),
    ];
  });
}
