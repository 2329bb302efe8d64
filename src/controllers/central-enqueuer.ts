import type { EndpointToken } from "../api/endpoint-token.ts";
import { annotations } from "../api/names.ts";
import { type Key, keyOf, type Metadata } from "../api/object.ts";
import type { ObservedAccessKey } from "../api/owned-access-key.ts";
import type { ObservedRole, ObservedRoleBinding } from "../api/role.ts";
import { grantedObject, requesterHashOf } from "../domain/grants/granted-names.ts";
import { hasFinalizer } from "../domain/plan/finalization.ts";
import { mayBeDerived, sourceUidOf } from "../domain/shared-secret/derived-role.ts";
import type { Source } from "../domain/sync/copy.ts";
import { Enqueuer } from "./enqueuer.ts";
import type { LeaderState } from "./memory.ts";
import type { KeyQueue, QueueName } from "./queues.ts";
import { pendingRevocations } from "./revocations.ts";
import { indexes } from "./stores.ts";

/**
 * Delay in milliseconds between a change of a key or token and the reconcile of its requester's
 * grants: `each` for every key of the requester (ten times what a reconcile spends on a key), no
 * delay below `least`, and at most `most`.
 */
const grantDelayMs = { each: 0.1, least: 5, most: 250 } as const;

/** Adds keys to the queues of the leader of the central cluster. */
export class CentralEnqueuer extends Enqueuer<LeaderState> {
  /**
   * Enqueues the SharedSecret that a Role or RoleBinding was derived from; and if it is not derived
   * from that one, those that may want its name.
   */
  derivedFrom(object: ObservedRole | ObservedRoleBinding): void {
    const { namespace = "", name, annotations: given } = object.metadata;
    const uid = sourceUidOf(object);
    const { sharedSecrets } = this.stores;
    const owners = uid === undefined ? [] : sharedSecrets.by(indexes.uid, uid);
    const isNamed = ({ secret }: Source): boolean => mayBeDerived(secret.metadata, name);
    const others = owners.some(isNamed)
      ? []
      : sharedSecrets.by(indexes.namespace, namespace).filter(isNamed);
    for (const { secret } of [...owners, ...others])
      this.queues.sharedSecret.add(keyOf(secret.metadata), "high");
    // Orphaned: the reconcile of any key in the namespace deletes orphaned objects.
    if (owners.length === 0 && uid !== undefined)
      this.queues.sharedSecret.add(
        keyOf({ namespace, name: given[annotations.source] ?? name }),
        "high",
      );
  }

  /**
   * Enqueues the grants of a requester, by hash. A reconcile reads all keys of the requester, so
   * changes are batched if there are many.
   */
  grant(hash: Key): void {
    const delayMs = Math.min(
      this.stores.keys.countBy(indexes.requester, hash) * grantDelayMs.each,
      grantDelayMs.most,
    );
    if (delayMs < grantDelayMs.least) this.queues.grant.add(hash, "high");
    else this.queues.grant.addAt(hash, this.clock.now() + delayMs);
  }

  /**
   * Enqueues the grants that a change of a key or token affects. Grants contain the objects that
   * have Latchkey's finalizer and are not being deleted; no other change affects them.
   */
  grantsOf(
    before: ObservedAccessKey | EndpointToken | undefined,
    after: ObservedAccessKey | EndpointToken | undefined,
  ): void {
    const [granted, isGranted] = [before, after].map(
      (object) =>
        object !== undefined && isLasting(object.metadata) && requesterHashOf(object.metadata)[0],
    );
    if (granted === isGranted) return;
    const hashes = new Set(
      [before, after].flatMap((object) =>
        object === undefined ? [] : requesterHashOf(object.metadata),
      ),
    );
    for (const hash of hashes) this.grant(hash);
  }

  /** Enqueues every key and token of a requester, by hash. */
  requestedBy(hash: Key): void {
    for (const key of this.stores.keys.keysBy(indexes.requester, hash))
      this.queues.key.add(key, "low");
    for (const key of this.stores.tokens.keysBy(indexes.requester, hash))
      this.queues.token.add(key, "low");
  }

  /**
   * Enqueues the keys and tokens that were created with the access key of this uid: they are only
   * valid as long as it is.
   */
  childrenOf(uid: string): void {
    for (const key of this.stores.keys.keysBy(indexes.parentKey, uid))
      this.queues.key.add(key, "high");
    for (const key of this.stores.tokens.keysBy(indexes.parentKey, uid))
      this.queues.token.add(key, "high");
  }

  /** Enqueues the tokens that wait for their entry in the list of revoked tokens. */
  pendingRevocations(): void {
    for (const jti of pendingRevocations(this)) {
      for (const key of this.stores.tokens.keysBy(indexes.uid, jti))
        this.queues.token.add(key, "low");
    }
  }

  /** Enqueues a key or token by its name in a grant, `<plural>/<name>`. */
  granted(grantedName: string): void {
    const { kind, name } = grantedObject(grantedName);
    (kind === "OwnedAccessKey" ? this.queues.key : this.queues.token).add(name, "high");
  }

  /**
   * All keys, tokens and grants with their queues, those of one requester together, so that their
   * grants are batched.
   */
  *requested(): Iterable<{ readonly queue: KeyQueue; readonly key: Key }> {
    for (const [queue, store] of [
      [this.queues.key, this.stores.keys],
      [this.queues.token, this.stores.tokens],
    ] as const) {
      for (const hash of store.namesIn(indexes.requester))
        for (const key of store.keysBy(indexes.requester, hash)) yield { queue, key };
      // Keys and tokens without a requester; the others are already queued.
      for (const key of store.keys()) yield { queue, key };
    }
    const { keys, tokens, clusterRoles, clusterRoleBindings } = this.stores;
    for (const store of [keys, tokens, clusterRoles, clusterRoleBindings])
      for (const key of store.namesIn(indexes.requester)) yield { queue: this.queues.grant, key };
  }

  /** Forgets an object that no longer exists; another one of its name has not failed. */
  forgetDeleted(
    queue: QueueName,
    before: { readonly metadata: Metadata } | undefined,
    after: { readonly metadata: Metadata } | undefined,
  ): void {
    if (before === undefined || before.metadata.uid === after?.metadata.uid) return;
    this.memory.failures[queue].delete(keyOf(before.metadata));
    this.memory.deletions.delete(before.metadata.uid);
    this.memory.waitingSince.delete(before.metadata.uid);
    this.memory.agents.stated.delete(before.metadata.uid);
  }
}

function isLasting(metadata: Metadata): boolean {
  return hasFinalizer(metadata) && metadata.deletionTimestamp === undefined;
}
