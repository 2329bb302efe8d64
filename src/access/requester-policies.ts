import { requesterPolicies } from "../api/names.ts";
import type { Metadata } from "../api/object.ts";
import { parseMetadata } from "../api/parse.ts";
import type { Requester } from "../api/requester.ts";
import { type Resource, resources } from "../api/resources.ts";
import { type PoliciesAge, policiesAge } from "../domain/policy-age.ts";
import { requesterOf } from "../domain/requester.ts";
import { Informer, type InformerDeps } from "../kube/informer.ts";
import type { ReadStore } from "../kube/store.ts";

/** One store for each policy of `requesterPolicies` and each of their bindings. */
export type PolicyStores = readonly ReadStore<Metadata>[];

/** Informers of the policies that make a requester certain; a server that does not serve policies has none. */
export function requesterPolicyInformers(deps: InformerDeps, onChange: () => void): readonly Informer<Metadata>[] {
  const policy = (resource: Resource, name: string): Informer<Metadata> =>
    new Informer<Metadata>({ selection: { resource, fieldSelector: `metadata.name=${name}`, metadataOnly: true }, parse: parseMetadata, onChange, optional: true }, deps);
  return [
    policy(resources.mutatingPolicies, requesterPolicies.stamp),
    policy(resources.mutatingPolicyBindings, requesterPolicies.stamp),
    ...[requesterPolicies.lock, requesterPolicies.guard].flatMap((name) => [policy(resources.validatingPolicies, name), policy(resources.validatingPolicyBindings, name)]),
  ];
}

/** Since when the policies stand that make a requester certain. */
export function observePolicies(stores: PolicyStores): PoliciesAge | undefined {
  return policiesAge(stores.map((store) => store.values().next().value));
}

/** Who asked for an object, as far as the policies that stand can tell. */
export function observeRequester(metadata: Metadata, stores: PolicyStores): Requester {
  return requesterOf(metadata, observePolicies(stores));
}
