import type { Key } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import {
  type ObservedRoleBinding,
  type GrantRole,
  parseRoleBinding,
  parseGrantRole,
} from "../../api/role.ts";
import {
  grantedNames,
  grantedObject,
  hashInName,
  namesInForce,
  requesterHashOf,
} from "../../domain/grants/granted-names.ts";
import { indexedBy } from "../../domain/sync/sync-objects.ts";
import type { Change } from "../../kube/informer/store.ts";
import type { CentralEnqueuer } from "../central-enqueuer.ts";
import { requesterGrantReconciler } from "./requester-grant.ts";
import { indexes } from "../stores.ts";
import type { World } from "../world.ts";
import type { WatchedKind } from "./watched-kind.ts";

/** ClusterRoles that grant requesters their keys and tokens; reconciled by the requester's hash. */
export function grantRoleKind(): WatchedKind<GrantRole, World> {
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
export function grantBindingKind(): WatchedKind<ObservedRoleBinding, World> {
  return {
    listOptions: { resource: resources.clusterRoleBindings },
    parse: (raw) => onlyGrant(parseRoleBinding(raw)),
    indexers: { [indexes.requester]: (binding) => indexedBy(hashInName(binding)) },
    enqueue,
  };
}

function onlyGrant<T extends GrantRole | ObservedRoleBinding>(object: T): T | undefined {
  return hashInName(object) === undefined ? undefined : object;
}

function enqueue(
  { before, after }: Change<GrantRole | ObservedRoleBinding>,
  enqueuer: CentralEnqueuer,
): void {
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
function enqueueWaiting(
  grantedName: string,
  hashes: readonly Key[],
  enqueuer: CentralEnqueuer,
): void {
  const { kind, name } = grantedObject(grantedName);
  const { keys, tokens } = enqueuer.stores;
  const object = kind === "OwnedAccessKey" ? keys.get(name) : tokens.get(name);
  const hash = object === undefined ? undefined : requesterHashOf(object.metadata)[0];
  if (hash !== undefined && !hashes.includes(hash)) enqueuer.grant(hash);
}

/** The names, `<plural>/<name>`, whose grant a change starts or ends. */
function concernedNames(
  before: GrantRole | ObservedRoleBinding | undefined,
  after: GrantRole | ObservedRoleBinding | undefined,
  { stores }: CentralEnqueuer,
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
