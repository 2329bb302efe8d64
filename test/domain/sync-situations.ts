import fc from "fast-check";
import { annotations, labels } from "../../src/api/names.ts";
import type { Source } from "../../src/domain/sync/copy.ts";
import type { SecretPlace } from "./sync-model.ts";
import { observedSource } from "../support/observed-copies.ts";
import type { SyncSummary } from "../../src/domain/sync/sync-summary.ts";

/** The SharedSecret team/db, which syncs to the target. */
export const live = observedSource();
/** The same, paused. */
export const paused = observedSource({ options: { paused: true } });
/** The same, in another type. */
export const retyped = observedSource({ options: { secretType: "kubernetes.io/tls" } });
/** The same, with labels and annotations for its copies. */
export const marked = observedSource({
  options: {
    copyMetadata: {
      labels: { tier: "gold", "argocd.argoproj.io/secret-type": "cluster" },
      annotations: { "reloader.example.com/match": "true" },
    },
  },
});
/** The same with an invalid annotation. */
export const misspelt = observedSource({
  options: { problem: { reason: "InvalidSyncOption", message: "fix it" } },
});
/** The same while it is being deleted. */
export const deleting = observedSource({ metadata: { deletionTimestamp: "2026-01-01T00:01:00Z" } });
/** An older SharedSecret that syncs to the target, too. */
export const older = observedSource({
  metadata: { name: "older", uid: "uid-older", creationTimestamp: "2025-01-01T00:00:00Z" },
});

/** The copy-of annotation of a Secret that a user copied from another place. */
export const elsewhere = "team/db -> pay/other";

const copyOfTexts = [
  "team/db -> pay/db",
  "team/older -> pay/db",
  elsewhere,
  "nonsense",
  undefined,
] as const;
const uids = ["uid-db", "uid-older", "uid-gone", undefined] as const;

/** The Secrets that may exist at the target, with any manual edits. */
export const standingSecrets = fc.record({
  label: fc.constantFrom(...uids),
  copyOf: fc.constantFrom(...copyOfTexts),
  data: fc.constantFrom("new", "old"),
  type: fc.constantFrom("Opaque", "kubernetes.io/tls"),
  immutable: fc.boolean(),
  pauses: fc.boolean(),
  hasError: fc.boolean(),
  tier: fc.constantFrom(undefined, "gold", "tin"),
  copiedLabels: fc.constantFrom(undefined, "tier", "argocd.argoproj.io/secret-type,tier"),
});

/** One of these Secrets. */
export type StandingSecret = typeof standingSecrets extends fc.Arbitrary<infer T> ? T : never;

/** Stores it in the API server, with additional metadata of other clients. */
export function putStanding(
  place: SecretPlace,
  { label, copyOf, data, type, immutable, pauses: isPaused, hasError, ...marks }: StandingSecret,
): void {
  const { tier, copiedLabels } = marks;
  place.put({
    metadata: {
      labels: {
        team: "blue",
        ...(label === undefined ? {} : { [labels.sourceUid]: label }),
        ...(tier === undefined ? {} : { tier }),
      },
      annotations: {
        note: "kept",
        ...(copyOf === undefined ? {} : { [annotations.copyOf]: copyOf }),
        ...(isPaused ? { [annotations.disableSync]: "true" } : {}),
        ...(hasError ? { [annotations.syncError]: "why" } : {}),
        ...(copiedLabels === undefined ? {} : { [annotations.copiedLabels]: copiedLabels }),
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

/** The observed state of a target, and an existing Secret. */
export const situations = fc
  .record({
    standing: fc.option(standingSecrets, { nil: undefined }),
    candidates: fc.subarray([older, live, marked, paused, retyped], { maxLength: 2 }),
    owner: owners,
    isTerminating: fc.boolean(),
    allowCopyKeys: fc.constantFrom(
      undefined,
      "tier, reloader.example.com/*",
      "tier, argocd.argoproj.io/*",
    ),
  })
  .map(({ standing, candidates, owner: existing, isTerminating, allowCopyKeys }) => {
    // A SharedSecret that may sync here exists.
    const owner = [...candidates, existing].find((source) => isNamed(source, standing?.copyOf));
    return {
      standing,
      context: {
        candidates,
        ...(owner === undefined ? {} : { owner }),
        isTerminating,
        ...(allowCopyKeys === undefined ? {} : { allowCopyKeys }),
      },
    };
  });

function isNamed(source: Source | undefined, copyOf: string | undefined): boolean {
  return copyOf === `team/${source?.secret.metadata.name} -> pay/db`;
}

/**
 * Whether Latchkey may write a Secret: its annotation names this place, or it has the label of the
 * source of this target and need not be deleted for it.
 */
export function isOurs(
  { label, copyOf, type, immutable, data }: StandingSecret,
  [source]: readonly Source[],
): boolean {
  if (copyOf?.endsWith(" -> pay/db") === true) return true;
  if (copyOf === elsewhere || label === undefined || label !== source?.secret.metadata.uid)
    return false;
  return type === source.options.secretType && (!immutable || data === source.digest);
}

/** The counts of a source without targets. */
export const noTargets: SyncSummary = {
  desired: 0,
  synced: 0,
  conflicts: 0,
  failed: 0,
  pending: 0,
  unremoved: 0,
  failures: [],
  contested: { targets: 0 },
  emptyProjects: [],
};
