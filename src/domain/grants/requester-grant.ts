import type { GrantedObject, GrantRole, ObservedRoleBinding } from "../../api/role.ts";
import { resources } from "../../api/resources.ts";
import { isSame } from "../plan/merge-patch.ts";
import { type Plan, deleteWrite, type Write } from "../plan/plan.ts";
import { isSystemName } from "../requester/requester.ts";
import {
  type GrantChunk,
  isMarkedFor,
  chunkBinding,
  chunkName,
  chunkNumber,
  chunkRole,
  chunkRules,
} from "./grant-manifest.ts";
import {
  grantKey,
  isGrantBinding,
  isGrantOf,
  isGrantRule,
  grantedNames,
  namesInForce,
} from "./granted-names.ts";

/** The observed objects and grants of one requester. */
interface ObservedRequesterGrants {
  /** {@link requesterHash} of the requester. */
  readonly hash: string;
  /** Undefined if the requester of the hash is unknown: its roles and bindings are orphaned. */
  readonly requester: string | undefined;
  /**
   * The requester's objects with the cleanup finalizer; of those being deleted, the ones whose
   * grant is still kept.
   */
  readonly wanted: readonly GrantedObject[];
  /**
   * Roles and bindings with the hash in their names; those without Latchkey's label are unmanaged.
   */
  readonly roles: readonly GrantRole[];
  readonly bindings: readonly ObservedRoleBinding[];
}

/** A plan, and the names of unmanaged roles and bindings, whose chunks are not used. */
export interface RequesterGrantPlan extends Plan {
  readonly conflicts: readonly string[];
}

/**
 * Plans the roles and bindings that let a requester read and delete its own objects, and restrict
 * its keys, by name (kubectl lists before it watches). Revokes before it grants: bindings and roles
 * that grant too much first, new names last, a role before its binding. A role that loses and gains
 * names is written once, after the roles that only lose names.
 */
export function planRequesterGrant(observed: ObservedRequesterGrants): RequesterGrantPlan {
  const unmanaged = [...observed.roles, ...observed.bindings].filter(
    (entry) => !isGrantOf(observed.hash, entry),
  );
  const conflicts = [...new Set(unmanaged.map(({ metadata }) => metadata.name))].sort();
  const roles = observed.roles.filter((role) => isGrantOf(observed.hash, role));
  const bindings = observed.bindings.filter((binding) => isGrantOf(observed.hash, binding));
  const chunks = wantedChunks(observed, roles, conflicts);
  const [losing, trading, gaining] = roleWrites(chunks, roles);
  const sound = bindings.filter((binding) => isSound(chunks.get(binding.metadata.name), binding));
  const steps = [
    [
      ...bindings
        .filter((binding) => !sound.includes(binding))
        .map((binding) => deleteWrite(resources.clusterRoleBindings, binding)),
      ...losing,
    ],
    trading,
    roles
      .filter(({ metadata }) => !chunks.has(metadata.name))
      .map((role) => deleteWrite(resources.clusterRoles, role)),
    gaining,
    missingBindings(chunks, sound),
  ];
  return {
    steps: steps.filter((step) => step.length > 0),
    result: { kind: "done" },
    conflicts,
  };
}

type Chunks = ReadonlyMap<string, GrantChunk>;

function wantedChunks(
  { hash, requester, wanted }: ObservedRequesterGrants,
  roles: readonly GrantRole[],
  conflicts: readonly string[],
): Chunks {
  if (requester === undefined || isSystemName(requester)) return new Map();
  const numbered = roles.map((role) => ({
    number: chunkNumber(hash, role.metadata.name),
    names: grantedNames(role),
  }));
  const placed = assignNames({
    existing: new Map(
      numbered.flatMap(({ number, names }) => (number === undefined ? [] : [[number, names]])),
    ),
    wanted: wanted.map(grantKey),
    blocked: new Set(conflicts.flatMap((name) => chunkNumber(hash, name) ?? [])),
  });
  return new Map(
    [...placed].map(([number, names]) => [
      chunkName(hash, number),
      { hash, requester, number, names },
    ]),
  );
}

/** Writes of roles that only lose names, that lose and gain, and that only gain. */
function roleWrites(
  chunks: Chunks,
  roles: readonly GrantRole[],
): readonly [Write[], Write[], Write[]] {
  const losing: Write[] = [];
  const trading: Write[] = [];
  const gaining: Write[] = [];
  const resource = resources.clusterRoles;
  const byName = new Map(roles.map((role) => [role.metadata.name, role]));
  for (const [name, chunk] of chunks) {
    const role = byName.get(name);
    if (role === undefined) {
      gaining.push({ do: "create", resource, object: chunkRole(chunk) });
    } else if (role.aggregated) {
      // RBAC lets only a user with all permissions change a role that has an aggregation rule, even
      // to remove the rule.
      losing.push(deleteWrite(resource, role));
      gaining.push({ do: "create", resource, object: chunkRole(chunk) });
    } else if (!isAsWanted(chunk, role)) {
      const step = !grantsTooMuch(chunk, role)
        ? gaining
        : grantsTooLittle(chunk, role)
          ? trading
          : losing;
      const object = chunkRole(chunk, role);
      step.push({ do: "replace", resource, object, isRemoval: step !== gaining });
    }
  }
  return [losing, trading, gaining];
}

function missingBindings(chunks: Chunks, sound: readonly ObservedRoleBinding[]): readonly Write[] {
  const bound = new Set(sound.map(({ metadata }) => metadata.name));
  const missing = [...chunks].filter(([name]) => !bound.has(name));
  return missing.map(([, chunk]) => ({
    do: "create",
    resource: resources.clusterRoleBindings,
    object: chunkBinding(chunk),
  }));
}

function isAsWanted(chunk: GrantChunk, { metadata, rules, aggregated }: GrantRole): boolean {
  const written = chunkRules(chunk.names).map((rule) => ({ ...rule, nonResourceURLs: [] }));
  return !aggregated && isMarkedFor(chunk, metadata) && isSame(rules, written);
}

function grantsTooMuch({ names }: GrantChunk, role: GrantRole): boolean {
  return !role.rules.every(isGrantRule) || grantedNames(role).some((name) => !names.has(name));
}

function grantsTooLittle({ names }: GrantChunk, role: GrantRole): boolean {
  const inForce = new Set(namesInForce(role));
  return [...names].some((name) => !inForce.has(name));
}

function isSound(chunk: GrantChunk | undefined, binding: ObservedRoleBinding): boolean {
  return (
    chunk !== undefined &&
    isMarkedFor(chunk, binding.metadata) &&
    isGrantBinding(binding, chunk.requester)
  );
}

/** Maximum number of objects that a ClusterRole names. */
const chunkSize = 500;

/** The existing names of each chunk, by chunk number, and all names to assign. */
interface Assignment {
  readonly existing: ReadonlyMap<number, readonly string[]>;
  readonly wanted: Iterable<string>;
  /** Numbers that cannot be used. */
  readonly blocked: ReadonlySet<number>;
}

/**
 * Assigns names to chunks: a name stays in the lowest chunk that has it; new names fill the free
 * space, lowest chunk first. Empty chunks are omitted.
 */
function assignNames({
  existing,
  wanted,
  blocked,
}: Assignment): ReadonlyMap<number, ReadonlySet<string>> {
  const remaining = new Set(wanted);
  const chunks = new Map<number, Set<string>>();
  for (const [number, names] of [...existing].sort(([one], [other]) => one - other)) {
    if (!blocked.has(number)) chunks.set(number, takeOut(remaining, names));
  }
  for (let number = 0; remaining.size > 0; number += 1) {
    if (blocked.has(number)) continue;
    const chunk = chunks.get(number) ?? new Set();
    chunks.set(number, fill(chunk, remaining));
  }
  return new Map([...chunks].filter(([, names]) => names.size > 0));
}

function takeOut(remaining: Set<string>, names: readonly string[]): Set<string> {
  const kept = new Set<string>();
  for (const name of names) {
    if (kept.size < chunkSize && remaining.delete(name)) kept.add(name);
  }
  return kept;
}

function fill(chunk: Set<string>, remaining: Set<string>): Set<string> {
  for (const name of remaining) {
    if (chunk.size >= chunkSize) break;
    chunk.add(name);
    remaining.delete(name);
  }
  return chunk;
}
