import { keyIndexes } from "../authn/key-resolver.ts";
import type { EndpointToken } from "../api/endpoint-token.ts";
import { annotations, labels } from "../api/names.ts";
import { type Key, keyOf, type Metadata, type ObjectRef, refOf } from "../api/object.ts";
import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import type { GrantBinding, GrantRole } from "../api/requester-grant.ts";
import type { ObservedRoleBinding, ObservedRole } from "../api/role.ts";
import { connectorClaim } from "../domain/access-key/connector-claim.ts";
import type { ObservedCopy, Source, UnmanagedSecret } from "../domain/sync/copy.ts";
import { sourceUidOf } from "../domain/shared-secret/derived-role.ts";
import { hasFinalizer } from "../domain/plan/finalizer.ts";
import { keyIndexOf } from "../domain/access-key/key-digest.ts";
import { grantedNames, hashInName, namesInForce } from "../domain/grants/granted-names.ts";
import { isEndUnrecorded } from "../domain/access-key/owned-access-key.ts";
import { quotaRelief } from "../domain/sync/quota-relief.ts";
import { isPermitted, namesProject, projectOf, targetIn } from "../domain/sync/sync-target.ts";
import type { Priority, WorkQueue } from "../kube/queue.ts";
import type { Change } from "../kube/store.ts";
import type { Yielder } from "../kube/yielder.ts";
import type { Clock } from "../runtime/clock.ts";
import { concernsCopies, concernsSync } from "./concerns.ts";
import type { Deletions } from "./deletions.ts";
import { type ChangeHandlers, requesterHashOf } from "./informers.ts";
import { candidatesFor, copyKeysOf, indexes, type Stores, targetsOf } from "./stores.ts";
import { createRefusedObjects } from "./refused-objects.ts";
import type { TargetFailures } from "./target-failures.ts";

/** One queue for each kind of pass. */
export interface Queues {
  readonly sharedSecret: WorkQueue;
  readonly copy: WorkQueue;
  readonly key: WorkQueue;
  readonly token: WorkQueue;
  readonly grant: WorkQueue;
  readonly signingKeys: WorkQueue;
  readonly connectorData: WorkQueue;
}

/** The one key of the queue for the signing keys. */
export const signingKeysKey: Key = "signing-keys";

/**
 * A SharedSecret's status follows its copies at this distance, so that a fan-out does not count
 * them a thousand times; while copies wait for their turn the count cannot be final, and tells of
 * progress only.
 */
const statusDelayMs = { final: 100, progress: 1_000 } as const;

/**
 * A grant follows the keys of its requester at this distance for each of them, or at once: ten
 * times what a pass takes to look at them.
 */
const grantDelayMs = { each: 0.1, least: 5, most: 250 } as const;

/** Which passes a change asks for. */
export interface ChangeDeps {
  readonly queues: Queues;
  readonly stores: Stores;
  readonly deletions: Pick<Deletions, "forget">;
  readonly copyFailures: Pick<TargetFailures, "in" | "at">;
  readonly clock: Pick<Clock, "now">;
  readonly yielder: Yielder;
}

interface Described {
  readonly metadata: Metadata;
}

/** What puts keys into queues. */
export interface Changes {
  readonly handlers: ChangeHandlers;
  /** Has the status of every source that wants this target counted again. */
  readonly recount: (target: ObjectRef) => void;
  /** Has the status of every key and token of a requester, by hash, looked at again. */
  readonly addStampedBy: (hash: Key) => void;
  /** Puts everything there is into the queues: the first thing a leader does. */
  readonly addEverything: () => Promise<void>;
}

/** Puts the keys of all passes that a change concerns into their queues. */
export function createChanges({
  queues,
  stores,
  deletions,
  copyFailures,
  clock,
  yielder,
}: ChangeDeps): Changes {
  const addTarget = (target: ObjectRef, urgency: Priority): void =>
    queues.copy.add(keyOf(target), urgency);
  const count = ({ secret }: Source): void => {
    const delayMs = queues.copy.depth > 0 ? statusDelayMs.progress : statusDelayMs.final;
    queues.sharedSecret.addAt(keyOf(secret.metadata), clock.now() + delayMs);
  };
  const refused = createRefusedObjects({ queues, stores, copyFailures });
  const requeueStatus = (target: ObjectRef): void => candidatesFor(target, stores).forEach(count);

  function onSecret({ key, before, after }: Change<ObservedCopy | UnmanagedSecret>): void {
    queues.copy.add(key, "high");
    requeueStatus(refOf(key));
    for (const uid of new Set(
      [before, after].map((seen) => seen?.metadata.labels[labels.sourceUid]),
    )) {
      const holder = uid === undefined ? undefined : stores.sharedSecrets.by(indexes.uid, uid)[0];
      if (holder !== undefined) count(holder);
    }
  }

  const handlers: ChangeHandlers = {
    sharedSecret({ key, before, after }) {
      queues.sharedSecret.add(key, "high");
      forgetGone(before?.secret, after?.secret);
      if (!concernsCopies(before, after)) return;
      for (const source of [before, after]) {
        if (source === undefined) continue;
        const targets = targetsOf(source, stores);
        const wanted = new Set(targets.map(keyOf));
        for (const key of wanted) queues.copy.add(key, stores.copies.has(key) ? "low" : "normal");
        for (const target of targets) recountRivals(source, target);
        for (const key of copyKeysOf(source, stores))
          queues.copy.add(key, wanted.has(key) ? "low" : "normal");
      }
    },
    namespace({ before, after }) {
      const name = (after ?? before)?.name ?? "";
      // Policies, Pod Security and webhooks select by labels, of which only Latchkey's own are
      // held: any change may be the one.
      if (before !== undefined && after !== undefined) refused.retryAll(name);
      if (!concernsSync(before, after)) return;
      for (const source of stores.sharedSecrets.values()) {
        const states = [before, after].filter((namespace) => namespace !== undefined);
        // The status says how many namespaces of a project do not ask.
        if (states.some((namespace) => namesProject(source, projectOf(namespace) ?? "")))
          count(source);
        if (states.some((namespace) => isPermitted(source, namespace)))
          addTarget(targetIn(name, source), "high");
      }
      for (const { secret } of stores.sharedSecrets.by(indexes.namespace, name))
        queues.sharedSecret.add(keyOf(secret.metadata), "high");
      for (const store of [stores.copies, stores.unmanagedSecrets]) {
        for (const key of store.keysBy(indexes.namespace, name)) queues.copy.add(key, "high");
      }
    },
    copy: onSecret,
    unmanagedSecret: onSecret,
    role: ({ before, after }) => {
      for (const seen of [before, after]) {
        if (seen !== undefined) addOwners(seen);
      }
    },
    grant({ before, after }) {
      for (const seen of [before, after]) {
        if (seen === undefined) continue;
        const hash = hashInName(seen);
        if (hash !== undefined) addGrant(hash);
      }
      for (const name of concernedBy(before, after)) {
        addGranted(name);
        addWaiting(
          name,
          [before, after].flatMap((state) =>
            state === undefined ? [] : (hashInName(state) ?? []),
          ),
        );
      }
    },
    key({ key, before, after }) {
      // What follows an end does not hold up those that end now.
      queues.key.add(key, after !== undefined && isEndUnrecorded(after) ? "normal" : "high");
      forgetGone(before, after);
      const seen = [before, after].filter((state) => state !== undefined);
      for (const index of said(seen, ({ keyDigest }) => keyDigest && keyIndexOf(keyDigest))) {
        for (const twin of stores.keys.keysBy(keyIndexes.keyIndex, index))
          queues.key.add(twin, "high");
      }
      for (const uid of said(seen, ({ metadata }) => metadata.uid)) addAskedWith(uid);
      for (const claim of said(
        seen,
        ({ metadata }) => connectorClaim(metadata.annotations)?.secret,
      ))
        queues.connectorData.add(claim, "high");
      addRequesters(before, after);
    },
    token({ key, before, after }) {
      queues.token.add(key, "high");
      forgetGone(before, after);
      addRequesters(before, after);
    },
    policy() {
      for (const { queue, key } of allStamped()) queue.add(key, "low");
    },
    signingKeys() {
      queues.signingKeys.add(signingKeysKey, "high");
      for (const { metadata } of stores.tokens.values()) queues.token.add(keyOf(metadata), "low");
    },
    connectorData: ({ key }) => queues.connectorData.add(refOf(key).name, "high"),
    resourceQuota: ({ key, before, after }) =>
      refused.retryWithin(refOf(key).namespace ?? "", quotaRelief(before, after)),
    scopeRole() {
      for (const key of stores.keys.keys()) queues.key.add(key, "low");
    },
  };

  return {
    handlers,
    recount: requeueStatus,
    addStampedBy: enqueueRequested,
    addEverything: enqueueAll,
  };

  function forgetGone(before: Described | undefined, after: Described | undefined): void {
    if (before !== undefined && after === undefined) deletions.forget(before.metadata.uid);
  }

  function enqueueRequested(hash: Key): void {
    for (const key of stores.keys.keysBy(indexes.requester, hash)) queues.key.add(key, "low");
    for (const key of stores.tokens.keysBy(indexes.requester, hash)) queues.token.add(key, "low");
  }

  /** What was asked for with the key of this uid works no longer than the key does. */
  function addAskedWith(uid: string): void {
    for (const key of stores.keys.keysBy(indexes.parentKey, uid)) queues.key.add(key, "high");
    for (const key of stores.tokens.keysBy(indexes.parentKey, uid)) queues.token.add(key, "high");
  }

  async function enqueueAll(): Promise<void> {
    await yielder.forEach(stores.sharedSecrets.values(), (source) => {
      queues.sharedSecret.add(keyOf(source.secret.metadata), "low");
      for (const target of targetsOf(source, stores)) addTarget(target, "low");
    });
    for (const store of [stores.copies, stores.unmanagedSecrets])
      await yielder.forEach(store.keys(), (key) => queues.copy.add(key, "low"));
    for (const store of [stores.roles, stores.roleBindings])
      await yielder.forEach(store.values(), addOwners);
    await yielder.forEach(allStamped(), ({ queue, key }) => queue.add(key, "low"));
    for (const key of stores.connectorData.keys()) queues.connectorData.add(refOf(key).name, "low");
    for (const claim of stores.keys.namesIn(indexes.connectorData))
      queues.connectorData.add(claim, "low");
    handlers.signingKeys();
  }

  function addOwners(seen: ObservedRole | ObservedRoleBinding): void {
    const { namespace = "", name, annotations: given } = seen.metadata;
    const uid = sourceUidOf(seen);
    const owners =
      uid === undefined
        ? stores.sharedSecrets.by(indexes.namespace, namespace)
        : stores.sharedSecrets.by(indexes.uid, uid);
    for (const { secret } of owners) queues.sharedSecret.add(keyOf(secret.metadata), "high");
    // Nobody's: any key of the namespace brings the pass that takes leftovers away.
    if (owners.length === 0 && uid !== undefined)
      queues.sharedSecret.add(
        keyOf({ namespace, name: given[annotations.source] ?? name }),
        "high",
      );
  }

  /** `granted` is `<plural>/<name>`. */
  function addGranted(granted: string): void {
    const { namespace: plural, name } = refOf(granted);
    const queue = plural === "ownedaccesskeys" ? queues.key : queues.token;
    queue.add(name, "high");
  }

  /** Who has taken an object over is granted it once the roles of others name it no more. */
  function addWaiting(granted: string, hashes: readonly Key[]): void {
    const { namespace: plural, name } = refOf(granted);
    const seen = plural === "ownedaccesskeys" ? stores.keys.get(name) : stores.tokens.get(name);
    const hash = seen === undefined ? undefined : requesterHashOf(seen.metadata)[0];
    if (hash !== undefined && !hashes.includes(hash)) addGrant(hash);
  }

  /** What a grant or the end of one changes, by key of a queue's kind and name. */
  function concernedBy(
    before: GrantRole | GrantBinding | undefined,
    after: GrantRole | GrantBinding | undefined,
  ): ReadonlySet<string> {
    const [old, young] = [before, after].map((seen) =>
      seen === undefined || "rules" in seen ? seen : stores.clusterRoles.get(seen.metadata.name),
    );
    const isRoleUpdate =
      old !== undefined &&
      young !== undefined &&
      old !== young &&
      hashInName(old) === hashInName(young);
    if (isRoleUpdate)
      return new Set(
        [grantedNames, namesInForce].flatMap((namesOf) => inOneAlone(namesOf(old), namesOf(young))),
      );
    return new Set([old, young].flatMap((role) => (role === undefined ? [] : grantedNames(role))));
  }

  /**
   * Grants name what will stay until Latchkey lets it go: no other change of a key or token
   * concerns them.
   */
  function addRequesters(
    ...seen: readonly (ObservedAccessKey | EndpointToken | undefined)[]
  ): void {
    const [before, after] = seen.map(
      (object) =>
        object !== undefined && isLasting(object.metadata) && requesterHashOf(object.metadata)[0],
    );
    if (before === after) return;
    const hashes = new Set(
      seen.flatMap((object) => (object === undefined ? [] : requesterHashOf(object.metadata))),
    );
    hashes.forEach(addGrant);
  }

  /**
   * A pass looks at all keys of a requester: where they are many, what comes together is granted
   * together.
   */
  function addGrant(hash: Key): void {
    const delayMs = Math.min(
      stores.keys.countBy(indexes.requester, hash) * grantDelayMs.each,
      grantDelayMs.most,
    );
    if (delayMs < grantDelayMs.least) queues.grant.add(hash, "high");
    else queues.grant.addAt(hash, clock.now() + delayMs);
  }

  /**
   * Everything about requesters, and the queue of each; what one of them asked for comes together,
   * so that it is granted in batches.
   */
  function* allStamped(): Iterable<{ readonly queue: WorkQueue; readonly key: Key }> {
    for (const [queue, store] of [
      [queues.key, stores.keys],
      [queues.token, stores.tokens],
    ] as const) {
      for (const hash of store.namesIn(indexes.requester)) {
        for (const key of store.keysBy(indexes.requester, hash)) yield { queue, key };
      }
      // What has no stamp; the others are waiting already.
      for (const key of store.keys()) yield { queue, key };
    }
    for (const store of [
      stores.keys,
      stores.tokens,
      stores.clusterRoles,
      stores.clusterRoleBindings,
    ]) {
      for (const key of store.namesIn(indexes.requester)) yield { queue: queues.grant, key };
    }
  }

  function recountRivals(source: Source, target: ObjectRef): void {
    for (const { secret } of candidatesFor(target, stores)) {
      if (secret.metadata.uid !== source.secret.metadata.uid)
        queues.sharedSecret.add(keyOf(secret.metadata), "low");
    }
  }
}

/** What the states of a change say, each once. */
function said<T>(states: readonly T[], of: (state: T) => string | undefined): ReadonlySet<string> {
  return new Set(states.map(of).filter((text) => text !== undefined));
}

function inOneAlone(one: readonly string[], other: readonly string[]): readonly string[] {
  const [inOne, inOther] = [new Set(one), new Set(other)];
  return [...one.filter((name) => !inOther.has(name)), ...other.filter((name) => !inOne.has(name))];
}

function isLasting(metadata: Metadata): boolean {
  return hasFinalizer(metadata) && metadata.deletionTimestamp === undefined;
}
