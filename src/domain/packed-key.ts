import type { Condition } from "../api/conditions.ts";
import type { Metadata } from "../api/object.ts";
import type { OwnedAccessKeySeen, OwnedAccessKeyTerms } from "../api/owned-access-key.ts";
import { listAt, parseConditions, stringAt } from "../api/parse.ts";

type PackedCondition = readonly [type: string, status: string, reason: string, message: string, observedGeneration: number, lastTransitionTime: string];

interface PackedKey {
  readonly metadata: Metadata;
  readonly spec: OwnedAccessKeyTerms;
  readonly digest?: string;
  readonly status: Readonly<Record<string, unknown>>;
  /** In place of `status.conditions`, where all of them have the fields of metav1.Condition and no other. */
  readonly conditions?: readonly PackedCondition[];
}

/** A key as one text: a hundred thousand keys as objects cost twice the memory, and each full garbage collection a tenth of a second and more. */
export function packKey({ metadata, spec, keyDigest, status }: OwnedAccessKeySeen): string {
  const packed = listAt(status, "conditions").map(packCondition);
  const isOrdinary = packed.length > 0 && packed.every((condition) => condition !== undefined);
  const { conditions: _, ...rest } = status;
  const key: PackedKey = {
    metadata,
    spec,
    ...(keyDigest === undefined ? {} : { digest: keyDigest }),
    ...(isOrdinary ? { status: rest, conditions: packed.filter((condition) => condition !== undefined) } : { status }),
  };
  return JSON.stringify(key);
}

/** The key that was packed. */
export function unpackKey(text: string): OwnedAccessKeySeen {
  const { metadata, spec, digest, status: rest, conditions: packed }: PackedKey = JSON.parse(text);
  const status = packed === undefined ? rest : { ...rest, conditions: packed.map(unpackCondition) };
  const lastActivity = stringAt(status, "lastActivity");
  return {
    metadata,
    spec,
    keyDigest: digest,
    status,
    conditions: parseConditions(status),
    ...(lastActivity === undefined ? {} : { lastActivity }),
  };
}

const fields: readonly (keyof Condition)[] = ["type", "status", "reason", "message", "observedGeneration", "lastTransitionTime"];

function packCondition(condition: unknown): PackedCondition | undefined {
  const [known] = parseConditions({ conditions: [condition] });
  if (known?.observedGeneration === undefined || Object.keys(known).length !== fields.length) return undefined;
  const { type, status, reason, message, observedGeneration, lastTransitionTime } = known;
  return [type, status, reason, message, observedGeneration, lastTransitionTime];
}

function unpackCondition([type, status, reason, message, observedGeneration, lastTransitionTime]: PackedCondition): Readonly<Record<string, unknown>> {
  return { type, status, reason, message, observedGeneration, lastTransitionTime };
}
