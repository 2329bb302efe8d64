import { requesterPolicies } from "../api/names.ts";
import type { Metadata } from "../api/object.ts";
import { parseMetadata } from "../api/parse.ts";
import { type Resource, resources } from "../api/resources.ts";
import type { PolicyStore, PolicyStores } from "../domain/requester/installed-policies.ts";
import type { InformerDeps } from "../kube/informer/informer-options.ts";
import { Informer } from "../kube/informer/informer.ts";

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
  follow: (resource: Resource, name: string) => PolicyStore,
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
