import { isRecord, numberAt, ownValue, stringAt } from "../api/parse.ts";
import { readingBounds } from "../api/reading-bounds.ts";
import { parseRule, type PolicyRule } from "../api/role.ts";
import type { PublishedRole, PublishedRoles } from "../domain/scope/published-roles.ts";
import type { ScopeRoles } from "../domain/scope/scope-roles.ts";
import {
  type ListVerificationOptions,
  signedListProblems,
  signList,
  verifyList,
} from "./signed-list.ts";
import type { ObservedSigningKeys } from "./signing-keys.ts";

/** What is signed; `now` in milliseconds since the epoch. */
interface RolesListOptions {
  readonly issuer: string;
  readonly now: number;
  /** 32 hex digits, others for each content and each signing key. */
  readonly version: string;
  readonly published: PublishedRoles;
}

/** A verified list of roles. */
export interface RolesList {
  readonly version: string;
  /** When it was signed, in milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly roles: ScopeRoles;
  /** Number of roles that the issuer left out, because they are too large. */
  readonly omitted: number;
}

/** Why a list of roles is refused; a closed set for metrics. */
export const rolesListProblems = [...signedListProblems, "roles"] as const;

/** The list, or why it is refused. */
type RolesListVerification =
  | { readonly ok: true; readonly list: RolesList }
  | { readonly ok: false; readonly reason: (typeof rolesListProblems)[number] };

const typ = "latchkey-roles+jwt";

const ruleFields = ["apiGroups", "resources", "resourceNames", "verbs", "nonResourceURLs"] as const;

/** Whether this is the version of a list of roles. */
export function isRolesVersion(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text);
}

/** Signs the list of roles as a JWT with the current signing key. */
export function signRolesList(
  { issuer, now, version, published }: RolesListOptions,
  keys: Pick<ObservedSigningKeys, "signing">,
): Promise<string> {
  const { roles, omitted } = published;
  const claims = { version, roles: roles.map(writtenRole), omitted: omitted.length };
  return signList({ typ, issuer, now, claims }, keys);
}

/** Verifies a list of {@link signRolesList}; `now` does not matter. */
export async function verifyRolesList(
  text: string,
  { keys, issuer }: ListVerificationOptions,
): Promise<RolesListVerification> {
  const verified = await verifyList(text, {
    typ,
    mostCharacters: readingBounds.issuerRoles.bytes,
    keys,
    issuer,
  });
  if (!verified.ok) return verified;
  const { payload, issuedAt } = verified;
  const [version = "", omitted = -1] = [stringAt(payload, "version"), numberAt(payload, "omitted")];
  if (!isRolesVersion(version) || !Number.isInteger(omitted) || omitted < 0)
    return { ok: false, reason: "claims" };
  const roles = readRoles(ownValue(payload, "roles"));
  return roles === undefined
    ? { ok: false, reason: "roles" }
    : { ok: true, list: { version, issuedAt, roles, omitted } };
}

/** Without empty lists. */
function writtenRole({ role, rules }: PublishedRole): object {
  const written = rules.map((rule) =>
    Object.fromEntries(
      ruleFields.filter((name) => rule[name].length > 0).map((name) => [name, rule[name]]),
    ),
  );
  return { role, rules: written };
}

/** The roles by name; undefined if any part is invalid, or has a field that might restrict. */
function readRoles(raw: unknown): ScopeRoles | undefined {
  if (!Array.isArray(raw)) return undefined;
  const roles = new Map<string, readonly PolicyRule[]>();
  for (const entry of raw) {
    const [role, rules] = [
      stringAt(entry, "role"),
      isRecord(entry) ? ownValue(entry, "rules") : [],
    ];
    if (role === undefined || roles.has(role) || !Array.isArray(rules)) return undefined;
    const read = rules.map(readRule).filter((rule) => rule !== undefined);
    if (read.length < rules.length) return undefined;
    roles.set(role, read);
  }
  return roles;
}

function readRule(raw: unknown): PolicyRule | undefined {
  if (!isRecord(raw)) return undefined;
  const names: readonly string[] = ruleFields;
  const fields = Object.entries(raw);
  const isValid = fields.every(
    ([name, list]: [string, unknown]) =>
      names.includes(name) &&
      Array.isArray(list) &&
      list.every((text: unknown) => typeof text === "string"),
  );
  return isValid ? parseRule(raw) : undefined;
}
