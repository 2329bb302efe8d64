import type { AccessRule, Owner, SharedSecret } from "../../api/shared-secret.ts";
import type { Subject } from "../../api/role.ts";

/**
 * What one Role permits on its SharedSecret: sorted verbs, and whether they cover its status too.
 */
export interface Permission {
  readonly verbs: readonly string[];
  readonly status: boolean;
}

/** One access rule as RBAC understands it. */
export interface Grant {
  readonly permission: Permission;
  readonly subjects: readonly Subject[];
  /** The rule's name, or `owner`, for people. */
  readonly label?: string;
}

/** How user and team names of a SharedSecret read in RBAC. */
export interface Prefixes {
  readonly user: string;
  readonly team: string;
}

/** The access of a SharedSecret; each problem names the rule and what to write instead. */
export interface Access {
  readonly grants: readonly Grant[];
  readonly problems: readonly string[];
  /** Rules that grant nothing because they name no users and no teams. */
  readonly emptyRules: readonly string[];
}

/**
 * The verbs that RBAC can limit to one object by name; `*` means exactly these (Kubernetes RBAC,
 * resourceNames).
 */
export const grantableVerbs = ["delete", "get", "list", "patch", "update", "watch"] as const;

/**
 * Rules, and users and teams of all rules together, that are granted: each is read again at every
 * reconcile.
 */
export const accessBounds = { rules: 256, subjects: 2_000 } as const;

const rbacGroup = "rbac.authorization.k8s.io";

/**
 * What the owner and the access rules grant. A rule with any mistake grants nothing; the others are
 * not held up.
 */
export function accessOf(secret: SharedSecret, prefixes: Prefixes): Access {
  const grants: Grant[] = [];
  const problems: string[] = [];
  const emptyRules: string[] = [];
  const take = ({ grant, problem, place }: Reading): void => {
    if (problem !== undefined) problems.push(problem);
    else if (grant !== undefined && grant.subjects.length > 0) grants.push(grant);
    else if (place !== undefined) emptyRules.push(place);
  };
  take(readOwner(secret.owner, prefixes));
  let subjects = 0;
  for (const [index, rule] of secret.access.slice(0, accessBounds.rules).entries()) {
    subjects += rule.users.length + rule.teams.length;
    take(
      subjects > accessBounds.subjects
        ? { problem: tooManySubjects(index, subjects) }
        : readRule(rule, index, prefixes),
    );
    if (subjects > accessBounds.subjects) return { grants, problems, emptyRules };
  }
  if (secret.access.length > accessBounds.rules)
    problems.push(
      `spec.access: has ${secret.access.length} rules; must have at most ${accessBounds.rules}, and the others are not granted`,
    );
  return { grants, problems, emptyRules };
}

function tooManySubjects(index: number, subjects: number): string {
  return `spec.access[${index}]: the rules up to this one name ${subjects} users and teams; must be at most ${accessBounds.subjects}, and this rule and those after it are not granted; name teams in place of users`;
}

interface Reading {
  readonly grant?: Grant;
  readonly problem?: string;
  /** Which rule it is, for people; the owner is none. */
  readonly place?: string;
}

function readOwner(owner: Owner, prefixes: Prefixes): Reading {
  const users = owner.user === undefined ? [] : [owner.user];
  const teams = owner.team === undefined ? [] : [owner.team];
  const named = readSubjects({ users, teams }, prefixes);
  if (named.problem !== undefined) return { problem: `spec.owner: ${named.problem}` };
  return {
    grant: {
      permission: { verbs: grantableVerbs, status: true },
      subjects: named.subjects,
      label: "owner",
    },
  };
}

function readRule(rule: AccessRule, index: number, prefixes: Prefixes): Reading {
  const named = readSubjects(rule, prefixes);
  const problem = verbProblem(rule) ?? subresourceProblem(rule) ?? named.problem;
  const place =
    rule.name === undefined
      ? `spec.access[${index}]`
      : `spec.access[${index}] (${quote(rule.name)})`;
  if (problem !== undefined) return { problem: `${place}: ${problem}` };
  const permission = { verbs: verbsOf(rule), status: rule.subresources.length > 0 };
  return {
    place,
    grant: {
      permission,
      subjects: named.subjects,
      ...(rule.name === undefined ? {} : { label: rule.name }),
    },
  };
}

function verbsOf(rule: AccessRule): readonly string[] {
  if (rule.verbs.includes("*")) return grantableVerbs;
  return [...new Set(rule.verbs)].sort();
}

function verbProblem({ verbs }: AccessRule): string | undefined {
  const known: readonly string[] = [...grantableVerbs, "*"];
  if (verbs.length === 0) return `verbs is empty; name some of ${known.join(", ")}`;
  const bad = verbs.find((verb) => !known.includes(verb));
  if (bad === undefined) return undefined;
  const why =
    bad === "create" || bad === "deletecollection"
      ? "cannot be limited to one object"
      : "is no verb";
  return `verb ${quote(bad)} ${why}; use some of ${known.join(", ")}`;
}

function subresourceProblem({ subresources }: AccessRule): string | undefined {
  const bad = subresources.find((name) => name !== "status" && name !== "*");
  return bad === undefined
    ? undefined
    : `subresource ${quote(bad)} does not exist; use status or *`;
}

function readSubjects(
  { users, teams }: Pick<AccessRule, "users" | "teams">,
  prefixes: Prefixes,
): { readonly subjects: readonly Subject[]; readonly problem?: string } {
  const read = [
    ...users.map((user) => serviceAccount(user) ?? principal("User", user, prefixes.user)),
    ...teams.map((team) => principal("Group", team, prefixes.team)),
  ];
  const problem = read.find((entry) => typeof entry === "string");
  if (typeof problem === "string") return { subjects: [], problem };
  return { subjects: distinct(read.filter((entry) => typeof entry !== "string")) };
}

const serviceAccountUser = /^system:serviceaccount:([^:]*):([^:]*)$/;
const dnsLabel = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const namespaceForm = new RegExp(`^${dnsLabel}$`);
const accountForm = new RegExp(`^${dnsLabel}(?:\\.${dnsLabel})*$`);
const longestNamespace = 63;
const longestAccount = 253;

/**
 * Undefined for what no ServiceAccount can be called: the API server refuses the whole binding for
 * it.
 */
function serviceAccount(user: string): Subject | undefined {
  const [, namespace = "", name = ""] = serviceAccountUser.exec(user) ?? [];
  if (!namespaceForm.test(namespace) || namespace.length > longestNamespace) return undefined;
  if (!accountForm.test(name) || name.length > longestAccount) return undefined;
  return { kind: "ServiceAccount", namespace, name };
}

function principal(kind: "User" | "Group", written: string, prefix: string): Subject | string {
  const field = kind === "User" ? "user" : "team";
  if (written === "") return `a ${field} has an empty name; take it out`;
  if (written === "*") return { kind: "Group", apiGroup: rbacGroup, name: "system:authenticated" };
  const name = prefix + written;
  if (written.startsWith("system:") || name.startsWith("system:")) {
    return `${field} ${quote(written)} begins with system:, which only system:serviceaccount:<namespace>:<name> in users may; name a user or team`;
  }
  return { kind, apiGroup: rbacGroup, name };
}

/** What tells one subject from another. */
export function subjectKey(subject: Subject): string {
  return [subject.kind, subject.namespace ?? "", subject.name].join("/");
}

/** Each subject once, in a settled order. */
export function distinct(subjects: readonly Subject[]): readonly Subject[] {
  const byKey = new Map(subjects.map((subject) => [subjectKey(subject), subject]));
  return [...byKey.entries()]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, subject]) => subject);
}

const longestQuote = 64;

function quote(text: string): string {
  return JSON.stringify(text.length <= longestQuote ? text : `${text.slice(0, longestQuote)}...`);
}
