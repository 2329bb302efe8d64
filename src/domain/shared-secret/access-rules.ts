import type { ReportItem } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import type { Subject } from "../../api/role.ts";
import type { AccessRule, Owner, SharedSecret } from "../../api/shared-secret.ts";
import type { Prefixes } from "../access-key/key-identity.ts";
import { quoted, reportObject } from "../report-object.ts";

/**
 * The permission of one Role on its SharedSecret: sorted verbs, and whether they include the status
 * subresource.
 */
export interface Permission {
  readonly verbs: readonly string[];
  readonly status: boolean;
  /** Whether they include the copy with the data of the Secret that the SharedSecret follows. */
  readonly data?: true;
}

/** One access rule in terms of RBAC. */
export interface Grant {
  readonly permission: Permission;
  readonly subjects: readonly Subject[];
  /** The rule's name, or `owner`, for people. */
  readonly label?: string;
}

/** The access of a SharedSecret; each problem names the field and the fix. */
interface Access {
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
 * Maximum number of rules, and of users and teams of all rules together: every reconcile reads them
 * all.
 */
const accessBounds = { rules: 256, subjects: 2_000 } as const;

const rbacGroup = resources.roles.group;

/**
 * Returns the grants of the owner and the access rules. An invalid rule grants nothing; the other
 * rules are still applied.
 */
export function accessOf(
  secret: Pick<SharedSecret, "owner" | "access">,
  prefixes: Prefixes,
): Access {
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
      `spec.access: has ${secret.access.length} rules; ` +
        `must have at most ${accessBounds.rules}; the other rules are not granted`,
    );
  return { grants, problems, emptyRules };
}

function tooManySubjects(index: number, subjects: number): string {
  return (
    `spec.access[${index}]: this rule and the rules before it name ${subjects} users and teams; ` +
    `must be at most ${accessBounds.subjects}; ` +
    "this rule and the rules after it are not granted. Name teams instead of users"
  );
}

interface Reading {
  readonly grant?: Grant;
  readonly problem?: string;
  /** Path and name of the rule, for messages; undefined for the owner. */
  readonly place?: string;
}

function readOwner(owner: Owner, prefixes: Prefixes): Reading {
  const named = readSubjects([
    ...(owner.user === undefined ? [] : [userSubject("spec.owner.user", owner.user, prefixes)]),
    ...(owner.team === undefined ? [] : [teamSubject("spec.owner.team", owner.team, prefixes)]),
  ]);
  if (named.problem !== undefined) return { problem: named.problem };
  return {
    grant: {
      permission: { verbs: grantableVerbs, status: true },
      subjects: named.subjects,
      label: "owner",
    },
  };
}

function readRule(rule: AccessRule, index: number, prefixes: Prefixes): Reading {
  const path = `spec.access[${index}]`;
  const named = readSubjects([
    ...rule.users.map((user, at) => userSubject(`${path}.users[${at}]`, user, prefixes)),
    ...rule.teams.map((team, at) => teamSubject(`${path}.teams[${at}]`, team, prefixes)),
  ]);
  const problem = verbProblem(path, rule) ?? subresourceProblem(path, rule) ?? named.problem;
  if (problem !== undefined) return { problem };
  const place = rule.name === undefined ? path : `${path} (${quoted(rule.name)})`;
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

function verbProblem(path: string, { verbs }: AccessRule): string | undefined {
  const known: readonly string[] = [...grantableVerbs, "*"];
  if (verbs.length === 0) return `${path}.verbs: must not be empty; use ${known.join(", ")}`;
  const index = verbs.findIndex((verb) => !known.includes(verb));
  const bad = verbs[index];
  if (bad === undefined) return undefined;
  const why =
    bad === "create" || bad === "deletecollection"
      ? " because RBAC cannot limit it to one object"
      : "";
  return (
    `${path}.verbs[${index}]: ${quoted(bad)} is not supported${why}; ` +
    `must be one of ${known.join(", ")}`
  );
}

function subresourceProblem(path: string, { subresources }: AccessRule): string | undefined {
  const index = subresources.findIndex((name) => name !== "status" && name !== "*");
  const bad = subresources[index];
  return bad === undefined
    ? undefined
    : `${path}.subresources[${index}]: ${quoted(bad)} is not supported; must be status or *`;
}

function readSubjects(read: readonly (Subject | string)[]): {
  readonly subjects: readonly Subject[];
  readonly problem?: string;
} {
  const problem = read.find((entry) => typeof entry === "string");
  if (typeof problem === "string") return { subjects: [], problem };
  return { subjects: distinct(read.filter((entry) => typeof entry !== "string")) };
}

function userSubject(path: string, user: string, prefixes: Prefixes): Subject | string {
  return serviceAccount(user) ?? principal("User", { prefix: prefixes.user, path, written: user });
}

function teamSubject(path: string, team: string, prefixes: Prefixes): Subject | string {
  return principal("Group", { prefix: prefixes.team, path, written: team });
}

const serviceAccountUser = /^system:serviceaccount:([^:]*):([^:]*)$/;
const dnsLabel = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const namespaceForm = new RegExp(`^${dnsLabel}$`);
const accountForm = new RegExp(`^${dnsLabel}(?:\\.${dnsLabel})*$`);
const longestNamespace = 63;
const longestAccount = 253;

/**
 * Parses the username of a ServiceAccount; undefined if its names are invalid, because the API
 * server rejects the whole binding for an invalid name.
 */
function serviceAccount(user: string): Subject | undefined {
  const [, namespace = "", name = ""] = serviceAccountUser.exec(user) ?? [];
  if (!namespaceForm.test(namespace) || namespace.length > longestNamespace) return undefined;
  if (!accountForm.test(name) || name.length > longestAccount) return undefined;
  return { kind: "ServiceAccount", namespace, name };
}

function principal(
  kind: "User" | "Group",
  { prefix, path, written }: Readonly<Record<"prefix" | "path" | "written", string>>,
): Subject | string {
  if (written === "") return `${path}: must not be empty`;
  if (written === "*") return { kind: "Group", apiGroup: rbacGroup, name: "system:authenticated" };
  const name = prefix + written;
  if (written.startsWith("system:") || name.startsWith("system:")) {
    const allowed = kind === "User" ? " except system:serviceaccount:<namespace>:<name>" : "";
    return (
      `${path}: ${quoted(written)} is not supported: names that begin with "system:" are ` +
      `reserved for Kubernetes${allowed}; name another ${kind === "User" ? "user" : "team"}`
    );
  }
  return { kind, apiGroup: rbacGroup, name };
}

/** The identity of a subject: kind, namespace and name. */
export function subjectKey(subject: Subject): string {
  return [subject.kind, subject.namespace ?? "", subject.name].join("/");
}

/** Returns each subject once, sorted by kind, namespace and name. */
export function distinct(subjects: readonly Subject[]): readonly Subject[] {
  const byKey = new Map(subjects.map((subject) => [subjectKey(subject), subject]));
  return [...byKey.entries()]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, subject]) => subject);
}

/** The access rules of a SharedSecret that grant nothing, and the fields that decide. */
export function explainAccess(secret: SharedSecret, prefixes: Prefixes): readonly ReportItem[] {
  const object = reportObject(resources.sharedSecrets.kind, secret.metadata);
  const { problems, emptyRules } = accessOf(secret, prefixes);
  return [
    ...problems.map((problem): ReportItem => {
      // Every problem begins with the path of its field.
      const [field] = problem.split(": ", 1);
      const reason = "InvalidAccessRule";
      const causes = [{ object, field, reason, message: "Correct the access rule." }];
      return { object, state: "problem", reason, message: `${problem}.`, causes };
    }),
    ...emptyRules.map((place): ReportItem => {
      const [field] = place.split(" ", 1);
      const reason = "EmptyAccessRule";
      const message = `${place} names no users and no teams, so it grants nothing.`;
      const fix = "Name users or teams, or remove the rule.";
      return {
        object,
        state: "info",
        reason,
        message,
        causes: [{ object, field, reason, message: fix }],
      };
    }),
  ];
}
