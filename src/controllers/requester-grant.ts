import type { EndpointToken } from "../api/endpoint-token.ts";
import { type Key, type Metadata, refOf } from "../api/object.ts";
import type { OwnedAccessKeySeen } from "../api/owned-access-key.ts";
import { parseMetadata } from "../api/parse.ts";
import type { GrantedKind, GrantedObject, GrantRole } from "../api/requester-grant.ts";
import { type Resource, resources } from "../api/resources.ts";
import { isHeld } from "../domain/finalizer.ts";
import type { PoliciesAge } from "../domain/policy-age.ts";
import { grantKey, grantedNames } from "../domain/granted-names.ts";
import { requesterOf } from "../domain/requester.ts";
import { planRequesterGrant } from "../domain/requester-grant.ts";
import type { Client } from "../kube/client.ts";
import { isKubeError } from "../kube/errors.ts";
import type { Next } from "../kube/loop.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Logger } from "../runtime/log.ts";
import { type CarryOutDeps, carryOut } from "./carry-out.ts";
import { observePolicies } from "./grants.ts";
import { stampedHash } from "./informers.ts";
import { indexes, type Stores } from "./stores.ts";

/** What the passes over the grants of requesters need. */
export interface RequesterGrantDeps extends CarryOutDeps {
  readonly client: Client;
  readonly clock: Pick<Clock, "now">;
  readonly log: Logger;
  readonly stores: Stores;
}

/** One pass over all that one requester, named by its hash, is granted. */
export async function reconcileRequesterGrant(hash: Key, deps: RequesterGrantDeps): Promise<Next> {
  const { stores } = deps;
  const policies = observePolicies(stores);
  const keys = owned("OwnedAccessKey", stores.keys.by(indexes.requester, hash), policies);
  const tokens = owned("DirectClusterEndpointToken", stores.tokens.by(indexes.requester, hash), policies);
  const wanted = [...keys, ...tokens];
  const roles = stores.clusterRoles.by(indexes.requester, hash);
  const dropped = droppedNames(roles, new Set(wanted.map(({ object }) => grantKey(object))));
  if (await isBehind(dropped, hash, deps)) return { kind: "look-again", at: deps.clock.now() + askAgainMs };
  const plan = planRequesterGrant({
    hash,
    requester: wanted[0]?.requester,
    wanted: wanted.map(({ object }) => object),
    roles,
    bindings: stores.clusterRoleBindings.by(indexes.requester, hash),
  });
  if (plan.conflicts.length > 0) deps.log.warn({ names: plan.conflicts }, "names of requester grants are somebody else's");
  await carryOut(plan, deps);
  return plan.next;
}

const askAgainMs = 1_000;

function droppedNames(roles: readonly GrantRole[], wanted: ReadonlySet<string>): readonly string[] {
  return roles.flatMap(grantedNames).filter((name) => !wanted.has(name));
}

/**
 * Asks the API server itself before somebody's access is taken away: roles may have arrived before the keys and tokens
 * that they name. What the stores say is being deleted needs no question, and what is not stamped so has no claim.
 */
async function isBehind(names: readonly string[], hash: Key, { stores, client }: RequesterGrantDeps): Promise<boolean> {
  for (const granted of names) {
    const { namespace: plural, name } = refOf(granted);
    const isKey = plural === resources.ownedAccessKeys.plural;
    const seen = isKey ? stores.keys.get(name) : stores.tokens.get(name);
    if (seen?.metadata.deletionTimestamp !== undefined) continue;
    const found = await read(isKey ? resources.ownedAccessKeys : resources.endpointTokens, name, client);
    if (found === undefined || found.resourceVersion === seen?.metadata.resourceVersion) continue;
    if (stampedHash(found).includes(hash)) return true;
  }
  return false;
}

async function read(resource: Resource, name: string, client: Pick<Client, "getMetadata">): Promise<Metadata | undefined> {
  try {
    return parseMetadata(await client.getMetadata(resource, { name }));
  } catch (error) {
    if (isKubeError(error, "NotFound")) return undefined;
    throw error;
  }
}

interface Owned {
  readonly object: GrantedObject;
  readonly requester: string;
}

/** The objects whose requester is certain, that cannot go without Latchkey and that are not going. */
function owned(kind: GrantedKind, objects: readonly (OwnedAccessKeySeen | EndpointToken)[], policies: PoliciesAge | undefined): readonly Owned[] {
  return objects.flatMap(({ metadata }) => {
    if (!isHeld(metadata) || metadata.deletionTimestamp !== undefined) return [];
    const requester = requesterOf(metadata, policies);
    return requester.kind === "known" ? [{ object: { kind, name: metadata.name }, requester: requester.name }] : [];
  });
}
