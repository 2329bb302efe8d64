import type { ReviewedResource } from "../api/access-review.ts";
import type { AdmissionRequest } from "../api/admission-review.ts";
import { type BlockedOwner, newlyBlockedOwners } from "../domain/webhook/owner-references.ts";
import type { Client } from "../kube/client/client.ts";
import type { Discovery, ServedKind } from "../kube/client/discovery.ts";
import { isAllowed, type AdmissionStep, admitted, refused } from "./admission.ts";
import { type ScopeAdmissionDeps, scopeProblem } from "./scope-admission.ts";

/** Dependencies of {@link checkBlockOwnerDeletion}. */
interface OwnerAdmissionDeps extends ScopeAdmissionDeps {
  readonly client: Pick<Client, "review">;
  readonly discovery: Pick<Discovery, "kindOf">;
}

/** Maximum number of owners: each one requires a SubjectAccessReview. */
const mostOwners = 16;

/** Admits blockOwnerDeletion only if the user may delete the owner (specification, Errors: 422). */
export function checkBlockOwnerDeletion(deps: OwnerAdmissionDeps): AdmissionStep {
  return async (request) => {
    const owners = newlyBlockedOwners(request.object, request.oldObject);
    if (owners.length > mostOwners)
      return refused(
        422,
        `metadata.ownerReferences: has ${owners.length} entries with blockOwnerDeletion: true; must have at most ${mostOwners}`,
      );
    const pending = new Map<string, Promise<string | undefined>>();
    const problems = owners.map((owner) => {
      const same = JSON.stringify([owner.apiVersion, owner.kind, owner.name]);
      const problem = pending.get(same) ?? problemOf(owner, request, deps);
      pending.set(same, problem);
      return problem;
    });
    const first = (await Promise.all(problems)).find((problem) => problem !== undefined);
    return first === undefined ? admitted(request) : refused(422, first);
  };
}

async function problemOf(
  owner: BlockedOwner,
  request: AdmissionRequest,
  deps: OwnerAdmissionDeps,
): Promise<string | undefined> {
  const field = `metadata.ownerReferences[${owner.index}].blockOwnerDeletion`;
  const needed = `${field}: requires the verb delete on ${owner.kind} "${owner.name}" of ${owner.apiVersion}`;
  const served = await deps.discovery.kindOf(owner.apiVersion, owner.kind);
  if (served === undefined)
    return `${field}: the API server does not serve ${owner.kind} of ${owner.apiVersion}; correct apiVersion and kind, or omit blockOwnerDeletion`;
  const beyond = scopeProblem(request.user, deletionOf(owner, served, request.namespace), deps);
  if (beyond !== undefined) return `${needed}: ${beyond}`;
  if (await mayDelete(owner, { served, request, client: deps.client })) return undefined;
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

function mayDelete(
  { name }: BlockedOwner,
  {
    served,
    request,
    client,
  }: {
    readonly served: ServedKind;
    readonly request: AdmissionRequest;
    readonly client: Pick<Client, "review">;
  },
): Promise<boolean> {
  const namespace = served.namespaced ? { namespace: request.namespace } : {};
  return isAllowed(
    request.user,
    { verb: "delete", group: served.group, resource: served.plural, name, ...namespace },
    client,
  );
}
