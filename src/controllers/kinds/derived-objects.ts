import { annotations } from "../../api/names.ts";
import type { Metadata, ObjectRef } from "../../api/object.ts";
import { resources, type Resource } from "../../api/resources.ts";
import {
  type ObservedRole,
  type ObservedRoleBinding,
  parseRole,
  parseRoleBinding,
} from "../../api/role.ts";
import type { ObservedAccess } from "../../domain/shared-secret/access.ts";
import {
  isAsWritten,
  isDerivedName,
  isMarkedWith,
  sourceUidOf,
  derivedPrefix,
} from "../../domain/shared-secret/derived-role.ts";
import type { Source } from "../../domain/sync/copy.ts";
import { indexedBy } from "../../domain/sync/sync-objects.ts";
import type { CentralEnqueuer } from "../central-enqueuer.ts";
import {
  type UncachedObject,
  type Answers,
  answerTo,
  type Ask,
  askFor,
  isAsk,
  readOf,
} from "../question.ts";
import { indexes, type Stores } from "../stores.ts";
import type { World } from "../world.ts";
import type { WatchedKind } from "./watched-kind.ts";

/** Roles that Latchkey derives from access rules. */
export function roleKind(): WatchedKind<ObservedRole, World> {
  return {
    ...derivedKind(resources.roles, parseRole),
    enqueueAll: (enqueuer) =>
      enqueuer.yielder.forEach(enqueuer.stores.roles.values(), (role) =>
        enqueuer.derivedFrom(role),
      ),
  };
}

/** RoleBindings that Latchkey derives from access rules. */
export function roleBindingKind(): WatchedKind<ObservedRoleBinding, World> {
  return {
    ...derivedKind(resources.roleBindings, parseRoleBinding),
    enqueueAll: (enqueuer) =>
      enqueuer.yielder.forEach(enqueuer.stores.roleBindings.values(), (binding) =>
        enqueuer.derivedFrom(binding),
      ),
  };
}

/** Only keeps objects whose names have Latchkey's prefix. */
function derivedKind<T extends ObservedRole | ObservedRoleBinding>(
  resource: Resource,
  parse: (raw: unknown) => T,
): WatchedKind<T, World> {
  return {
    listOptions: { resource },
    parse(raw) {
      const object = parse(raw);
      return object.metadata.name.startsWith(derivedPrefix) ? object : undefined;
    },
    indexers: {
      [indexes.namespace]: ({ metadata }) => [metadata.namespace ?? ""],
      [indexes.sourceUid]: (object) => indexedBy(sourceUidOf(object)),
    },
    enqueue({ before, after }, enqueuer: CentralEnqueuer) {
      for (const object of [before, after]) if (object !== undefined) enqueuer.derivedFrom(object);
    },
  };
}

/**
 * Returns the derived objects of a namespace: those of `source`, orphaned ones and unmanaged ones.
 * An object is orphaned only if the API server confirms that its source is gone, which is asked
 * first.
 */
export function observeDerived(
  { namespace = "" }: ObjectRef,
  source: Source | undefined,
  stores: Stores,
  answers: Answers,
): ObservedAccess | Ask {
  const roles = stores.roles.by(indexes.namespace, namespace);
  const bindings = stores.roleBindings.by(indexes.namespace, namespace);
  const gone = confirmedGone([...bindings, ...roles], stores, answers);
  if (isAsk(gone)) return gone;
  const isLeftover = (seen: ObservedRole | ObservedRoleBinding): boolean =>
    gone.has(sourceUidOf(seen) ?? "") && !hasForgedMarks(seen);
  const isOwn = ownedBy(source?.secret.metadata, roles);
  const own = new Set([...roles, ...bindings].filter(isOwn));
  const unmanaged = [...roles, ...bindings].filter((seen) => !own.has(seen) && !isLeftover(seen));
  return {
    roles: roles.filter((role) => own.has(role)),
    bindings: bindings.filter((binding) => own.has(binding)),
    orphanedRoles: roles.filter(isLeftover),
    orphanedBindings: bindings.filter(isLeftover),
    unmanaged: new Set(unmanaged.map(({ metadata }) => metadata.name)),
  };
}

/**
 * Returns a predicate for the objects derived from this SharedSecret: by the uid in their owner
 * reference or label, and by their name, which is derived from that uid.
 */
function ownedBy(
  secret: Metadata | undefined,
  roles: readonly ObservedRole[],
): (seen: ObservedRole | ObservedRoleBinding) => boolean {
  if (secret === undefined) return () => false;
  // The rules of an unchanged Role give the permission that its name is derived from; the other
  // permissions are not hashed.
  const asWritten = new Set(
    roles.filter((role) => isAsWritten(secret, role)).map(({ metadata }) => metadata.name),
  );
  return (seen) =>
    isMarkedWith(secret.uid, seen) &&
    (asWritten.has(seen.metadata.name) || isDerivedName(secret, seen.metadata.name));
}

/** Whether an object has Latchkey's label and annotation, but not the name derived from them. */
function hasForgedMarks(seen: ObservedRole | ObservedRoleBinding): boolean {
  const [uid, name] = [sourceUidOf(seen), seen.metadata.annotations[annotations.source]];
  return (
    uid !== undefined && name !== undefined && !isDerivedName({ name, uid }, seen.metadata.name)
  );
}

/**
 * The source uids of derived objects whose SharedSecret is neither in the store nor in the API
 * server: a mistake would remove a user's access.
 */
function confirmedGone(
  derived: readonly (ObservedRole | ObservedRoleBinding)[],
  { sharedSecrets }: Stores,
  answers: Answers,
): ReadonlySet<string> | Ask {
  const missing = new Map<string, ObjectRef | undefined>();
  for (const seen of derived) {
    const uid = sourceUidOf(seen);
    const isMissing =
      uid !== undefined && sharedSecrets.countBy(indexes.uid, uid) === 0 && !hasForgedMarks(seen);
    if (isMissing && missing.get(uid) === undefined) missing.set(uid, sourceRefOf(seen));
  }
  const reads = new Map(
    [...missing].map(([uid, ref]) => [uid, ref && readOf(resources.sharedSecrets, ref)] as const),
  );
  const ask = askFor(
    [...reads.values()].filter((read) => read !== undefined),
    answers,
  );
  if (ask !== undefined) return ask;
  const isGone = (uid: string): boolean => {
    const read = reads.get(uid);
    const uncached = read === undefined ? undefined : answerTo(read, answers)?.object;
    return uncached === undefined || uncached.kind === "gone" || isAnother(uncached, uid);
  };
  return new Set([...reads.keys()].filter(isGone));
}

function isAnother(uncached: UncachedObject, uid: string): boolean {
  return uncached.kind === "there" && uncached.metadata.uid !== uid;
}

function sourceRefOf(seen: ObservedRole | ObservedRoleBinding): ObjectRef | undefined {
  const { namespace = "", annotations: given }: Metadata = seen.metadata;
  const name =
    given[annotations.source] ?? ("rules" in seen ? seen.rules[0]?.resourceNames[0] : undefined);
  return name === undefined ? undefined : { namespace, name };
}
