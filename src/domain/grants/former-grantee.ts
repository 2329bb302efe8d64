import { group } from "../../api/names.ts";
import type { ObjectRef } from "../../api/object.ts";
import { type Resource, resources } from "../../api/resources.ts";
import type { Subject } from "../../api/role.ts";

/** A subject that a binding of Latchkey granted access, and one of the granted verbs. */
export interface FormerGrantee extends GrantedVerb {
  /** What the RBAC authorizer's reason contains if this binding allowed the request. */
  readonly allowedBy: string;
}

/** A subject, and a verb that it was granted. */
interface GrantedVerb {
  readonly subject: Subject;
  readonly verb: string;
}

/** A grantee of a RoleBinding of this name. */
export function granteeOfRoleBinding(
  { namespace = "", name }: ObjectRef,
  granted: GrantedVerb,
): FormerGrantee {
  return {
    ...granted,
    allowedBy: `allowed by ${resources.roleBindings.kind} "${name}/${namespace}" `,
  };
}

/** A grantee of any ClusterRoleBinding with this name prefix. */
export function granteeOfClusterRoleBinding(prefix: string, granted: GrantedVerb): FormerGrantee {
  return { ...granted, allowedBy: `allowed by ${resources.clusterRoleBindings.kind} "${prefix}` };
}

/**
 * The spec of a SubjectAccessReview that checks the access of a grantee (Kubernetes API reference,
 * SubjectAccessReviewSpec).
 */
export function reviewSpec(
  { subject, verb }: FormerGrantee,
  resource: Resource,
  { namespace, name }: ObjectRef,
): Readonly<Record<string, unknown>> {
  const resourceAttributes = {
    group,
    resource: resource.plural,
    verb,
    name,
    ...(namespace === undefined ? {} : { namespace }),
  };
  if (subject.kind === "Group") return { groups: [subject.name], resourceAttributes };
  const isAccount = subject.kind === "ServiceAccount";
  return {
    user: isAccount
      ? `system:serviceaccount:${subject.namespace ?? ""}:${subject.name}`
      : subject.name,
    resourceAttributes,
  };
}

/**
 * Whether a response says that Latchkey's binding still grants access; access by other bindings
 * does not count.
 */
export function isHonoured(
  { allowedBy }: FormerGrantee,
  { allowed, reason }: { readonly allowed: boolean; readonly reason: string },
): boolean {
  return allowed && reason.includes(allowedBy);
}
