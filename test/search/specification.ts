import { grantsIn, grantsOf, isDerived, readersGrantsOf } from "../specification/granted.ts";
import { isEqual, nameOf, type Raw } from "../specification/raw.ts";
import type { Basis } from "./leader.ts";
import type { Committed, Judge, PlannedWrite } from "./state.ts";
import type { Server } from "./server.ts";
import { hasFilter } from "../specification/stored.ts";
import * as sync from "../specification/consent.ts";
import { foreignEntryProblems, outboxProblems } from "./outbox-writes.ts";
import { isEntry, isInOutbox } from "./outboxes.ts";
import { revocationProblems } from "../specification/revoked.ts";

/*
 * What must hold at every write, from the specification, the docs and the decisions; over objects as
 * the API server stores them. Calls no code of src.
 */

/** Judges what a leader of the central cluster plans and what it writes. */
export const specification: Judge = { planned, committed };

/** What a leader has seen that decides about copies. */
function sidesOf(basis: Basis): sync.Sides {
  const secrets = ["copies", "placeholders", "unmanagedSecrets"].flatMap((kind) => basis(kind));
  return { sources: basis("sharedSecrets"), namespaces: basis("namespaces"), secrets };
}

/** Data only where what the leader has seen permits it, and no data taken away that may stay. */
function planned(writes: readonly PlannedWrite[], basis: Basis, live: Server): readonly string[] {
  const sides = sidesOf(basis);
  const ofSecrets = writes.filter(({ plural }) => plural === "secrets");
  const created = ofSecrets.filter(({ verb }) => verb === "create").map(({ key }) => key);
  const ofOutboxes = outboxProblems(writes, basis, live);
  const ofCopies = ofSecrets.flatMap(({ verb, key, object }) => {
    const before = sync.byName(sides.secrets, key);
    const isRemoval = verb !== "patch" && before !== undefined && !created.includes(key);
    return [
      ...(verb === "patch" ? [] : dataProblems(object, sides)),
      ...(isRemoval ? removalProblems(before, object, { sides, live }) : []),
      ...pauseProblems(before, verb, sides).map((problem) => `${problem} (${verb})`),
    ];
  });
  return [...ofCopies, ...ofOutboxes];
}

function dataProblems(secret: Raw | undefined, sides: sync.Sides): readonly string[] {
  const from = sync.copiedFrom(secret);
  if (secret === undefined || from === undefined || sync.isEmpty(secret)) return [];
  const key = nameOf(secret.metadata);
  const source = sync.byName(sides.sources, from);
  if (source === undefined || !mayBeWritten(secret, source, sides))
    return [`${key}: data of ${from} without consent`];
  if (sync.isTakenBySource(key, sides)) return [`${key}: takes the place of a followed Secret`];
  return isEqual(secret.data, sync.dataFor(source, secret))
    ? []
    : [`${key}: other data than that of ${from}`];
}

/** Whether both sides agree: those of a followed Secret, too, as it was when it was read. */
function mayBeWritten(secret: Raw, source: Raw, sides: sync.Sides): boolean {
  const key = nameOf(secret.metadata);
  if (sync.readersKey(source) === key) return sync.wantedAt(key, sides).source !== undefined;
  const namespace = sync.byName(sides.namespaces, secret.metadata.namespace);
  const request = sync.requestOf(secret);
  const way = request === undefined ? "copy" : "placeholder";
  const isAsked = request === undefined || request === nameOf(source.metadata);
  return isAsked && sync.maySync(source, namespace, way);
}

/** Data goes only without consent; whether a source is gone, only the API server knows. */
function removalProblems(
  before: Raw,
  after: Raw | undefined,
  { sides, live }: { readonly sides: sync.Sides; readonly live: Server },
): readonly string[] {
  const from = sync.copiedFrom(before);
  const source = sync.byName(sides.sources, from);
  const follows = source && isEqual(after?.data ?? {}, sync.dataFor(source, after));
  const isEmptied =
    after !== undefined && sync.isEmpty(after) && !sync.isEmpty(before) && follows !== true;
  const isKept = after !== undefined && sync.copiedFrom(after) !== undefined && !isEmptied;
  if (from === undefined || isKept) return [];
  const key = nameOf(before.metadata);
  if (sync.mayStay(before, sides)) return [`${key}: data is removed that may stay`];
  if (after === undefined && isTaken(before, sides)) return [`${key}: is not handed over`];
  const isUnseen =
    source === undefined &&
    (sync.requestOf(before) ?? from) === from &&
    live.objects.has(`sharedsecrets/${from}`);
  return isUnseen ? [`${key}: is removed, and ${from} exists`] : [];
}

/** Whether another source can take a copy over in one write. */
function isTaken(before: Raw, sides: sync.Sides): boolean {
  const { source } = sync.wantedAt(nameOf(before.metadata), sides);
  if (source === undefined || sync.isPaused(source) || sync.isPaused(before)) return false;
  const isLabelled = sync.mark(before, "source-uid", "labels") !== undefined;
  const isOfType = before.type === sync.typeOf(source) && before.immutable !== true;
  return isLabelled && isOfType && sync.isAccepted(before, source);
}

/** A pause stops writes, but it keeps no data without consent. */
function pauseProblems(
  before: Raw | undefined,
  what: string,
  sides: sync.Sides,
): readonly string[] {
  if (before === undefined) return [];
  const { source } = sync.wantedAt(nameOf(before.metadata), sides);
  if (!sync.isPaused(before) && !sync.isPaused(source)) return [];
  const isRelabelled = what === "patch" && sync.copiedFrom(before) !== undefined;
  return sync.mayStay(before, sides) && !isRelabelled
    ? [`${nameOf(before.metadata)}: is written while paused`]
    : [];
}

/** What must hold of every write that the API server accepts. */
function committed({ call, isChange, ...write }: Committed): readonly string[] {
  const { basis, before, after } = write;
  const ref = "ref" in call ? call.ref : "object" in call ? call.object.metadata : { name: "" };
  const { plural } = call.resource;
  const id = `${plural}/${nameOf(ref)}`;
  const [existing, left] = [before.objects.get(id), after.objects.get(id)];
  const problems = [
    ...(isChange || call.verb === "delete" || (plural === "secrets" && hasFilter(before))
      ? []
      : [`a ${call.verb} changes nothing`]),
    ...foreignProblems(plural, existing, { basis, isDelete: call.verb === "delete" }),
    ...(plural === "secrets" && left !== undefined ? emptyProblems(existing, left) : []),
    ...(existing !== undefined && sync.hasFinalizer(existing) && !(left && sync.hasFinalizer(left))
      ? finalizerProblems(existing, { basis, after })
      : []),
    ...grantProblems(id, write),
    ...mintProblems(existing, left, before),
  ];
  return problems.map((problem) => `${call.verb} ${id}: ${problem}`);
}

/** An object that Latchkey does not manage is never touched. */
function foreignProblems(
  plural: string,
  existing: Raw | undefined,
  { basis, isDelete }: { readonly basis: Basis; readonly isDelete: boolean },
): readonly string[] {
  if (existing === undefined) return [];
  if (plural === "roles" || plural === "rolebindings")
    return isDerived(existing) ? [] : ["is not managed by Latchkey"];
  if (plural === "secrets" && isInOutbox(nameOf(existing.metadata)))
    return foreignEntryProblems(existing);
  if (plural !== "secrets" || sync.mark(existing, "component", "labels") !== undefined) return [];
  if (!sync.isManaged(existing, basis("sharedSecrets"))) return ["is not managed by Latchkey"];
  return isDelete && sync.copiedFrom(existing) === undefined
    ? ["is deleted on its label alone"]
    : [];
}

/** A Secret that a user has made is emptied as a whole, and only of data of Latchkey. */
function emptyProblems(existing: Raw | undefined, left: Raw): readonly string[] {
  if (
    existing === undefined ||
    isEntry(existing) ||
    sync.copiedFrom(left) !== undefined ||
    isEqual(existing.data, left.data)
  )
    return [];
  if (sync.copiedFrom(existing) === undefined) return ["data of a user is changed"];
  return sync.isEmpty(left) ? [] : ["keeps data after it is emptied"];
}

/** The finalizer goes last: what the leader had seen of the object is gone. */
function finalizerProblems(
  object: Raw,
  { basis, after }: { readonly basis: Basis; readonly after: Server },
): readonly string[] {
  const { uid } = object.metadata;
  const key = nameOf(object.metadata);
  const left = (kinds: readonly string[], plural: string): readonly Raw[] =>
    kinds.flatMap(basis).filter(({ metadata }) => {
      const current = after.objects.get(`${plural}/${nameOf(metadata)}`);
      if (current?.metadata.uid !== metadata.uid) return false;
      if (plural !== "secrets") return true;
      const hasData = !sync.isEmpty(current) && !sync.isSealed(current);
      return sync.copiedFrom(current) !== undefined && hasData;
    });
  const derived = [...left(["roles"], "roles"), ...left(["roleBindings"], "rolebindings")];
  const copies = left(["copies", "placeholders", "unmanagedSecrets"], "secrets");
  const found = [
    ...derived.filter((one) => isDerived(one) && sync.mark(one, "source-uid", "labels") === uid),
    ...copies.filter((one) => sync.copiedFrom(one) === key && (sync.requestOf(one) ?? key) === key),
  ];
  const revocation =
    object.kind === "DirectClusterEndpointToken" ? revocationProblems(object, after) : [];
  return [
    ...found.map(({ metadata }) => `the finalizer is removed before ${nameOf(metadata)}`),
    ...revocation,
  ];
}

/**
 * No write gives access that neither the state before it nor an object that was seen grants, none
 * takes what is wanted, and clients have time to see a deletion.
 */
function grantProblems(
  id: string,
  { before, after, basis, own, isLate }: Omit<Committed, "call" | "isChange">,
): readonly string[] {
  const [held, now] = [grantsIn(before.objects), grantsIn(after.objects)];
  const [given, taken] = [difference(now, held), difference(held, now)];
  if (given.length + taken.length === 0) return [];
  const seen = ["sharedSecrets", "keys", "tokens"].flatMap((kind) => basis(kind));
  const seenLive = seen.filter((object) => !sync.isDeleting(object));
  const live = new Set(seenLive.flatMap(grantsOf));
  // Those on a copy for readers go with it.
  const allowed = new Set([...live, ...seenLive.flatMap(readersGrantsOf)]);
  const isSettling = seen.filter(
    ({ metadata: { deletionTimestamp = "", namespace } }) =>
      Date.parse(deletionTimestamp) + settleMs > after.now &&
      basis("namespaces").every((one) => one.metadata.name !== namespace || !sync.isDeleting(one)),
  );
  const settling = new Set(isSettling.flatMap(grantsOf));
  // Judged by what the leader has seen and written: another one may have written since. What a former
  // leader takes, the next one has to give again.
  const basisObjects = grantObjects(basis);
  const inForce = grantsIn(new Map(basisObjects));
  const left = new Map(basisObjects);
  for (const one of [...own, id]) {
    const object = after.objects.get(one);
    if (object === undefined) left.delete(one);
    else left.set(one, object);
  }
  const remaining = grantsIn(left);
  const isLost = (grant: string): boolean => inForce.includes(grant) && !remaining.includes(grant);
  const lost = isLate ? [] : taken.filter(isLost);
  return [
    ...given.filter((grant) => !allowed.has(grant)).map((grant) => `grants ${grant}`),
    ...lost.filter((grant) => live.has(grant)).map((grant) => `takes ${grant}`),
    ...lost.filter((grant) => settling.has(grant)).map((grant) => `takes too early ${grant}`),
  ];
}

/** The Roles and bindings that a leader has seen. */
function grantObjects(basis: Basis): readonly (readonly [id: string, object: Raw])[] {
  const kinds = ["roles", "roleBindings", "clusterRoles", "clusterRoleBindings"];
  return kinds.flatMap((kind) =>
    basis(kind).map(
      (object) => [`${kind.toLowerCase()}/${nameOf(object.metadata)}`, object] as const,
    ),
  );
}

/** How long grants stay after a deletion. */
const settleMs = 2_000;

function difference(some: readonly string[], others: readonly string[]): readonly string[] {
  const known = new Set(others);
  return some.filter((one) => !known.has(one));
}

/** A token is made once its requester can read it. */
function mintProblems(
  existing: Raw | undefined,
  left: Raw | undefined,
  before: Server,
): readonly string[] {
  const isMinted = left?.status?.token !== undefined && existing?.status?.token === undefined;
  if (!isMinted || left.kind !== "DirectClusterEndpointToken") return [];
  const missing = difference(grantsOf(left), grantsIn(before.objects));
  return missing.length === 0 ? [] : [`is minted before its grant`];
}
