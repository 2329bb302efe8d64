import { type Key, keyOf, refOf } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import { nothingToDo, type Plan } from "../../domain/plan/plan.ts";
import type { Source } from "../../domain/sync/copy.ts";
import { dataConsent } from "../../domain/sync/data-from.ts";
import { secretAt } from "../../domain/sync/observed-target.ts";
import {
  changesOften,
  newSourcePace,
  nextReading,
  type SourcePace,
  sourceRead,
} from "../../domain/sync/source-pace.ts";
import {
  followedData,
  hasNoSources,
  type ReadSourceSecret,
  unreadableData,
} from "../../domain/sync/source-secret.ts";
import { syncIndexes } from "../../domain/sync/sync-objects.ts";
import { type Answers, answerTo, type Ask, askFor, isAsk } from "../question.ts";
import type { Reconciler } from "../reconciler.ts";
import type { World } from "../world.ts";

/**
 * Reads a Secret that SharedSecrets follow, and gives each of them what it has of it. The watch of
 * such a Secret has its metadata alone; the data is judged on the object that it is read from.
 */
export const sourceSecretReconciler: Reconciler<World> = {
  queue: "source",
  workers: ({ workers }) => workers,
  decide(key, world, answers) {
    const followers = followersOf(key, world);
    const { sourcePaces } = world.memory;
    if (followers.length === 0) {
      sourcePaces.delete(key);
      return nothingToDo;
    }
    const pace = sourcePaces.get(key) ?? newSourcePace;
    const at = instantOf(nextReading(pace), world);
    const isDue = at <= world.clock.now() || followers.some(isUnread);
    const isWithdrawn = followers.some((follower) => hasLostConsent(follower, key, world));
    if (!isDue && !isWithdrawn) return { steps: [], result: { kind: "requeue-at", at } };
    const read = readSecret(key, world, answers);
    if (isAsk(read)) return read;
    const next = sourceRead(pace, world.clock.monotonic());
    sourcePaces.set(key, next);
    for (const follower of followers) record(follower, { read, pace: next }, world);
    return resultOf(next, isWatched(key, read, world), world);
  },
  report({ key, world, reported }) {
    const message = `cannot be read: ${reported.message}`;
    for (const follower of followersOf(key, world))
      if (isUnread(follower)) recordUnreadable(follower, message, world);
    return undefined;
  },
};

/** The SharedSecrets that follow a Secret. */
function followersOf(key: Key, { stores }: World): readonly Source[] {
  return stores.sharedSecrets.by(syncIndexes.dataFrom, key);
}

function isUnread({ followed }: Source): boolean {
  return followed?.state === "unread";
}

/** Whether a SharedSecret has data of a Secret that no longer names it: this waits for no pace. */
function hasLostConsent({ secret, followed }: Source, key: Key, { stores }: World): boolean {
  const watched = secretAt(key, stores)?.metadata;
  if (followed?.state !== "data" || watched === undefined) return false;
  return dataConsent(watched, secret.metadata.name) === "not-named";
}

/** The Secret of this key. One that is not watched is stored, so that every change is an event. */
function readSecret(key: Key, world: World, answers: Answers): ReadSourceSecret | Ask {
  const ref = refOf(key);
  if (isNoSource(key, world)) return { kind: "gone" };
  const read = { do: "read-source", ref } as const;
  const found = answerTo(read, answers)?.source;
  if (found === undefined) return { questions: [read] };
  if (found.kind === "gone" || secretAt(key, world.stores) !== undefined) return found;
  return askFor([{ do: "refresh", resource: resources.secrets, ref }], answers) ?? found;
}

function isNoSource(key: Key, { options }: World): boolean {
  return hasNoSources(refOf(key).namespace ?? "", options.namespace);
}

/** Whether the watch has the version that was read, if any. */
function isWatched(key: Key, read: ReadSourceSecret, world: World): boolean {
  if (isNoSource(key, world)) return true;
  const watched = secretAt(key, world.stores)?.metadata;
  const found = read.kind === "gone" ? undefined : read.secret.metadata;
  return watched?.uid === found?.uid && watched?.resourceVersion === found?.resourceVersion;
}

interface Read {
  readonly read: ReadSourceSecret;
  readonly pace: SourcePace;
}

function record(
  { secret, followed }: Source,
  { read, pace }: Read,
  { options, recordFollowed }: World,
): void {
  if (followed === undefined) return;
  const data = followedData(secret, followed, read, options.namespace);
  recordFollowed(keyOf(secret.metadata), data, { changesOften: changesOften(pace) });
}

function recordUnreadable({ secret, followed }: Source, why: string, world: World): void {
  if (followed === undefined) return;
  const data = unreadableData(secret, followed, why);
  world.recordFollowed(keyOf(secret.metadata), data, { changesOften: false });
}

/**
 * What was read before its event arrives is read again: etcd may be restored to the version that
 * the watch has, and no event follows.
 */
const readAgainMs = 1_000;

function resultOf(pace: SourcePace, isCurrent: boolean, world: World): Plan {
  if (!changesOften(pace) && isCurrent) return nothingToDo;
  const next = changesOften(pace) ? nextReading(pace) : world.clock.monotonic() + readAgainMs;
  return { steps: [], result: { kind: "requeue-at", at: instantOf(next, world) } };
}

/** A monotonic time, in milliseconds since the epoch. */
function instantOf(monotonicMs: number, { clock }: World): number {
  return clock.now() + monotonicMs - clock.monotonic();
}
