import { listAt, recordAt, stringAt } from "./parse.ts";

/** Who has changed an object, and what of it (Kubernetes API reference, ManagedFieldsEntry). */
export interface Manager {
  /** What it calls itself. */
  readonly name: string;
  /** When it last changed the object, as RFC 3339. */
  readonly time: string;
  /** Such as `data`, without the names of entries. */
  readonly parts: readonly string[];
}

/** The managers of an object as the API server returns it. */
export function managersOf(raw: unknown): readonly Manager[] {
  return listAt(recordAt(raw, "metadata"), "managedFields").map((entry) => ({
    name: stringAt(entry, "manager") ?? "",
    time: stringAt(entry, "time") ?? "",
    parts: partsOf(recordAt(entry, "fieldsV1")),
  }));
}

/** The names of parts are those of the schema, so nobody makes them up. */
function partsOf(fields: Readonly<Record<string, unknown>>): readonly string[] {
  const within = { ...fields, ...recordAt(fields, "f:metadata") };
  return knownParts.filter((part) => Object.hasOwn(within, `f:${part}`));
}

const knownParts = [
  ...["data", "immutable", "type", "roleRef", "rules", "subjects", "spec", "status"],
  ...["labels", "annotations", "finalizers", "ownerReferences"],
];
