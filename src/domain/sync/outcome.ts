import { annotations } from "../../api/names.ts";
import { keyOf, type ObjectRef } from "../../api/object.ts";
import type { Failure } from "../plan/failure-history.ts";
import type { Source } from "./copy.ts";
import type { TargetState } from "./sync.ts";

/** What one of the sources that sync to a target has there. */
export type TargetOutcome =
  /** The copy is current, or is going to be. */
  | { readonly kind: "synced" | "pending" }
  | { readonly kind: "refused"; readonly failure: Failure }
  | { readonly kind: "paused"; readonly by: "source" | "copy" }
  /** Latchkey does not manage the Secret of this name. */
  | { readonly kind: "not-managed" }
  | { readonly kind: "older-source"; readonly winner: ObjectRef };

const synced: TargetOutcome = { kind: "synced" };
const pending: TargetOutcome = { kind: "pending" };
const notManaged: TargetOutcome = { kind: "not-managed" };

/**
 * What a source has at one of its targets in this state; `failure` is the last rejected write, if
 * none succeeded since.
 */
export function targetOutcome(
  source: Source,
  state: TargetState,
  failure: Failure | undefined,
): TargetOutcome {
  const winner = wantedSource(state)?.secret.metadata;
  if (winner !== undefined && winner.uid !== source.secret.metadata.uid)
    return { kind: "older-source", winner };
  switch (state.kind) {
    case "current":
      return synced;
    case "paused":
      return state;
    case "conflict":
      return notManaged;
    case "source-invalid":
      // A source with invalid options has no targets: an older one keeps its copy.
      return { kind: "older-source", winner: state.source };
    case "missing":
    case "unlabelled":
    case "differs":
    case "to-recreate":
    case "not-wanted":
    case "withdrawn":
    case "orphaned":
      return failure === undefined ? pending : { kind: "refused", failure };
  }
}

/** The source whose copy belongs at the target, or would without a conflict. */
function wantedSource(state: TargetState): Source | undefined {
  switch (state.kind) {
    case "current":
    case "conflict":
    case "missing":
    case "unlabelled":
    case "differs":
    case "to-recreate":
      return state.source;
    case "not-wanted":
    case "paused":
    case "source-invalid":
    case "withdrawn":
    case "orphaned":
      return undefined;
  }
}

/** The reasons of conflicts in `status.sync.failures`; all others are of the API server. */
export const conflictReasons = { notManaged: "NotManaged", olderSource: "OlderSource" } as const;

/** A sentence that states a fact, and one that says what to change. */
export interface FactAndFix {
  readonly fact: string;
  readonly fix: string;
}

/** The text of the outcome `not-managed`. */
export function notManagedText(target: ObjectRef): FactAndFix {
  return {
    fact: `Secret ${JSON.stringify(keyOf(target))} already exists and is not managed by Latchkey; it was not changed`,
    fix: "Rename or delete it",
  };
}

/** The text of the outcome `older-source`. */
export function olderSourceText(winner: ObjectRef): FactAndFix {
  return {
    fact: `SharedSecret ${JSON.stringify(keyOf(winner))} already syncs to this Secret and is older`,
    fix: `Set the annotation ${annotations.syncSecretName} on one of them`,
  };
}
