import { requesterPolicies } from "../api/names.ts";
import type { Metadata } from "../api/object.ts";
import { parseMetadata } from "../api/parse.ts";
import type { Requester } from "../api/requester.ts";
import { type Resource, resources } from "../api/resources.ts";
import { lastInstalledAt, requesterOf } from "../domain/requester/requester.ts";
import type { InformerDeps } from "../kube/informer/informer-options.ts";
import { Informer } from "../kube/informer/informer.ts";
import type { ReadStore } from "../kube/informer/store.ts";

/** Stores of the objects that must exist for a requester to be verified. */
export interface PolicyStores {
  /**
   * The objects that write the requester annotations: the policy and its binding, or the webhook
   * configuration on servers before 1.36.
   */
  readonly annotating: readonly (readonly ReadStore<Metadata>[])[];
  /**
   * The policies that protect the requester annotations and check the identity of keys, and their
   * bindings.
   */
  readonly guarding: readonly ReadStore<Metadata>[];
}

/** Watches an object that must exist; a resource that is not served counts as empty. */
export function requesterPolicy(resource: Resource, name: string) {
  return {
    listOptions: { resource, fieldSelector: `metadata.name=${name}`, metadataOnly: true },
    parse: parseMetadata,
    mayBeUnserved: true,
  } as const;
}

/** The stores of the objects that must exist for a requester to be verified. */
export function requesterPolicyStores(
  follow: (resource: Resource, name: string) => ReadStore<Metadata>,
): PolicyStores {
  const { annotations, lock, guard } = requesterPolicies;
  return {
    annotating: [
      [
        follow(resources.mutatingPolicies, annotations),
        follow(resources.mutatingPolicyBindings, annotations),
      ],
      [follow(resources.mutatingWebhookConfigurations, annotations)],
    ],
    guarding: [lock, guard].flatMap((name) => [
      follow(resources.validatingPolicies, name),
      follow(resources.validatingPolicyBindings, name),
    ]),
  };
}

/** Creates informers of these objects, and their stores. */
export function requesterPolicyInformers(
  deps: InformerDeps,
  onChange: () => void,
): { readonly informers: readonly Informer<Metadata>[]; readonly stores: PolicyStores } {
  const informers: Informer<Metadata>[] = [];
  const stores = requesterPolicyStores((resource, name) => {
    const { listOptions, parse, mayBeUnserved: optional } = requesterPolicy(resource, name);
    const informer = new Informer<Metadata>({ listOptions, parse, optional, onChange }, deps);
    informers.push(informer);
    return informer.store;
  });
  return { informers, stores };
}

/**
 * When the last of the policies that a verified requester requires was installed, in milliseconds
 * since the epoch; undefined while one is missing.
 */
export function policiesInstalledAt({ annotating, guarding }: PolicyStores): number | undefined {
  const installedAt = (stores: readonly ReadStore<Metadata>[]): number | undefined =>
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
