import type { AdmissionRequest } from "../api/admission-review.ts";
import { type HeldOwner, newlyHeldOwners } from "../domain/owner-references.ts";
import type { Client } from "../kube/client.ts";
import type { Discovery, ServedKind } from "../kube/discovery.ts";
import { isAllowed } from "./access-question.ts";
import { type AdmissionStep, admitted, refused } from "./admission.ts";

/** What admission of owner references is decided from. */
export interface OwnerAdmissionDeps {
  readonly client: Pick<Client, "review">;
  readonly discovery: Pick<Discovery, "kindOf">;
}

/** Lets an object hold back an owner only if whoever says so may delete that owner (specification, Errors: 422). */
export function mayHoldOwners({ client, discovery }: OwnerAdmissionDeps): AdmissionStep {
  return async (request) => {
    for (const owner of newlyHeldOwners(request.object, request.oldObject)) {
      const field = `metadata.ownerReferences[${owner.index}].blockOwnerDeletion`;
      const what = `${owner.kind} "${owner.name}" of ${owner.apiVersion}`;
      const served = await discovery.kindOf(owner.apiVersion, owner.kind);
      if (served === undefined) return refused(422, `${field} is true, and the API server serves no ${owner.kind} of ${owner.apiVersion}: correct apiVersion and kind, or leave blockOwnerDeletion out`);
      if (!(await mayDelete(owner, { served, request, client }))) {
        return refused(422, `${field} is true, which needs the verb delete on ${what}: ask for that verb, or leave blockOwnerDeletion out`);
      }
    }
    return admitted(request);
  };
}

function mayDelete({ name }: HeldOwner, { served, request, client }: { readonly served: ServedKind; readonly request: AdmissionRequest; readonly client: Pick<Client, "review"> }): Promise<boolean> {
  const namespace = served.namespaced ? { namespace: request.namespace } : {};
  return isAllowed(request.user, { verb: "delete", group: served.group, resource: served.plural, name, ...namespace }, client);
}
