import type { Metadata } from "../../api/object.ts";
import type { Requester } from "../../api/requester.ts";
import { lastInstalledAt, requesterOf } from "./requester.ts";

/** The objects of one name: none, or one. */
export interface PolicyStore {
  values(): Iterator<Metadata>;
}

/** Stores of the objects that must exist for a requester to be verified. */
export interface PolicyStores {
  /**
   * The objects that write the requester annotations: the policy and its binding, or the webhook
   * configuration on servers before 1.36.
   */
  readonly annotating: readonly (readonly PolicyStore[])[];
  /**
   * The policies that protect the requester annotations and check the identity of keys, and their
   * bindings.
   */
  readonly guarding: readonly PolicyStore[];
}

/**
 * When the last of the policies that a verified requester requires was installed, in milliseconds
 * since the epoch; undefined while one is missing.
 */
export function policiesInstalledAt({ annotating, guarding }: PolicyStores): number | undefined {
  const installedAt = (stores: readonly PolicyStore[]): number | undefined =>
    lastInstalledAt(stores.map((store) => store.values().next().value));
  // One set of annotating objects suffices: the one that was complete first.
  const annotated = annotating.map(installedAt).filter((instant) => instant !== undefined);
  const guarded = installedAt(guarding);
  return annotated.length === 0 || guarded === undefined
    ? undefined
    : Math.max(Math.min(...annotated), guarded);
}

/** The requester of an object, verified with the installed policies. */
export function observeRequester(metadata: Metadata, stores: PolicyStores): Requester {
  return requesterOf(metadata, policiesInstalledAt(stores));
}
