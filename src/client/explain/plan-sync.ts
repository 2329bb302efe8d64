import { type Key, keyOf, type Metadata } from "../../api/object.ts";
import { parseLatchkeyMetadata } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { listedFailures } from "../../domain/object-state.ts";
import { copyManifest, type Source, type TargetSecret } from "../../domain/sync/copy.ts";
import { type Target, type NamespaceOptions, readNamespace } from "../../domain/sync/obstacles.ts";
import { conflictReasons } from "../../domain/sync/outcome.ts";
import { type ObjectChange, planChange, type TargetChange } from "../../domain/sync/plan-change.ts";
import { observeTarget, targetsOf } from "../../domain/sync/observed-target.ts";
import {
  type SyncObjects,
  type SyncSnapshot,
  syncObjectsOf,
} from "../../domain/sync/sync-objects.ts";
import { targetState } from "../../domain/sync/target-state.ts";
import type { DataDigest } from "../../tokens/data-digest.ts";
import { observedSource } from "../../tokens/observed-data.ts";
import { isHidden, type MissingRight } from "../missing-right.ts";
import type { AppliedManifest } from "./plan-apply.ts";
import { type LiveSync, readTargetSecret } from "./sync-objects.ts";

/** How the controller reads objects. */
interface ReadOptions extends NamespaceOptions {
  readonly digestOf: DataDigest;
}

/** The change of an object as the functions of the domain take it. */
export function changeOf(
  { kind, ref, object }: AppliedManifest,
  options: ReadOptions,
): ObjectChange {
  const key = keyOf(ref);
  switch (kind) {
    case "SharedSecret":
      return { kind, key, after: observedSource(object, options.digestOf) };
    case "Namespace": {
      const after = readNamespace(parseLatchkeyMetadata(object), options);
      return { kind, key, after };
    }
    case "Secret":
      return { kind, key, after: readTargetSecret(object, options.digestOf) };
  }
}

/** The SharedSecrets and Namespaces that changes add or replace. */
export function plannedObjects(changes: readonly ObjectChange[]): Omit<SyncSnapshot, "secrets"> {
  const sharedSecrets: Source[] = [];
  const namespaces: Metadata[] = [];
  for (const { kind, after } of changes) {
    if (after === undefined) continue;
    if (kind === "SharedSecret") sharedSecrets.push(after);
    else if (kind === "Namespace") namespaces.push(after);
  }
  return { sharedSecrets, namespaces };
}

/** Live objects for a plan. */
export interface KnownSync {
  readonly objects: SyncObjects;
  /** Whether the user may not read the Secret at a target, so that its state is assumed. */
  readonly isAssumed: (target: Target) => boolean;
}

/**
 * The live objects, with Secrets where the user may not read them: a target is assumed to be
 * current, or to be as the failures in the status of its SharedSecret say.
 */
export function knownSync({ snapshot, missing }: LiveSync): KnownSync {
  const seen = syncObjectsOf(snapshot);
  const isAssumed = (target: Target): boolean => isHidden(missing, resources.secrets, target);
  const assumed = new Map<Key, TargetSecret>();
  for (const source of snapshot.sharedSecrets) {
    const failures = new Map(
      listedFailures(source.secret.status).map((failure) => [keyOf(failure), failure.reason]),
    );
    for (const target of targetsOf(source, seen)) {
      const key = keyOf(target);
      const state = targetState(observeTarget(target, seen));
      const isFirst = state.kind === "missing" && state.source.secret === source.secret;
      const secret = isFirst && isAssumed(target) && assumedSecret(state.source, target, failures);
      if (secret) assumed.set(key, secret);
    }
  }
  const secrets = [...snapshot.secrets, ...assumed.values()];
  return { objects: syncObjectsOf({ ...snapshot, secrets }), isAssumed };
}

function assumedSecret(
  source: Source,
  target: Target,
  failures: ReadonlyMap<Key, string>,
): TargetSecret | undefined {
  const { creationTimestamp } = source.secret.metadata;
  const identity = { uid: "", resourceVersion: "", generation: 0, creationTimestamp };
  const metadata = { ...target, ...identity, labels: {}, annotations: {}, finalizers: [] };
  const failure = failures.get(keyOf(target));
  if (failure === conflictReasons.notManaged) return { metadata };
  if (failure !== undefined) return undefined;
  const { labels = {}, annotations = {} } = copyManifest({ source, data: {} }, target).metadata;
  return {
    metadata: { ...metadata, labels, annotations },
    ownerReferences: [],
    type: source.options.secretType,
    immutable: false,
    digest: source.digest,
  };
}

/**
 * What the controller has to do now for the SharedSecrets of a namespace, or of all: for each
 * target and each SharedSecret that is synced to it.
 */
export function planNow(
  namespace: string | undefined,
  { objects }: KnownSync,
): readonly TargetChange[] {
  const isOurs = (key: Key): boolean => namespace === undefined || key.startsWith(`${namespace}/`);
  const sources = [...objects.sharedSecrets.keys()].filter(isOurs).flatMap((key) => {
    const after = objects.sharedSecrets.get(key);
    return after === undefined ? [] : planChange({ kind: "SharedSecret", key, after }, objects);
  });
  const covered = new Set(sources.map(({ target }) => keyOf(target)));
  const { copies, placeholders, unmanagedSecrets } = objects;
  const stores = [copies, placeholders, unmanagedSecrets];
  const others = stores
    .flatMap((store) => [...store.keys()])
    .flatMap((key) => {
      const after = copies.get(key) ?? placeholders.get(key) ?? unmanagedSecrets.get(key);
      return after === undefined || covered.has(key)
        ? []
        : planChange({ kind: "Secret", key, after }, objects);
    });
  return [...sources, ...others.filter(({ because }) => isOurs(keyOf(because.sourceRef)))];
}

/**
 * The rights without which the plan leaves something out; assumed targets are marked themselves.
 */
export function missingRights(missing: readonly MissingRight[]): readonly MissingRight[] {
  return missing.filter(
    ({ resource, name }) => resource !== resources.secrets || name === undefined,
  );
}
