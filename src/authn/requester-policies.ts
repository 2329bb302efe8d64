import { requesterPolicies } from "../api/names.ts";
import type { Metadata } from "../api/object.ts";
import { parseMetadata } from "../api/parse.ts";
import type { Requester } from "../api/requester.ts";
import { type Resource, resources } from "../api/resources.ts";
import {
  oldest,
  type PoliciesAge,
  policiesAge,
  requesterOf,
} from "../domain/requester/requester.ts";
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

/**
 * Creates informers of the objects that must exist for a requester to be verified, and their
 * stores; a resource that the API server does not serve counts as empty.
 */
export function requesterPolicyInformers(
  deps: InformerDeps,
  onChange: () => void,
): { readonly informers: readonly Informer<Metadata>[]; readonly stores: PolicyStores } {
  const follow = (resource: Resource, name: string): Informer<Metadata> =>
    new Informer<Metadata>(
      {
        listOptions: { resource, fieldSelector: `metadata.name=${name}`, metadataOnly: true },
        parse: parseMetadata,
        onChange,
        optional: true,
      },
      deps,
    );
  const annotating = [
    [
      follow(resources.mutatingPolicies, requesterPolicies.annotations),
      follow(resources.mutatingPolicyBindings, requesterPolicies.annotations),
    ],
    [follow(resources.mutatingWebhookConfigurations, requesterPolicies.annotations)],
  ];
  const guarding = [requesterPolicies.lock, requesterPolicies.guard].flatMap((name) => [
    follow(resources.validatingPolicies, name),
    follow(resources.validatingPolicyBindings, name),
  ]);
  const storesOf = (informers: readonly Informer<Metadata>[]): readonly ReadStore<Metadata>[] =>
    informers.map(({ store }) => store);
  return {
    informers: [...annotating.flat(), ...guarding],
    stores: { annotating: annotating.map(storesOf), guarding: storesOf(guarding) },
  };
}

/**
 * When the last of the policies that a verified requester requires was installed; undefined while
 * one is missing.
 */
export function observePolicies({ annotating, guarding }: PolicyStores): PoliciesAge | undefined {
  const ageOf = (stores: readonly ReadStore<Metadata>[]): PoliciesAge | undefined =>
    policiesAge(stores.map((store) => store.values().next().value));
  const [annotated, guarded] = [oldest(annotating.map(ageOf)), ageOf(guarding)];
  if (annotated === undefined || guarded === undefined) return undefined;
  return { installedAt: Math.max(annotated.installedAt, guarded.installedAt) };
}

/** The requester of an object, verified with the installed policies. */
export function observeRequester(metadata: Metadata, stores: PolicyStores): Requester {
  return requesterOf(metadata, observePolicies(stores));
}
