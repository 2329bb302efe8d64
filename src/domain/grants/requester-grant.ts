import type { GrantBinding, GrantedObject, GrantRole } from "../../api/requester-grant.ts";
import { resources } from "../../api/resources.ts";
import {
  type GrantChunk,
  isMarkedFor,
  chunkBinding,
  chunkName,
  chunkNumber,
  chunkRole,
  chunkRules,
} from "./grant-manifest.ts";
import { assignNames } from "./grant-chunks.ts";
import {
  grantKey,
  isGrantBinding,
  isGrantOf,
  isGrantRule,
  grantedNames,
  namesInForce,
} from "./granted-names.ts";
import { isSame } from "../plan/merge-patch.ts";
import { type Plan, deleteWrite, type Write } from "../plan/plan.ts";
import { isSystemName } from "../requester/requester.ts";

/** What is there for one requester. */
export interface ObservedRequesterGrants {
  /** {@link requesterHash} of the requester. */
  readonly hash: string;
  /** Undefined: nobody is known for the hash, what carries it is left over. */
  readonly requester: string | undefined;
  /**
   * The requester's objects that hold the cleanup finalizer; of those that are being deleted, the
   * ones whose grant still stays.
   */
  readonly wanted: readonly GrantedObject[];
  /**
   * Roles and bindings with the hash in their names; those without Latchkey's label are strangers.
   */
  readonly roles: readonly GrantRole[];
  readonly bindings: readonly GrantBinding[];
}

/**
 * A plan, and the names of roles and bindings that somebody else holds: their shards are not used.
 */
export interface RequesterGrantPlan extends Plan {
  readonly conflicts: readonly string[];
}

/**
 * Lets the requester get, list, watch and delete its own objects, by name (kubectl lists before it
 * watches). Takes away before it gives: bindings and roles that grant too much first, new names
 * last, a role before its binding. A role that loses and gains names does so in one write, after
 * those that only lose some.
 */
export function planRequesterGrant(seen: ObservedRequesterGrants): RequesterGrantPlan {
  const strangers = [...seen.roles, ...seen.bindings].filter(
    (entry) => !isGrantOf(seen.hash, entry),
  );
  const conflicts = [...new Set(strangers.map(({ metadata }) => metadata.name))].sort();
  const roles = seen.roles.filter((role) => isGrantOf(seen.hash, role));
  const bindings = seen.bindings.filter((binding) => isGrantOf(seen.hash, binding));
  const shards = wantedShards(seen, roles, conflicts);
  const [losing, trading, gaining] = roleWrites(shards, roles);
  const sound = bindings.filter((binding) => isSound(shards.get(binding.metadata.name), binding));
  const steps = [
    [
      ...bindings
        .filter((binding) => !sound.includes(binding))
        .map((binding) => deleteWrite(resources.clusterRoleBindings, binding)),
      ...losing,
    ],
    trading,
    roles
      .filter(({ metadata }) => !shards.has(metadata.name))
      .map((role) => deleteWrite(resources.clusterRoles, role)),
    gaining,
    missingBindings(shards, sound),
  ];
  return {
    steps: steps.filter((step) => step.length > 0),
    result: { kind: "done" },
    conflicts,
  };
}

type Shards = ReadonlyMap<string, GrantChunk>;

function wantedShards(
  { hash, requester, wanted }: ObservedRequesterGrants,
  roles: readonly GrantRole[],
  conflicts: readonly string[],
): Shards {
  if (requester === undefined || isSystemName(requester)) return new Map();
  const numbered = roles.map((role) => ({
    number: chunkNumber(hash, role.metadata.name),
    names: grantedNames(role),
  }));
  const placed = assignNames({
    standing: new Map(
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
  shards: Shards,
  roles: readonly GrantRole[],
): readonly [Write[], Write[], Write[]] {
  const losing: Write[] = [];
  const trading: Write[] = [];
  const gaining: Write[] = [];
  const resource = resources.clusterRoles;
  const byName = new Map(roles.map((role) => [role.metadata.name, role]));
  for (const [name, shard] of shards) {
    const role = byName.get(name);
    if (role === undefined) {
      gaining.push({ do: "create", resource, object: chunkRole(shard) });
    } else if (role.aggregated) {
      // Only who may do everything may change a role that has an aggregation rule, even to take the
      // rule away.
      losing.push(deleteWrite(resource, role));
      gaining.push({ do: "create", resource, object: chunkRole(shard) });
    } else if (!isAsWanted(shard, role)) {
      const step = !grantsTooMuch(shard, role)
        ? gaining
        : grantsTooLittle(shard, role)
          ? trading
          : losing;
      step.push({ do: "replace", resource, object: chunkRole(shard, role) });
    }
  }
  return [losing, trading, gaining];
}

function missingBindings(shards: Shards, sound: readonly GrantBinding[]): readonly Write[] {
  const bound = new Set(sound.map(({ metadata }) => metadata.name));
  const missing = [...shards].filter(([name]) => !bound.has(name));
  return missing.map(([, shard]) => ({
    do: "create",
    resource: resources.clusterRoleBindings,
    object: chunkBinding(shard),
  }));
}

function isAsWanted(shard: GrantChunk, { metadata, rules, aggregated }: GrantRole): boolean {
  const written = chunkRules(shard.names).map((rule) => ({ ...rule, nonResourceURLs: [] }));
  return !aggregated && isMarkedFor(shard, metadata) && isSame(rules, written);
}

function grantsTooMuch({ names }: GrantChunk, role: GrantRole): boolean {
  return !role.rules.every(isGrantRule) || grantedNames(role).some((name) => !names.has(name));
}

function grantsTooLittle({ names }: GrantChunk, role: GrantRole): boolean {
  const inForce = new Set(namesInForce(role));
  return [...names].some((name) => !inForce.has(name));
}

function isSound(shard: GrantChunk | undefined, binding: GrantBinding): boolean {
  return (
    shard !== undefined &&
    isMarkedFor(shard, binding.metadata) &&
    isGrantBinding(binding, shard.requester)
  );
}
