import fc from "fast-check";
import { annotations, labels } from "../../src/api/names.ts";
import type { Source } from "../../src/domain/sync/copy.ts";
import type { SecretPlace } from "./sync-model.ts";
import { observedSource } from "../support/observed-copies.ts";

/** The SharedSecret team/db, which wants the target. */
export const live = observedSource();
/** The same, paused. */
export const paused = observedSource({ options: { paused: true } });
/** The same, in another type. */
export const retyped = observedSource({ options: { secretType: "kubernetes.io/tls" } });
/** The same with an annotation that cannot be followed. */
export const misspelt = observedSource({
  options: { problem: { reason: "InvalidSyncOption", message: "mend it" } },
});
/** The same while it is being deleted. */
export const deleting = observedSource({ metadata: { deletionTimestamp: "2026-01-01T00:01:00Z" } });
/** An older SharedSecret that wants the target too. */
export const older = observedSource({
  metadata: { name: "older", uid: "uid-older", creationTimestamp: "2025-01-01T00:00:00Z" },
});

/** What a copy carries that was pasted from another place. */
export const elsewhere = "team/db -> pay/other";

const copyOfTexts = [
  "team/db -> pay/db",
  "team/older -> pay/db",
  elsewhere,
  "nonsense",
  undefined,
] as const;
const uids = ["uid-db", "uid-older", "uid-gone", undefined] as const;

/** What may stand at the target, mended by whoever. */
export const standingSecrets = fc.record({
  label: fc.constantFrom(...uids),
  copyOf: fc.constantFrom(...copyOfTexts),
  data: fc.constantFrom("new", "old"),
  type: fc.constantFrom("Opaque", "kubernetes.io/tls"),
  immutable: fc.boolean(),
  pauses: fc.boolean(),
  told: fc.boolean(),
});

/** One of them. */
export type StandingSecret = typeof standingSecrets extends fc.Arbitrary<infer T> ? T : never;

/** Stores it as the API server would, beside what others put on it. */
export function putStanding(
  place: SecretPlace,
  { label, copyOf, data, type, immutable, pauses: isPaused, told }: StandingSecret,
): void {
  place.put({
    metadata: {
      labels: { team: "blue", ...(label === undefined ? {} : { [labels.sourceUid]: label }) },
      annotations: {
        note: "kept",
        ...(copyOf === undefined ? {} : { [annotations.copyOf]: copyOf }),
        ...(isPaused ? { [annotations.disableSync]: "true" } : {}),
        ...(told ? { [annotations.syncError]: "why" } : {}),
      },
      finalizers: ["example.com/theirs"],
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "theirs", uid: "uid-theirs" }],
    },
    type,
    ...(immutable ? { immutable } : {}),
    data: { password: data },
  });
}

const owners = fc.constantFrom(undefined, live, older, misspelt, deleting, paused);

/** A target with what stands there and all that counts for it. */
export const situations = fc.record({
  standing: fc.option(standingSecrets, { nil: undefined }),
  context: fc
    .tuple(fc.subarray([older, live, paused, retyped], { maxLength: 2 }), owners, fc.boolean())
    .map(([candidates, owner, isTerminating]) => ({
      candidates,
      ...(owner === undefined ? {} : { owner }),
      isTerminating,
    })),
});

/**
 * Whether a Secret may be written: it says that it is a copy at this place, or carries the label of
 * the source that goes here.
 */
export function isOurs({ label, copyOf }: StandingSecret, candidates: readonly Source[]): boolean {
  if (copyOf?.endsWith(" -> pay/db") === true) return true;
  return (
    copyOf !== elsewhere && label !== undefined && label === candidates[0]?.secret.metadata.uid
  );
}
