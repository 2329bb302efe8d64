import type { ObjectRef } from "../../api/object.ts";
import type { SecretData } from "../../api/shared-secret.ts";
import type { DataVariant, ObservedCopy, Source } from "./copy.ts";
import { isPlaceholder } from "./placeholder.ts";
import {
  createSteps,
  fillErrorSteps,
  notFilledSteps,
  recreateSteps,
  rejectionSteps,
  relabelSteps,
  removalSteps,
  replaceSteps,
  type Steps,
  syncErrorSteps,
  type ToAnnotate,
  type ToRelabel,
  type ToRemove,
  type ToWrite,
  type Written,
} from "./target-steps.ts";

/** What is known of a target in each state. */
interface Facts {
  "not-wanted": object;
  current: { readonly source: Source };
  /** The annotation `disable-sync` is on the first of the candidates, or on the existing Secret. */
  paused: { readonly by: "source" | "copy" };
  conflict: { readonly source: Source };
  /** A SharedSecret follows the Secret at the target, which is there or not: nothing is synced. */
  followed: { readonly source: Source; readonly follower: ObjectRef };
  missing: { readonly source: Source };
  /**
   * A copy by its annotation, without the label; its data is compared once the label is restored.
   */
  unlabelled: ToRelabel & { readonly source: Source };
  differs: ToWrite;
  "to-recreate": ToWrite;
  /**
   * The annotations of the source are invalid: the copy is kept, with the reason in an annotation.
   */
  "source-invalid": ToAnnotate & { readonly sourceRef: ObjectRef };
  /** The Secret that the source follows has no data for it: the copy is kept as it is. */
  "source-unavailable": { readonly sourceRef: ObjectRef };
  /** The source exists, but the sync is no longer permitted. */
  withdrawn: ToRemove & { readonly sourceRef: ObjectRef };
  /** The source is not in the cache; confirmed with the API server before the copy is deleted. */
  orphaned: ToRemove & { readonly sourceRef: ObjectRef };
  /** The source is not in the store, but may exist all the same: the copy is left alone. */
  "unknown-source": { readonly sourceRef: ObjectRef };
  /** A placeholder without data of Latchkey, and without a source that it may have. */
  unfilled: ToAnnotate;
  /** A placeholder that cannot have the data that it asks for; what it has is kept. */
  unfillable: ToAnnotate & { readonly source: Source };
  /** A Secret that was filled, and that may not have its data any more or does not ask for it. */
  "to-empty": ToRemove<ObservedCopy>;
  /**
   * A Secret that was filled, and has lost all labels: it is labelled to be observed as a whole.
   */
  "to-relabel": ToRelabel;
}

type Kind = keyof Facts;

/** The state of a target, which decides the writes. */
export type TargetState<K extends Kind = Kind> = {
  readonly [P in K]: { readonly kind: P } & Facts[P];
}[K];

/** What the source of a state has at the target, in the words of outcome-texts.ts. */
export type StateOutcome =
  /** The copy is current, or is going to be. */
  | { readonly kind: "arrives" }
  | { readonly kind: "source-paused" | "copy-paused" }
  /** Latchkey does not manage the Secret of this name. */
  | { readonly kind: "not-managed" }
  | { readonly kind: "older-source"; readonly other: ObjectRef }
  /** Another SharedSecret follows the Secret of this name. */
  | { readonly kind: "followed"; readonly other: ObjectRef }
  /** The Secret is a copy of a source that is not known. */
  | { readonly kind: "unknown-source"; readonly other: ObjectRef }
  /** The Secret is a placeholder that cannot have the data. */
  | { readonly kind: "unfillable"; readonly why: string };

/**
 * What becomes of the Secret at a target: `keep` is current and stays so; `leave` is not changed,
 * but for its error annotation; `remove` is deleted, or emptied if a user has created it.
 */
type Effect = "create" | "replace" | "keep" | "remove" | "leave";

interface Row<K extends Kind> {
  readonly outcome: (state: TargetState<K>) => StateOutcome;
  readonly effect: Effect;
  /** The writes, in order; none if absent. */
  readonly steps?: (state: TargetState<K>, to: Written) => Steps;
  /** The writes once the API server has rejected those of `steps`; none if absent. */
  readonly rejected?: (state: TargetState<K>, why: string) => Steps;
}

const arrives = (): StateOutcome => ({ kind: "arrives" });
const notManaged = (): StateOutcome => ({ kind: "not-managed" });
const unfillable = ({ why }: { readonly why: string }): StateOutcome => ({
  kind: "unfillable",
  why,
});

/** What is said and done in each state: its sentence is that of the outcome in outcome-texts.ts. */
const states: { readonly [K in Kind]: Row<K> } = {
  "not-wanted": { outcome: arrives, effect: "leave" },
  current: { outcome: arrives, effect: "keep" },
  paused: {
    outcome: ({ by }) => ({ kind: by === "source" ? "source-paused" : "copy-paused" }),
    effect: "leave",
  },
  conflict: { outcome: notManaged, effect: "leave" },
  followed: {
    outcome: ({ follower }) => ({ kind: "followed", other: follower }),
    effect: "leave",
  },
  missing: { outcome: arrives, effect: "create", steps: createSteps },
  unlabelled: { outcome: arrives, effect: "replace", steps: relabelSteps },
  differs: { outcome: arrives, effect: "replace", steps: replaceSteps, rejected: rejectionSteps },
  "to-recreate": {
    outcome: arrives,
    effect: "replace",
    steps: recreateSteps,
    rejected: rejectionSteps,
  },
  "source-invalid": {
    // A source with invalid options has no targets: an older one keeps its copy.
    outcome: ({ sourceRef }) => ({ kind: "older-source", other: sourceRef }),
    effect: "leave",
    steps: syncErrorSteps,
  },
  "source-unavailable": {
    outcome: ({ sourceRef }) => ({ kind: "older-source", other: sourceRef }),
    effect: "leave",
  },
  withdrawn: { outcome: arrives, effect: "remove", steps: removalSteps },
  orphaned: { outcome: arrives, effect: "remove", steps: removalSteps },
  "unknown-source": {
    outcome: ({ sourceRef }) => ({ kind: "unknown-source", other: sourceRef }),
    effect: "leave",
  },
  unfilled: { outcome: arrives, effect: "leave", steps: notFilledSteps },
  unfillable: { outcome: unfillable, effect: "leave", steps: fillErrorSteps },
  "to-empty": {
    outcome: ({ why }) => (why === undefined ? notManaged() : unfillable({ why })),
    effect: "remove",
    steps: removalSteps,
  },
  "to-relabel": { outcome: notManaged, effect: "remove", steps: relabelSteps },
};

/** What the source of a state has at the target. */
export function stateOutcome<K extends Kind>(state: TargetState<K>): StateOutcome {
  return states[state.kind].outcome(state);
}

/** What becomes of the Secret at a target in this state. */
export function effectOf({ kind }: TargetState): Effect {
  return states[kind].effect;
}

/** Whether the Secret at a target has data that may not stay. */
export function isToRemove(state: TargetState): boolean {
  return (
    effectOf(state) === "remove" || ("hasWithdrawnData" in state && state.hasWithdrawnData === true)
  );
}

/** The writes for a state, in order of the steps; `data` is in the variant of `dataVariant`. */
export function targetSteps<K extends Kind>(
  target: ObjectRef,
  state: TargetState<K>,
  data?: SecretData,
): Steps {
  return states[state.kind].steps?.(state, { target, data }) ?? [];
}

/**
 * The writes after the API server has rejected those for a state: they record the error in an
 * annotation of the existing copy, unless it is already there, or remove data that may not stay.
 */
export function rejectedSteps<K extends Kind>(state: TargetState<K>, why: string): Steps {
  return states[state.kind].rejected?.(state, why) ?? [];
}

/** The source whose data is written to the target, if any. */
export function writtenSource(state: TargetState): Source | undefined {
  return state.kind === "missing" || state.kind === "differs" || state.kind === "to-recreate"
    ? state.source
    : undefined;
}

/** Which data of {@link writtenSource} is written: that of its copies, or its own. */
export function dataVariant(state: TargetState): DataVariant {
  const source = writtenSource(state);
  const isOwn = source?.followed !== undefined && source.digest === source.ownDigest;
  const isFilled = state.kind === "differs" && isPlaceholder(state.copy.metadata);
  return isOwn || isFilled ? "own" : "copied";
}
