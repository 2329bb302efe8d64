import { labels } from "../../src/api/names.ts";
import { listAt, parseMetadata } from "../../src/api/parse.ts";
import {
  parseRole,
  parseRoleBinding,
  type ObservedRoleBinding,
  type ObservedRole,
} from "../../src/api/role.ts";
import { api } from "../support/policy-request.ts";
import { rbacPath, type Place } from "../support/shared-secret-requests.ts";

/** The objects derived from SharedSecrets in a namespace. */
export interface Derived {
  readonly roles: readonly ObservedRole[];
  readonly bindings: readonly ObservedRoleBinding[];
}

/** The Roles and RoleBindings of a namespace with the name prefix of derived ones. */
export async function derivedIn(namespace: string): Promise<Derived> {
  const items = async (plural: "roles" | "rolebindings") => {
    const list = await api.get(rbacPath(plural, namespace));
    return listAt(list, "items").filter((item) => parseMetadata(item).name.startsWith("latchkey-"));
  };
  return {
    roles: (await items("roles")).map(parseRole),
    bindings: (await items("rolebindings")).map(parseRoleBinding),
  };
}

/**
 * The grants of a SharedSecret as text: the subjects of each binding and the rules of its Role,
 * sorted.
 */
export async function grantsOf({ namespace, name, uid }: Place): Promise<readonly string[]> {
  const { roles, bindings } = await derivedIn(namespace);
  const sentences = bindings.map(({ metadata, roleRef, subjects }) => {
    const role = roles.find((entry) => entry.metadata.name === roleRef.name);
    const marked = [metadata, role?.metadata].every(
      (entry) => entry?.labels[labels.sourceUid] === uid,
    )
      ? ""
      : " (unmarked)";
    const rules = role?.rules.map(({ verbs, resources, resourceNames }) => {
      return `${verbs.join(" ")} ${resources.join(" ")}${resourceNames.join() === name ? "" : ` of ${resourceNames.join()}`}`;
    });
    return `${subjects.map((subject) => subject.name).join(" ")}: ${rules?.join("; ") ?? "no Role"}${marked}`;
  });
  const bare = roles
    .filter((role) => !bindings.some(({ roleRef }) => roleRef.name === role.metadata.name))
    .map(() => "nobody");
  return [...sentences, ...bare].sort();
}
