import { unknownKeys } from "../../api/known-keys.ts";
import { labels } from "../../api/names.ts";
import { keyOf, refOf, type Key, type ObjectRef } from "../../api/object.ts";
import { parseLatchkeyMetadata } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { clusterOfOutbox } from "../../domain/outbox/outbox-names.ts";
import { targetFailure } from "../../domain/plan/failed-request.ts";
import type { ReportedFailure } from "../../domain/plan/failure-history.ts";
import { nothingToDo } from "../../domain/plan/plan.ts";
import { type Repairs, wasRepaired } from "../../domain/plan/repairs.ts";
import {
  type ObservedCopy,
  type UnmanagedSecret,
  copiedSource,
  type TargetSecret,
} from "../../domain/sync/copy.ts";
import { placeholderRequestOf, isObservedWhole } from "../../domain/sync/placeholder.ts";
import { ownerOf, observeTarget, candidatesFor } from "../../domain/sync/observed-target.ts";
import { syncIndexers, syncIndexes } from "../../domain/sync/sync-objects.ts";
import { targetState } from "../../domain/sync/target-state.ts";
import {
  dataVariant,
  writtenSource,
  type TargetState,
  rejectedSteps,
  targetSteps,
} from "../../domain/sync/state-table.ts";
import {
  limitedSteps,
  type TargetWrites,
  undeletedSteps,
} from "../../domain/sync/target-writes.ts";
import { unknownKeySteps, withoutSourceEvents } from "../../domain/sync/target-steps.ts";
import type { Priority } from "../../kube/queue/work-queue.ts";
import type { Change } from "../../kube/informer/store.ts";
import { observedCopy } from "../../tokens/observed-data.ts";
import { decodeCopy, encodeCopy } from "./copy-codec.ts";
import type { Enqueuer } from "../enqueuer.ts";
import {
  type Answers,
  answerTo,
  type Ask,
  type ReconcileDecision,
  isAsk,
  readOf,
} from "../question.ts";
import type { Reconciler } from "../reconciler.ts";
import { endRefresh } from "../refreshes.ts";
import { dataToWrite } from "../source-data.ts";
import type { SyncMemory, SyncStores } from "../sync-state.ts";
import type { SyncWorld } from "../sync-world.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/** Secrets with Latchkey's label: metadata and a digest of their data. */
export function copyKind({ digestOf }: KindContext): WatchedKind<ObservedCopy> {
  return {
    listOptions: { resource: resources.secrets, labelSelector: labels.sourceUid },
    parse: (raw) => withUnknownKeys(observedCopy(raw, digestOf), raw),
    indexers: syncIndexers.copies,
    codec: {
      encode: ({ value }) => encodeCopy(value),
      decode(text, key) {
        const value = decodeCopy(text, refOf(key));
        return {
          uid: value.metadata.uid,
          resourceVersion: value.metadata.resourceVersion,
          value,
        };
      },
    },
    enqueue: enqueueSecret,
    enqueueAll: ({ queues, stores, yielder }) =>
      yielder.forEach(stores.copies.keys(), (key) => queues.copy.add(key, "low")),
    reconciler: copyReconciler,
  };
}

/**
 * Secrets that ask to be filled and are not: metadata and a digest of their data. Once they are
 * filled, they have the label of copies.
 */
export function placeholderKind({ digestOf }: KindContext): WatchedKind<ObservedCopy> {
  return {
    listOptions: {
      resource: resources.secrets,
      labelSelector: `${labels.sharedSecretName},!${labels.sourceUid}`,
    },
    parse: (raw) => withUnknownKeys(observedCopy(raw, digestOf), raw),
    indexers: syncIndexers.placeholders,
    enqueue: enqueueSecret,
    enqueueAll: ({ queues, stores: { placeholders }, yielder }) =>
      yielder.forEach(placeholders.keys(), (key) => queues.copy.add(key, "low")),
  };
}

/**
 * Secrets without Latchkey's label that are no placeholders, as metadata: those at a target of a
 * SharedSecret, those whose annotation says that they are a copy, and those with a label or an
 * annotation without effect. Targets follow from namespaces and SharedSecrets, so Secrets are
 * listed after these.
 */
export function unmanagedSecretKind({ stores }: KindContext): WatchedKind<UnmanagedSecret> {
  return {
    listOptions: {
      resource: resources.secrets,
      labelSelector: `!${labels.sourceUid},!${labels.sharedSecretName}`,
      metadataOnly: true,
    },
    listedAfter: [resources.namespaces, resources.sharedSecrets],
    isReadOnly: true,
    parse: (raw) => parseUnmanaged(raw, stores()),
    indexers: syncIndexers.unmanagedSecrets,
    enqueue: enqueueSecret,
    enqueueAll: ({ queues, stores: { unmanagedSecrets }, yielder }) =>
      yielder.forEach(unmanagedSecrets.keys(), (key) => queues.copy.add(key, "low")),
  };
}

function parseUnmanaged(raw: unknown, stores: SyncStores): UnmanagedSecret | undefined {
  const metadata = parseLatchkeyMetadata(raw);
  if (isObservedWhole(metadata)) return undefined;
  const secret = withUnknownKeys<UnmanagedSecret>({ metadata }, raw);
  const isAtTarget =
    copiedSource(metadata) !== undefined ||
    candidatesFor(metadata, stores).length > 0 ||
    stores.sharedSecrets.countBy(syncIndexes.dataFrom, keyOf(metadata)) > 0;
  if (isAtTarget || secret.unknownKeys === undefined) return isAtTarget ? secret : undefined;
  const { namespace = "" } = metadata;
  const count = stores.unmanagedSecrets.countBy(syncIndexes.namespace, namespace);
  // The Secrets of an outbox have other marks.
  return count < mostMistaken && clusterOfOutbox(namespace) === undefined ? secret : undefined;
}

/** Secrets of a namespace that are stored for their unknown keys: its tenants may make many. */
const mostMistaken = 100;

function withUnknownKeys<T extends TargetSecret>(secret: T, raw: unknown): T {
  const found = unknownKeys("Secret", raw);
  return found.length === 0 ? secret : { ...secret, unknownKeys: found };
}

/** The priority of a Secret of a project namespace that changed, or whose time has come. */
export function urgencyOf(key: Key, repairs: Repairs): Priority {
  return wasRepaired(resources.secrets, refOf(key), repairs) ? "last" : "high";
}

/**
 * Enqueues a Secret of a project namespace, and the status of the SharedSecrets that sync to it.
 */
function enqueueSecret({ key, before, after }: Change<TargetSecret>, enqueuer: Enqueuer): void {
  enqueuer.queues.copy.add(key, urgencyOf(key, enqueuer.memory.repairs));
  enqueuer.statusAt(refOf(key));
  enqueuer.sourceSecret(key);
  for (const secret of [before, after]) {
    const source = secret && placeholderRequestOf(secret.metadata)?.source;
    const requested = source && enqueuer.stores.sharedSecrets.get(keyOf(source));
    if (requested !== undefined) enqueuer.status(requested);
  }
  const owners = [before, after].map((secret) => ownerOf(secret, enqueuer.stores));
  for (const owner of new Set(owners)) if (owner !== undefined) enqueuer.status(owner);
}

const askAgainMs = 5_000;

/** {@link copyReconciler}, with what may be written at the moment of a decision. */
export function copyReconcilerWith(writes: () => TargetWrites): Reconciler {
  return {
    ...reconciler,
    decide: (key, world, answers) => decide(key, { world, answers }, writes()),
    report({ key, world, failed, isDelete }) {
      const observed = observeTarget(refOf(key), world.stores);
      const state = targetState(observed);
      const undeleted = isDelete ? undeletedSteps(state, observed, writes()) : undefined;
      const why = `${failed.reason}: ${failed.message}`;
      const steps = undeleted ?? (failed.isRejection ? rejectedSteps(state, why) : []);
      return { ...nothingToDo, steps };
    },
  };
}

const reconciler: Omit<Reconciler, "decide" | "report"> = {
  queue: "copy",
  workers: ({ writers }) => writers,
  judge: targetFailure,
  reported(key, reported, { enqueuer, log, memory }) {
    indexTarget(key, reported, memory);
    if (reported !== undefined)
      log.info(
        { controller: "copy", object: key, reason: reported.reason, why: reported.message },
        "writing the target Secret failed",
      );
    enqueuer.statusAt(refOf(key));
  },
  ended(key, world, answers) {
    const refreshed = answerTo(refreshOf(refOf(key)), answers);
    if (refreshed !== undefined) endRefresh(key, refreshed.sources, world);
  },
};

function indexTarget(
  target: Key,
  reported: ReportedFailure | undefined,
  { failedTargets }: SyncMemory,
): void {
  const { namespace = "" } = refOf(target);
  const named = failedTargets.get(namespace) ?? new Set();
  if (reported === undefined) named.delete(target);
  else named.add(target);
  if (named.size === 0) failedTargets.delete(namespace);
  else failedTargets.set(namespace, named);
}

/**
 * Reconciles one Secret in a project namespace; reads it from the API server first if a refresh
 * waits for it.
 */
export const copyReconciler = copyReconcilerWith(() => ({ kind: "all" }));

function decide(
  key: Key,
  { world, answers }: { readonly world: SyncWorld; readonly answers: Answers },
  writes: TargetWrites,
): ReconcileDecision {
  const target = refOf(key);
  const sources = world.memory.refreshes.byTarget.get(key) ?? new Set();
  const refresh = { ...refreshOf(target), sources: [...sources] };
  if (sources.size > 0 && answerTo(refresh, answers) === undefined) return { questions: [refresh] };
  const observed = observeTarget(target, world.stores);
  const state = targetState(observed);
  const limited = limitedSteps(state, observed, writes);
  if (limited !== undefined) return { ...nothingToDo, steps: limited };
  const source = writtenSource(state);
  const written = source && dataToWrite(source, dataVariant(state), answers);
  if (written !== undefined && isAsk(written)) return written;
  const isGone = isSourceGone(state, answers);
  if (isAsk(isGone)) return isGone;
  // The data changed since it was read, or the stores lag behind; a watch event follows.
  if (written?.isChanged === true || !isGone.confirmed)
    return { decideAt: world.clock.now() + askAgainMs };
  const steps = targetSteps(target, state, written?.data);
  const existing = observed.copy ?? observed.unmanaged;
  if (steps.length === 0 && existing !== undefined && !observed.isTerminating)
    return { ...nothingToDo, steps: unknownKeySteps(existing) };
  const isElsewhere = world.stores.keepsUnknown === true;
  return { ...nothingToDo, steps: isElsewhere ? withoutSourceEvents(steps) : steps };
}

/** Whether no SharedSecret with the name of an orphan's source exists, if that is to be known. */
function isSourceGone(state: TargetState, answers: Answers): { readonly confirmed: boolean } | Ask {
  if (state.kind !== "orphaned") return { confirmed: true };
  const read = readOf(resources.sharedSecrets, state.sourceRef);
  const answer = answerTo(read, answers);
  return answer === undefined
    ? { questions: [read] }
    : { confirmed: answer.object.kind === "gone" };
}

function refreshOf(target: ObjectRef) {
  return { do: "refresh", resource: resources.secrets, ref: target } as const;
}
