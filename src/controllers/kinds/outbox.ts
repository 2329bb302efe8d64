import { annotations, labels, outboxSecretType } from "../../api/names.ts";
import { type Key, keyOf, type Metadata, refOf } from "../../api/object.ts";
import { parseMetadata } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import type { Result } from "../../api/result.ts";
import { clusterOfOutbox } from "../../domain/outbox/outbox-names.ts";
import {
  type ObservedOutboxSecret,
  sourceOfOutbox,
  withdrawnUid,
} from "../../domain/outbox/outbox-secret.ts";
import { outboxState } from "../../domain/outbox/outbox-state.ts";
import {
  isWithdrawalConfirmed,
  offeredSource,
  outboxSteps,
  type OutboxState,
  toConfirm,
} from "../../domain/outbox/outbox-table.ts";
import {
  type FailedRequest,
  type FailureVerdict,
  targetFailure,
} from "../../domain/plan/failed-request.ts";
import { isSame } from "../../domain/plan/merge-patch.ts";
import { nothingToDo } from "../../domain/plan/plan.ts";
import type { Change } from "../../kube/informer/store.ts";
import { observedOutboxSecret } from "../../tokens/observed-data.ts";
import { silentAfterMs } from "../../domain/outbox/cluster-obstacle.ts";
import { heartbeatAgeMs } from "../cluster-agents.ts";
import type { CentralEnqueuer } from "../central-enqueuer.ts";
import { observeOutbox, shareOf } from "../observe-outbox.ts";
import { enqueueCluster, enqueueNaming, enqueueOffered, sourcesAt } from "../outbox-keys.ts";
import {
  type Answers,
  answerTo,
  type Ask,
  isAsk,
  readOf,
  type ReconcileDecision,
} from "../question.ts";
import type { Reconciler } from "../reconciler.ts";
import { dataToWrite } from "../source-data.ts";
import { indexes } from "../stores.ts";
import type { World } from "../world.ts";
import { namespaceKind } from "./namespace.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/**
 * Secrets in the outboxes of connected clusters: metadata and a digest of their data. Their type
 * tells them, which nobody can change: one that has lost its label is withdrawn like any other.
 */
export function outboxKind({ digestOf }: KindContext): WatchedKind<ObservedOutboxSecret, World> {
  return {
    listOptions: { resource: resources.secrets, fieldSelector: `type=${outboxSecretType}` },
    mayBeAt: ({ namespace = "" }) => clusterOfOutbox(namespace) !== undefined,
    parse(raw) {
      const { namespace = "" } = parseMetadata(raw);
      return clusterOfOutbox(namespace) === undefined
        ? undefined
        : observedOutboxSecret(raw, digestOf);
    },
    indexers: {
      [indexes.namespace]: ({ metadata }) => [metadata.namespace ?? ""],
      [indexes.outboxShare]: ({ metadata }) => [shareIn(metadata)],
      [indexes.outboxName]: ({ metadata }) => [metadata.name],
      [indexes.uid]: ({ metadata }) => [metadata.labels[labels.outboxUid] ?? ""],
      [indexes.withdrawn]: (secret) =>
        withdrawnUid(secret) === undefined ? [] : [secret.metadata.namespace ?? ""],
    },
    sizeOf: ({ size }) => size,
    codec: {
      encode: ({ value }) => JSON.stringify(value),
      decode(text) {
        const value: ObservedOutboxSecret = JSON.parse(text);
        const { uid, resourceVersion } = value.metadata;
        return { uid, resourceVersion, value };
      },
    },
    enqueue,
    enqueueAll: async (enqueuer) => {
      const { queues, stores, yielder } = enqueuer;
      for (const key of stores.outboxes.keys()) queues.outbox.add(key, "low");
      await yielder.forEach(stores.sharedSecrets.values(), (source) =>
        enqueueOffered(source, enqueuer),
      );
    },
    reconciler: outboxReconciler,
  };
}

/** Namespaces, of which some are outboxes. */
export function centralNamespaceKind(options: KindContext): WatchedKind<Metadata, World> {
  const kind = namespaceKind(options);
  return {
    ...kind,
    enqueue(change, enqueuer) {
      const { before, after } = change;
      const cluster = clusterOfOutbox((after ?? before)?.name ?? "");
      if (cluster !== undefined && concernsOutbox(before, after)) enqueueCluster(cluster, enqueuer);
      kind.enqueue(change, enqueuer);
    },
  };
}

/** Whether a change of a namespace affects the outbox in it. */
function concernsOutbox(before: Metadata | undefined, after: Metadata | undefined): boolean {
  const relevant = (namespace: Metadata | undefined): unknown =>
    namespace && {
      cluster: namespace.annotations[annotations.clusterUid],
      deleting: namespace.deletionTimestamp !== undefined,
      uid: namespace.uid,
    };
  return !isSame(relevant(before), relevant(after));
}

function shareIn(metadata: Metadata): string {
  return shareOf(metadata.namespace ?? "", sourceOfOutbox(metadata)?.namespace ?? "");
}

function enqueue(
  { key, before, after }: Change<ObservedOutboxSecret>,
  enqueuer: CentralEnqueuer,
): void {
  enqueuer.queues.outbox.add(key, "high");
  for (const source of sourcesAt(refOf(key), [before, after], enqueuer.stores)) {
    const { metadata } = source.secret;
    // Its finalizer waits for this.
    if (metadata.deletionTimestamp === undefined) enqueuer.status(source);
    else enqueuer.queues.sharedSecret.add(keyOf(metadata), "high");
  }
}

const askAgainMs = 5_000;
/** How long a Secret waits for room in its outbox, or among its tombstones. */
const roomAgainMs = 15_000;

/**
 * Reconciles one Secret of an outbox with the offer of its source; and by the name of its
 * namespace, whether the agent of an outbox is reachable.
 */
export const outboxReconciler: Reconciler<World> = {
  queue: "outbox",
  workers: ({ writers }) => writers,
  decide(key, world, answers) {
    const { namespace, name } = refOf(key);
    return namespace === undefined
      ? decideAgent(name, world)
      : decideSecret({ namespace, name }, world, answers);
  },
  judge,
  reported(key, reported, { enqueuer, stores, log }) {
    if (reported !== undefined)
      log.info(
        { controller: "outbox", object: key, reason: reported.reason, why: reported.message },
        "writing the Secret of an outbox failed",
      );
    const existing = stores.outboxes.get(key);
    for (const source of sourcesAt(refOf(key), [existing], stores)) enqueuer.status(source);
  },
};

function judge(failed: FailedRequest, key: Key, { stores }: World): FailureVerdict {
  const isTaken = failed.isWrite && failed.code === "AlreadyExists" && !stores.outboxes.has(key);
  if (!isTaken) return targetFailure(failed);
  // It was read after the write, and it has another type.
  const fact = `Secret ${JSON.stringify(key)} already exists and is not managed by Latchkey`;
  const message = `${fact}; delete it`;
  return {
    failure: { kind: "refused", reason: "Conflict", message },
    result: { kind: "requeue-with-backoff" },
  };
}

function decideSecret(
  target: { readonly namespace: string; readonly name: string },
  world: World,
  answers: Answers,
): ReconcileDecision {
  const now = world.clock.now();
  const observed = observeOutbox(target, world);
  const state = outboxState(observed);
  const source = offeredSource(state);
  const written = source && dataToWrite(source, "own", answers);
  if (written !== undefined && isAsk(written)) return written;
  const isConfirmed = confirmation(
    state,
    observed.source?.secret.metadata.resourceVersion,
    answers,
  );
  if (typeof isConfirmed === "object") return isConfirmed;
  // The data changed since it was read, or the stores lag behind; a watch event follows.
  if (written?.isChanged === true || !isConfirmed) return { decideAt: now + askAgainMs };
  const revisedAt = new Date(now).toISOString();
  return {
    ...nothingToDo,
    steps: outboxSteps(state, { revisedAt, data: written?.data }),
    result: resultOf(state, now),
  };
}

function resultOf({ kind }: OutboxState, now: number): Result {
  return kind === "full" || kind === "share-full" || kind === "deferred"
    ? { kind: "requeue-at", at: now + roomAgainMs }
    : { kind: "done" };
}

/** Whether the API server confirms that nothing is offered, if that is to be known. */
function confirmation(
  state: OutboxState,
  cached: string | undefined,
  answers: Answers,
): boolean | Ask {
  const ref = toConfirm(state);
  if (ref === undefined) return true;
  const read = readOf(resources.sharedSecrets, ref);
  const object = answerTo(read, answers)?.object;
  return object === undefined ? { questions: [read] } : isWithdrawalConfirmed(object, cached);
}

/** Enqueues the sources of a cluster when its agent is no longer, or again, reachable. */
function decideAgent(namespace: string, world: World): ReconcileDecision {
  const cluster = clusterOfOutbox(namespace) ?? "";
  const { unreachable } = world.memory.agents;
  const leftMs = silentAfterMs - (heartbeatAgeMs(cluster, world) ?? Infinity);
  const isUnreachable = leftMs < 0;
  if (isUnreachable !== unreachable.has(cluster)) {
    if (isUnreachable) unreachable.add(cluster);
    else unreachable.delete(cluster);
    const message = isUnreachable
      ? "the agent of a cluster is not heard"
      : "the agent of a cluster is heard";
    world.log.info({ cluster }, message);
    enqueueNaming(cluster, world.enqueuer);
  }
  return isUnreachable
    ? nothingToDo
    : { steps: [], result: { kind: "requeue-at", at: world.clock.now() + leftMs + 1 } };
}
