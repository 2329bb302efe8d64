import type { ReviewedResource } from "../api/access-review.ts";
import type { AdmissionRequest } from "../api/admission-review.ts";
import { type BlockedOwner, newlyBlockedOwners } from "../domain/webhook/owner-references.ts";
import type { ServedKind } from "../kube/client/discovery.ts";
import type { AdmissionContext } from "./admission-context.ts";
import { isAllowed, type AdmissionStep, admitted, refused } from "./admission.ts";
import { scopeProblem } from "./scope-admission.ts";

/** Maximum number of owners: each one requires a SubjectAccessReview. */
const mostOwners = 16;

/** Admits blockOwnerDeletion only if the user may delete the owner (specification, Errors: 422). */
export const checkBlockOwnerDeletion: AdmissionStep = async (request, context) => {
  const owners = newlyBlockedOwners(request.object, request.oldObject);
  if (owners.length > mostOwners)
    return refused(
      422,
      `metadata.ownerReferences: has ${owners.length} entries with blockOwnerDeletion: true; ` +
        `must have at most ${mostOwners}`,
    );
  const pending = new Map<string, Promise<string | undefined>>();
  const problems = owners.map((owner) => {
    const same = JSON.stringify([owner.apiVersion, owner.kind, owner.name]);
    const problem = pending.get(same) ?? problemOf(owner, request, context);
    pending.set(same, problem);
    return problem;
  });
  const first = (await Promise.all(problems)).find((problem) => problem !== undefined);
  return first === undefined ? admitted(request) : refused(422, first);
};

async function problemOf(
  owner: BlockedOwner,
  request: AdmissionRequest,
  context: AdmissionContext,
): Promise<string | undefined> {
  const { kind, name, apiVersion } = owner;
  const field = `metadata.ownerReferences[${owner.index}].blockOwnerDeletion`;
  const needed = `${field}: requires the verb delete on ${kind} "${name}" of ${apiVersion}`;
  const served = await context.discovery.kindOf(apiVersion, kind);
  if (served === undefined)
    return (
      `${field}: the API server does not serve ${kind} of ${apiVersion}; correct apiVersion ` +
      "and kind, or omit blockOwnerDeletion"
    );
  const deletion = deletionOf(owner, served, request.namespace);
  const beyond = scopeProblem(request.user, deletion, context);
  if (beyond !== undefined) return `${needed}: ${beyond}`;
  const { verb, group, resource, namespace } = deletion;
  const namespaced = served.namespaced ? { namespace } : {};
  if (await isAllowed(request.user, { verb, group, resource, name, ...namespaced }, context))
    return undefined;
  return `${needed}; ask an administrator for that verb, or omit blockOwnerDeletion`;
}

function deletionOf(
  { name }: BlockedOwner,
  served: ServedKind,
  namespace: string,
): ReviewedResource {
  return {
    kind: "resource",
    verb: "delete",
    group: served.group,
    resource: served.plural,
    subresource: "",
    name,
    namespace: served.namespaced ? namespace : "",
  };
}
