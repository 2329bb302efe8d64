import { group } from "../../src/api/names.ts";
import type { Manifest } from "../../src/api/object.ts";
import {
  type ObservedRoleBinding,
  type GrantedObject,
  type GrantRole,
  parseRoleBinding,
  parseGrantRole,
} from "../../src/api/role.ts";
import { grantKey, requesterHash } from "../../src/domain/grants/granted-names.ts";
import {
  planRequesterGrant,
  type RequesterGrantPlan,
} from "../../src/domain/grants/requester-grant.ts";
import type { Write } from "../../src/domain/plan/plan.ts";

/** ClusterRoles and ClusterRoleBindings like in an API server, as far as grants require it. */
export class GrantModel {
  readonly roles = new Map<string, GrantRole>();
  readonly bindings = new Map<string, ObservedRoleBinding>();
  #version = 100;

  constructor(roles: readonly GrantRole[] = [], bindings: readonly ObservedRoleBinding[] = []) {
    for (const role of roles) this.roles.set(role.metadata.name, role);
    for (const binding of bindings) this.bindings.set(binding.metadata.name, binding);
  }

  /** The plan for the existing objects. */
  plan(requester: string, wanted: readonly GrantedObject[], known = true): RequesterGrantPlan {
    return planRequesterGrant({
      hash: requesterHash(requester),
      requester: known ? requester : undefined,
      wanted,
      roles: [...this.roles.values()],
      bindings: [...this.bindings.values()],
    });
  }

  /** Executes one write; throws if its preconditions do not hold. */
  apply(write: Write): void {
    if (write.do === "create" || write.do === "replace") this.#put(write.object, write.do);
    if (write.do === "delete") this.#remove(write);
  }

  /** Whether a name is currently granted to a user, by any role and binding. */
  grants(user: string, object: GrantedObject): boolean {
    const bound = [...this.bindings.values()].filter(({ subjects }) =>
      subjects.some(({ name }) => name === user),
    );
    return bound.some(({ roleRef }) =>
      (this.roles.get(roleRef.name)?.rules ?? []).some((rule) => opens(rule, object)),
    );
  }

  #put(object: Manifest, how: "create" | "replace"): void {
    const { name } = object.metadata;
    const isRole = object.kind === "ClusterRole";
    const standing = (isRole ? this.roles : this.bindings).get(name);
    if ((standing === undefined) !== (how === "create"))
      throw new Error(
        `${how} of ${object.kind} ${name}: it is ${standing === undefined ? "not there" : "there"}`,
      );
    if (how === "replace" && standing?.metadata.resourceVersion !== object.metadata.resourceVersion)
      throw new Error(`stale ${name}`);
    if (standing !== undefined && "aggregated" in standing && standing.aggregated)
      throw new Error(`aggregated ${name}`);
    this.#version += 1;
    const metadata = {
      uid: `u${this.#version}`,
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...object.metadata,
      resourceVersion: `${this.#version}`,
    };
    if (isRole) this.roles.set(name, parseGrantRole({ ...object, metadata }));
    else this.bindings.set(name, parseRoleBinding({ ...object, metadata }));
  }

  #remove({ resource, ref, uid, resourceVersion }: Extract<Write, { do: "delete" }>): void {
    const kept = resource.kind === "ClusterRole" ? this.roles : this.bindings;
    const standing = kept.get(ref.name);
    if (standing?.metadata.uid !== uid || standing.metadata.resourceVersion !== resourceVersion)
      throw new Error(`stale ${ref.name}`);
    kept.delete(ref.name);
  }
}

function opens(rule: GrantRole["rules"][number], object: GrantedObject): boolean {
  const key = grantKey(object);
  const [plural = "", name = ""] = key.split("/");
  return (
    rule.apiGroups.includes(group) &&
    rule.resources.includes(plural) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(name))
  );
}
