import { type Key, refOf } from "../../api/object.ts";
import {
  type GrantBinding,
  type GrantRole,
  parseGrantBinding,
  parseGrantRole,
} from "../../api/requester-grant.ts";
import { resources } from "../../api/resources.ts";
import {
  grantedNames,
  hashInName,
  namesInForce,
  requesterHashOf,
} from "../../domain/grants/granted-names.ts";
import type { Change } from "../../kube/informer/store.ts";
import type { Enqueuer } from "../enqueuer.ts";
import { requesterGrantReconciler } from "./requester-grant.ts";
import { indexes } from "../stores.ts";
import { indexedBy, type WatchedKind } from "./watched-kind.ts";

/** ClusterRoles that grant requesters their keys and tokens; reconciled by the requester's hash. */
export function grantRoleKind(): WatchedKind<GrantRole> {
  return {
    listOptions: { resource: resources.clusterRoles },
    parse: (raw) => onlyGrant(parseGrantRole(raw)),
    indexers: {
      [indexes.requester]: (role) => indexedBy(hashInName(role)),
      [indexes.grantedName]: grantedNames,
    },
    enqueue,
    reconciler: requesterGrantReconciler,
  };
}

/** The ClusterRoleBindings of {@link grantRoleKind}. */
export function grantBindingKind(): WatchedKind<GrantBinding> {
  return {
    listOptions: { resource: resources.clusterRoleBindings },
    parse: (raw) => onlyGrant(parseGrantBinding(raw)),
    indexers: { [indexes.requester]: (binding) => indexedBy(hashInName(binding)) },
    enqueue,
  };
}

function onlyGrant<T extends GrantRole | GrantBinding>(object: T): T | undefined {
  return hashInName(object) === undefined ? undefined : object;
}

function enqueue({ before, after }: Change<GrantRole | GrantBinding>, enqueuer: Enqueuer): void {
  const hashes = [before, after].flatMap((object) =>
    object === undefined ? [] : (hashInName(object) ?? []),
  );
  for (const hash of hashes) enqueuer.grant(hash);
  for (const name of concernedNames(before, after, enqueuer)) {
    enqueuer.granted(name);
    enqueueWaiting(name, hashes, enqueuer);
  }
}

/**
 * Enqueues the grants of the requester who has taken over an object: they wait until no other
 * requester's grants name it.
 */
function enqueueWaiting(grantedName: string, hashes: readonly Key[], enqueuer: Enqueuer): void {
  const { namespace: plural, name } = refOf(grantedName);
  const { keys, tokens } = enqueuer.stores;
  const object = plural === resources.ownedAccessKeys.plural ? keys.get(name) : tokens.get(name);
  const hash = object === undefined ? undefined : requesterHashOf(object.metadata)[0];
  if (hash !== undefined && !hashes.includes(hash)) enqueuer.grant(hash);
}

/** The names, `<plural>/<name>`, whose grant a change starts or ends. */
function concernedNames(
  before: GrantRole | GrantBinding | undefined,
  after: GrantRole | GrantBinding | undefined,
  { stores }: Enqueuer,
): ReadonlySet<string> {
  const [former, current] = [before, after].map((object) =>
    object === undefined || "rules" in object
      ? object
      : stores.clusterRoles.get(object.metadata.name),
  );
  const isRoleUpdate =
    former !== undefined &&
    current !== undefined &&
    former !== current &&
    hashInName(former) === hashInName(current);
  if (isRoleUpdate)
    return new Set(
      [grantedNames, namesInForce].flatMap((namesOf) =>
        differing(namesOf(former), namesOf(current)),
      ),
    );
  return new Set(
    [former, current].flatMap((role) => (role === undefined ? [] : grantedNames(role))),
  );
}

/** The names that only one of the two lists has. */
function differing(one: readonly string[], other: readonly string[]): readonly string[] {
  const [inOne, inOther] = [new Set(one), new Set(other)];
  return [...one.filter((name) => !inOther.has(name)), ...other.filter((name) => !inOne.has(name))];
}
