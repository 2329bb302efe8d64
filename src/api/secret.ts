import type { Metadata, OwnerReference } from "./object.ts";
import { isTrueAt, parseMetadata, stringAt } from "./parse.ts";
import { parseOwners } from "./role.ts";
import { parseData, type SecretData } from "./shared-secret.ts";

/** A core Secret; its data values are SecretTexts. */
export interface Secret {
  readonly metadata: Metadata;
  readonly ownerReferences: readonly OwnerReference[];
  readonly type: string;
  readonly immutable: boolean;
  readonly data: SecretData;
}

/** Parses a core Secret; throws a TypeError that names the missing metadata field. */
export function parseSecret(raw: unknown): Secret {
  return {
    metadata: parseMetadata(raw),
    ownerReferences: parseOwners(raw),
    type: stringAt(raw, "type") ?? "Opaque",
    immutable: isTrueAt(raw, "immutable"),
    data: parseData(raw),
  };
}
