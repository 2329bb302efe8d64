import type { Metadata, ObjectRef } from "../../api/object.ts";
import type { ReportObject, ReasonAndMessage } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { contestedReason } from "../plan/failed-request.ts";
import { nameOf, reportObject } from "../report-object.ts";
import type { Source } from "./copy.ts";
import type { NamespaceObstacle, SourceObstacle, Target } from "./obstacles.ts";
import { asksFor, type PlaceholderRequest } from "./placeholder.ts";
import { stateOutcome, type StateOutcome, type TargetState } from "./state-table.ts";

/** What a source has in a namespace, by case; all but `arrives` mean that its data is not there. */
export type OutcomeKind =
  | "arrives"
  | "refused"
  | "contested"
  | "unremoved"
  | "older-source"
  | "followed"
  | "no-readers"
  | "unknown-source"
  | "other-request"
  | "unfillable"
  | "not-managed"
  | "copied-by-user"
  | "source-paused"
  | "copy-paused"
  | "source-gone"
  | "other-name"
  | Exclude<SourceObstacle, "source-invalid">
  | InvalidSource
  | "namespace-missing"
  | NamespaceObstacle;

/** What is invalid about a source. */
export type InvalidSource =
  | "invalid-option"
  | "refused-type"
  | "invalid-key"
  | "too-large"
  | "source-missing"
  | "source-unusable"
  | "source-unread";

/** Where the API server's last rejection of a write was found. */
export interface SeenFailure extends ReasonAndMessage {
  readonly in: "copy" | "source-status";
}

/** What is at a target. */
export interface AtTarget {
  readonly target: Target;
}

/** A target as it is observed. */
export interface TargetFacts extends AtTarget {
  /** Absent if it does not exist. */
  readonly namespace?: Metadata | undefined;
  readonly state: TargetState;
  /** The Secret at the target, if there is one. */
  readonly existing?: Metadata | undefined;
}

/** What an outcome was decided from: all that its sentence names. */
export interface OutcomeFacts extends TargetFacts, OutcomeDetails {
  readonly sourceRef: ObjectRef;
  /** Absent if it does not exist. */
  readonly source?: Source;
}

/** What some cases name. */
export interface OutcomeDetails {
  /** The source that wins the target, or that pauses it. */
  readonly other?: ObjectRef;
  readonly failure?: SeenFailure;
  /** The source that the Secret asks for, if it is a placeholder for another one. */
  readonly requested?: ObjectRef | undefined;
  /** Why a placeholder cannot have the data. */
  readonly why?: string;
}

/**
 * What a source has in a namespace, and what it was decided from. Its sentence and its causes are
 * made on request, from outcome-texts.ts.
 */
export interface Explanation extends OutcomeFacts, OutcomeCases {}

/** The cases of an explanation. */
export interface OutcomeCases {
  readonly kind: OutcomeKind;
  /** All cases that apply, `kind` first: each of them has to change before the copy arrives. */
  readonly kinds: readonly OutcomeKind[];
}

/** The SharedSecret of an outcome, as a report names it. */
export function sourceObject({ sourceRef }: OutcomeFacts): ReportObject {
  return reportObject(resources.sharedSecrets.kind, sourceRef);
}

/** The source that wins the target, or that pauses it. */
export function winnerObject({ sourceRef, other = sourceRef }: OutcomeFacts): ReportObject {
  return reportObject(resources.sharedSecrets.kind, other);
}

/** The Secret at the target. */
export function secretObject({ target }: AtTarget): ReportObject {
  return reportObject(resources.secrets.kind, target);
}

/** That Latchkey does not manage the Secret at a target. */
export function notManagedFact(e: AtTarget): string {
  const name = nameOf(secretObject(e));
  return `${name} already exists and is not managed by Latchkey; it was not changed`;
}

/** What to change where {@link notManagedFact} is so. */
export const notManagedFix = "Rename or delete it.";

/** The namespace of the target. */
export function namespaceObject({ target }: AtTarget): ReportObject {
  return { kind: resources.namespaces.kind, name: target.namespace };
}

/** What one of the sources that sync to a target has there. */
type TargetOutcome<F extends ReasonAndMessage> =
  | StateOutcome
  | { readonly kind: "refused" | "contested"; readonly failure: F }
  /** The Secret is a placeholder for another source. */
  | { readonly kind: "other-request"; readonly requested: ObjectRef | undefined };

/** A target as an outcome is decided from it. */
interface SeenTarget<F extends ReasonAndMessage> {
  readonly state: TargetState;
  /** The last rejected write, if none succeeded since. */
  readonly failure?: F | undefined;
  /** What the existing Secret asks for, if it is a placeholder. */
  readonly request?: PlaceholderRequest | undefined;
}

/** What a source has at one of its targets. */
export function targetOutcome<F extends ReasonAndMessage>(
  { secret: { metadata } }: Source,
  { state, failure, request }: SeenTarget<F>,
): TargetOutcome<F> {
  if (request !== undefined && !asksFor(request, metadata))
    return { kind: "other-request", requested: request.source };
  const winner = "source" in state ? state.source.secret.metadata : metadata;
  if (winner.uid !== metadata.uid) return { kind: "older-source", other: winner };
  const outcome = stateOutcome(state);
  if (outcome.kind !== "arrives" || failure === undefined) return outcome;
  // It is current now and then.
  if (failure.reason === contestedReason) return { kind: "contested", failure };
  return state.kind === "current" ? outcome : { kind: "refused", failure };
}

/** The reasons of conflicts in `status.sync.failures`; all others are of the API server. */
export const conflictReasons = {
  notManaged: "NotManaged",
  olderSource: "OlderSource",
  followed: "Followed",
  unknownSource: "UnknownSource",
  otherRequest: "OtherRequest",
  invalidPlaceholder: "InvalidPlaceholder",
} as const;
