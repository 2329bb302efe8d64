import { type Key, keyOf, type Metadata, refOf } from "../../api/object.ts";
import { copiedSource, type Source, type TargetSecret } from "./copy.ts";
import { explain, explainGone, isRemoved } from "./explain.ts";
import {
  annotatedKeysOf,
  copyKeysOf,
  existingAt,
  observeInstead,
  observeTarget,
  type ObservedTarget,
  requestsFor,
  secretAt,
  targetsOf,
} from "./observed-target.ts";
import { dataCopyRef, dataCopySource } from "./data-copy.ts";
import { isPermitted, targetIn, type Target } from "./obstacles.ts";
import type { Explanation } from "./outcome.ts";
import { effectOf } from "./state-table.ts";
import { syncIndexes, type SyncObjects, withChanges } from "./sync-objects.ts";
import { targetState } from "./target-state.ts";
import { remainderOf } from "./target-steps.ts";

/** A change of one object; without `after`, its deletion. */
export type ObjectChange =
  | { readonly kind: "SharedSecret"; readonly key: Key; readonly after?: Source }
  | { readonly kind: "Namespace"; readonly key: Key; readonly after?: Metadata }
  | { readonly kind: "Secret"; readonly key: Key; readonly after?: TargetSecret };

/**
 * What happens to a Secret. `empty`: the data is removed from a Secret that was filled. `release`:
 * it stays as it is, and Latchkey no longer keeps it current; in a namespace that is deleted,
 * Kubernetes deletes it.
 */
type TargetAction = "create" | "replace" | "delete" | "empty" | "release" | "nothing";

/** What a change does at one target, and the outcome of the source that explains it. */
export interface TargetChange {
  readonly target: Target;
  readonly action: TargetAction;
  readonly because: Explanation;
}

/**
 * What a change does at targets, by namespace and name; `nothing` for targets that the change
 * concerns and does not alter. Decides with the functions with which the controller plans its
 * writes. The API server may still reject them.
 */
export function planChange(change: ObjectChange, objects: SyncObjects): readonly TargetChange[] {
  return planChanges([change], objects);
}

/**
 * Like {@link planChange}, for changes of different objects that are all made before the controller
 * acts. No SharedSecret among several changes may end.
 */
export function planChanges(
  changes: readonly ObjectChange[],
  objects: SyncObjects,
): readonly TargetChange[] {
  const applied = applyChanges(changes, objects);
  const concerned = new Map<Key, Source | undefined>();
  for (const change of changes) {
    const changed = change.kind === "SharedSecret" ? change.after : undefined;
    for (const key of concernedTargets(change, applied))
      concerned.set(key, concerned.get(key) ?? changed);
  }
  return [...concerned.keys()].sort().flatMap((key) => {
    const { namespace = "", name } = refOf(key);
    return changeAt({ namespace, name }, concerned.get(key), applied) ?? [];
  });
}

/** The objects after changes, before the controller acts. */
export function objectsAfter(changes: readonly ObjectChange[], objects: SyncObjects): SyncObjects {
  return applyChanges(changes, objects).after;
}

/** The objects before and after changes. */
interface AppliedChange {
  readonly before: SyncObjects;
  readonly after: SyncObjects;
  /** Copies that are removed with their source, whatever is wanted there afterwards. */
  readonly removed: ReadonlySet<Key>;
}

function applyChanges(changes: readonly ObjectChange[], before: SyncObjects): AppliedChange {
  const removed = new Set<Key>();
  let after = before;
  for (const change of changes) {
    const applied = applyChange(change, after);
    for (const key of applied.removed) removed.add(key);
    after = applied.after;
  }
  return { before, after, removed };
}

function applyChange(change: ObjectChange, before: SyncObjects): AppliedChange {
  const kept = { before, removed: new Set<Key>() };
  switch (change.kind) {
    case "Namespace": {
      const namespaces = new Map([[change.key, change.after]]);
      return { ...kept, after: withChanges(before, { namespaces }) };
    }
    case "Secret":
      return {
        ...kept,
        after: withChanges(before, { secrets: new Map([[change.key, change.after]]) }),
      };
    case "SharedSecret": {
      const former = before.sharedSecrets.get(change.key);
      const ends = former !== undefined && isEnded(former, change.after);
      const removed = ends ? removedWith(former, before) : [];
      const after = withChanges(before, {
        sharedSecrets: new Map([[change.key, change.after]]),
        secrets: new Map(removed.map((key) => [key, remainderOf(secretAt(key, before))])),
      });
      return { before, after, removed: new Set(removed) };
    }
  }
}

/** The copies of a source that are removed once its deletion has begun. */
function removedWith(source: Source, objects: SyncObjects): readonly Key[] {
  const { metadata } = source.secret;
  const ending = { ...metadata, deletionTimestamp: metadata.creationTimestamp };
  const sharedSecrets = new Map([
    [keyOf(metadata), { ...source, secret: { ...source.secret, metadata: ending } }],
  ]);
  const ended = withChanges(objects, { sharedSecrets });
  return annotatedKeysOf(source, objects).filter((key) =>
    isRemoved(observeTarget(refOf(key), ended)),
  );
}

/** Whether the deletion of a source has begun, which deletes its copies. */
function isEnded(before: Source, after: Source | undefined): boolean {
  const { metadata } = before.secret;
  return (
    after?.secret.metadata.uid !== metadata.uid ||
    after.secret.metadata.deletionTimestamp !== undefined
  );
}

/** The targets that a change concerns, as the informers enqueue them. */
function concernedTargets(
  change: ObjectChange,
  { before, after }: AppliedChange,
): ReadonlySet<Key> {
  switch (change.kind) {
    case "Secret":
      return new Set([change.key]);
    case "SharedSecret":
      return new Set([
        ...targetsOfSource(change.key, before),
        ...targetsOfSource(change.key, after),
      ]);
    case "Namespace":
      return new Set([...targetsIn(change.key, before), ...targetsIn(change.key, after)]);
  }
}

function targetsOfSource(key: Key, objects: SyncObjects): readonly Key[] {
  const source = objects.sharedSecrets.get(key);
  const requests = requestsFor(refOf(key), objects);
  if (source === undefined) return requests;
  const readers = dataCopySource(source) === undefined ? [] : [dataCopyRef(source.secret.metadata)];
  const targets = [...targetsOf(source, objects), ...readers].map(keyOf);
  return [...targets, ...copyKeysOf(source, objects), ...requests];
}

function targetsIn(name: Key, objects: SyncObjects): readonly Key[] {
  const namespace = objects.namespaces.get(name);
  const wanted = [...objects.sharedSecrets.keys()].flatMap((key) => {
    const source = objects.sharedSecrets.get(key);
    return namespace !== undefined && source !== undefined && isPermitted(source, namespace)
      ? [keyOf(targetIn(name, source))]
      : [];
  });
  return [
    ...wanted,
    ...objects.copies.keysBy(syncIndexes.namespace, name),
    ...objects.placeholders.keysBy(syncIndexes.namespace, name),
    ...objects.unmanagedSecrets.keysBy(syncIndexes.namespace, name),
  ];
}

/** The difference between what is at a target before the change, and in the end after it. */
function changeAt(
  target: Target,
  changed: Source | undefined,
  { before, after, removed }: AppliedChange,
): TargetChange | undefined {
  const [was, is] = [observeTarget(target, before), observeTarget(target, after)];
  const former = removed.has(keyOf(target)) ? was : isRemoved(is) ? is : undefined;
  const action =
    former === undefined ? keptAction(was, is) : removalAction(target, existingAt(former), after);
  const because = reasonOf(target, { changed, after, was, is, action });
  return because === undefined ? undefined : { target, action, because };
}

/** What happens to a Secret whose data is removed; then the target belongs to the next source. */
function removalAction(
  target: Target,
  former: TargetSecret | undefined,
  after: SyncObjects,
): TargetAction {
  const remainder = remainderOf(former);
  const next = effectOf(targetState(observeInstead(target, remainder, after)));
  if (next === "create" || next === "replace") return "replace";
  return remainder === undefined ? "delete" : "empty";
}

/** What happens at a target where no data is removed. */
function keptAction(was: ObservedTarget, is: ObservedTarget): TargetAction {
  const effect = effectOf(targetState(is));
  if (effect === "create" || effect === "replace") return effect;
  const former = effectOf(targetState(was));
  const wasKept = former === "keep" || former === "replace";
  return effect === "leave" && wasKept && existingAt(is) !== undefined ? "release" : "nothing";
}

/** Explains the source that decides at the target; undefined if there never was one. */
function reasonOf(
  target: Target,
  {
    changed,
    after,
    was,
    is,
    action,
  }: {
    /** A changed source that is synced to the target, or was. */
    readonly changed: Source | undefined;
    readonly after: SyncObjects;
    readonly was: ObservedTarget;
    readonly is: ObservedTarget;
    readonly action: TargetAction;
  },
): Explanation | undefined {
  const decider = decidingSource(is);
  const isWritten = action === "create" || action === "replace";
  const source = isWritten ? (decider ?? changed) : (changed ?? decider);
  if (source !== undefined) return explain(source, target, after);
  const existing = existingAt(is) ?? existingAt(was);
  const former =
    decidingSource(was)?.secret.metadata ??
    (existing === undefined ? undefined : copiedSource(existing.metadata));
  if (former === undefined) return undefined;
  const still = after.sharedSecrets.get(keyOf(former));
  return still === undefined ? explainGone(former, target, after) : explain(still, target, after);
}

/** The source whose options decide what is at a target. */
function decidingSource(observed: ObservedTarget): Source | undefined {
  const state = targetState(observed);
  if (state.kind === "source-invalid") return observed.owner;
  if (observed.request !== undefined) return observed.request.permitted ?? observed.owner;
  if ("source" in state && "options" in state.source) return state.source;
  return observed.candidates[0] ?? observed.owner;
}
