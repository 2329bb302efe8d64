import { group } from "../../api/names.ts";
import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import type { ObservedRoleBinding, PolicyRule, Subject } from "../../api/role.ts";
import { quoted } from "../report-object.ts";

/** A user as RBAC knows it. */
export interface BoundUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/** The subjects of a binding that are the user or a group of it. */
export function subjectsOf(
  { subjects }: Pick<ObservedRoleBinding, "subjects">,
  { name, groups }: BoundUser,
): readonly Subject[] {
  return subjects.filter((subject) => {
    if (subject.kind === "Group") return groups.includes(subject.name);
    return subject.kind === "User"
      ? subject.name === name
      : `system:serviceaccount:${subject.namespace ?? ""}:${subject.name}` === name;
  });
}

const verbs = [
  [resources.ownedAccessKeys, "create"],
  [resources.ownedAccessKeys, "update"],
  [resources.endpointTokens, "create"],
] as const;

/**
 * What a ClusterRoleBinding lets a user do, given the rules of its role: make keys or tokens, or
 * enable disabled keys; undefined if nothing. No RoleBinding does: both kinds are cluster-scoped.
 */
export function explainBinding(
  binding: Pick<ObservedRoleBinding, "metadata" | "roleRef" | "subjects">,
  rules: readonly PolicyRule[],
  user: BoundUser,
): ReportItem | undefined {
  const subjects = subjectsOf(binding, user);
  const allowed = verbs.filter(([{ plural }, verb]) =>
    rules.some(
      (rule) =>
        rule.resourceNames.length === 0 &&
        has(rule.apiGroups, group) &&
        has(rule.resources, plural) &&
        has(rule.verbs, verb),
    ),
  );
  if (subjects.length === 0 || allowed.length === 0) return undefined;
  const { kind } = resources.clusterRoleBindings;
  const named = subjects.map((subject) => `${subject.kind} ${quoted(subject.name)}`).join(", ");
  const rights = allowed.map(([{ plural }, verb]) => `${verb} ${plural}`).join(", ");
  return {
    object: { kind, name: binding.metadata.name },
    state: "info",
    reason: "MayRequest",
    message:
      `It lets ${named} ${rights} by ClusterRole ${quoted(binding.roleRef.name)}; ` +
      "without this subject, the user makes no more by it.",
    causes: [],
  };
}

function has(list: readonly string[], word: string): boolean {
  return list.includes("*") || list.includes(word);
}
