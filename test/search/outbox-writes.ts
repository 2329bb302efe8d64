import { byName, mark } from "../specification/consent.ts";
import type { Basis } from "./leader.ts";
import type { PlannedWrite } from "./state.ts";
import {
  isEntry,
  isInOutbox,
  isTombstone,
  offeredTo,
  type Outbox,
  outboxesOf,
  sourceOf,
} from "./outboxes.ts";
import { isEqual, isJsonObject, nameOf, type Raw } from "../specification/raw.ts";
import type { Server } from "./server.ts";

/*
 * What must hold of every write in an outbox, from docs/connected-clusters.md. Calls no code of src.
 */

/** What is wrong with the writes of a plan, by what its leader had seen. */
export function outboxProblems(
  writes: readonly PlannedWrite[],
  basis: Basis,
  live: Server,
): readonly string[] {
  const outboxes = outboxesOf(basis("clusters"), basis("namespaces"));
  return writes
    .filter(({ plural, key }) => plural === "secrets" && isInOutbox(key))
    .flatMap(({ key, verb, object }) => {
      const before = byName(basis("outboxes"), key);
      const outbox = outboxes.find(({ namespace }) => key.startsWith(`${namespace}/`));
      if (before !== undefined && !isEntry(before)) return [`${key}: is not of Latchkey`];
      if (verb === "delete")
        return outbox === undefined || before === undefined || mayGo(before, basis)
          ? []
          : [`${key}: is deleted before its cluster has acted`];
      if (outbox === undefined) return [`${key}: is written to a cluster that is not connected`];
      const source = byName(basis("sharedSecrets"), sourceOf(object));
      const offered = offeredTo(source, outbox);
      if (object !== undefined && isTombstone(object))
        return [
          ...withdrawalProblems({ key, object, source, offered }, live),
          ...(before === undefined ? answerProblems(object, outbox, live) : []),
        ];
      const isOffered =
        offered !== "unread" &&
        offered.length > 0 &&
        mark(object, "sync-to-projects") === offered.join();
      if (!isOffered) return [`${key}: data of ${sourceOf(object) ?? ""} without consent`];
      return isEqual(object?.data, source?.spec?.data) ? [] : [`${key}: other data`];
    });
}

interface Withdrawal {
  readonly key: string;
  readonly object: Raw;
  readonly source: Raw | undefined;
  readonly offered: readonly string[] | "unread";
}

/** Only what is certainly not offered is withdrawn; whether a source is gone, only etcd knows. */
function withdrawalProblems(
  { key, object, source, offered }: Withdrawal,
  live: Server,
): readonly string[] {
  const uid = mark(object, "outbox-uid", "labels");
  const from = sourceOf(object) ?? "";
  if (source !== undefined)
    return offered.length > 0 && source.metadata.uid === uid
      ? [`${key}: what is offered is withdrawn`]
      : [];
  return live.objects.get(`sharedsecrets/${from}`)?.metadata.uid === uid
    ? [`${key}: is withdrawn, and ${from} exists`]
    : [];
}

/** That nothing is offered of a source that an agent does not know is asked of etcd. */
function answerProblems(object: Raw, outbox: Outbox, live: Server): readonly string[] {
  const from = sourceOf(object) ?? "";
  const source = live.objects.get(`sharedsecrets/${from}`);
  return offeredTo(source, outbox).length === 0
    ? []
    : [`${outbox.cluster} reads that ${from} is withdrawn, and it is offered`];
}

/** Whether an entry of a connected cluster may go: the cluster has nothing of it, or cannot read it. */
function mayGo(entry: Raw, basis: Basis): boolean {
  const isRead = sourceOf(entry) !== undefined && mark(entry, "outbox-uid", "labels") !== undefined;
  if (entry.immutable === true || !isRead) return true;
  const uid = mark(entry, "withdrawn") ?? "";
  const { namespace, resourceVersion } = entry.metadata;
  return basis("clusterReports")
    .filter(({ metadata }) => metadata.namespace === namespace)
    .some(({ data }) => doneIn(data?.["report.json"])[uid] === resourceVersion);
}

function doneIn(text = "{}"): Readonly<Record<string, unknown>> {
  const report: unknown = JSON.parse(text);
  const done = isJsonObject(report) ? report["done"] : undefined;
  return isJsonObject(done) ? done : {};
}

/** An object of others in an outbox is never touched. */
export function foreignEntryProblems(existing: Raw | undefined): readonly string[] {
  if (existing === undefined || !isInOutbox(nameOf(existing.metadata))) return [];
  return isEntry(existing) ? [] : ["is not managed by Latchkey"];
}
