import { keyOf } from "../../api/object.ts";
import { arrives } from "../../domain/sync/explain.ts";
import { sentenceOf } from "../../domain/sync/outcome-texts.ts";
import type { TargetAction, TargetChange } from "../../domain/sync/plan-change.ts";
import type { PlannedKind } from "./plan-manifests.ts";
import { type PlannedAccess, subjectText } from "./plan-roles.ts";
import type { KnownSync } from "./plan-sync.ts";

/** What `plan` prints. It has no value of a secret. */
export interface PlanReport {
  /** Whether sync changes a copy, a Role or a RoleBinding. */
  readonly changes: boolean;
  /** The objects of the files. */
  readonly objects: readonly PlannedObject[];
  readonly copies: readonly PlannedCopy[];
  readonly access: readonly AccessEntry[];
  /** Copies that do not arrive, and stay as they are. */
  readonly stuck: readonly StuckCopy[];
  readonly notes: readonly string[];
  /** Rights without which the plan leaves something out. */
  readonly missing: readonly string[];
}

/** An object of a file. */
export interface PlannedObject {
  readonly kind: PlannedKind;
  /** `namespace/name`, or the name of a Namespace. */
  readonly name: string;
  readonly file: string;
  readonly effect: "created" | "configured";
  /** Whether the API server has checked it. */
  readonly checked: boolean;
}

interface CopyEntry {
  /** `namespace/name` of the Secret. */
  readonly secret: string;
  /** `namespace/name` of the SharedSecret that decides. */
  readonly sharedSecret: string;
  /** A word for programs. */
  readonly reason: string;
  readonly message: string;
  /** Whether the state of the Secret is assumed, because the user may not read it. */
  readonly assumed: boolean;
}

/** A Secret that sync changes. */
export interface PlannedCopy extends CopyEntry {
  readonly action: Exclude<TargetAction, "nothing">;
}

/** A Secret that sync cannot make a copy. */
export type StuckCopy = CopyEntry;

/** A Role or RoleBinding that changes. */
export interface AccessEntry {
  readonly sharedSecret: string;
  readonly kind: string;
  /** Absent for a new SharedSecret, whose uid the name depends on. */
  readonly name?: string;
  readonly action: "create" | "replace" | "delete";
  readonly verbs: readonly string[];
  /** Subjects, such as `User alice`. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly assumed: boolean;
}

/** Sorts the changes of targets into those that are made and those that are not. */
export function copyEntries(
  changes: readonly TargetChange[],
  { isAssumed }: Pick<KnownSync, "isAssumed">,
  { retries }: { readonly retries: boolean },
): Pick<PlanReport, "copies" | "stuck"> {
  const copies = new Map<string, PlannedCopy>();
  const stuck = new Map<string, StuckCopy>();
  for (const { target, action, because } of changes) {
    const entry: CopyEntry = {
      secret: keyOf(target),
      sharedSecret: keyOf(because.sourceRef),
      reason: because.kind,
      message: sentenceOf(because),
      assumed: isAssumed(target),
    };
    // The controller tries a rejected write again and again; a changed source may succeed.
    const isRejected = because.kind === "refused" && !retries;
    if (action !== "nothing" && !isRejected) copies.set(entry.secret, { ...entry, action });
    else if (!arrives(because)) stuck.set(`${entry.secret} ${entry.sharedSecret}`, entry);
  }
  return { copies: [...copies.values()], stuck: [...stuck.values()] };
}

/** The entry of a change of a Role or RoleBinding; `isNew` for a SharedSecret without a uid. */
export function accessEntry(change: PlannedAccess, isNew: boolean): AccessEntry {
  const { sharedSecret, kind, name, action, verbs, assumed } = change;
  return {
    sharedSecret: keyOf(sharedSecret),
    kind,
    ...(isNew ? {} : { name }),
    action,
    verbs,
    added: change.added.map(subjectText),
    removed: change.removed.map(subjectText),
    assumed,
  };
}
