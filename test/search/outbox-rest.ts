import { agentsIn } from "./cluster-agent.ts";
import { byName, isDeleting, mark } from "../specification/consent.ts";
import {
  isEntry,
  isInOutbox,
  isTombstone,
  offeredTo,
  type Outbox,
  outboxesOf,
  sourceOf,
} from "./outboxes.ts";
import { isEqual, nameOf, type Raw } from "../specification/raw.ts";
import { sidesOf } from "../specification/rest.ts";
import type { Server } from "./server.ts";

/*
 * Outboxes, and the copies in connected clusters, when nothing happens: from
 * docs/connected-clusters.md. Calls no code of src.
 */

/** What is wrong in outboxes, and in the clusters whose agents read them. */
export function clusterProblems(server: Server): readonly string[] {
  const { sources, namespaces, secrets } = sidesOf(server);
  const clusters = secrets.filter(({ metadata }) => metadata.namespace === "latchkey-clusters");
  const outboxes = outboxesOf(clusters, namespaces);
  const inOutboxes = secrets.filter(({ metadata }) => {
    const home = byName(namespaces, metadata.namespace);
    return isInOutbox(nameOf(metadata)) && home !== undefined && !isDeleting(home);
  });
  const entries = inOutboxes.filter(isEntry);
  return [
    ...entries.flatMap((entry) => {
      const outbox = outboxes.find(({ namespace }) => namespace === entry.metadata.namespace);
      return outbox === undefined
        ? [`${nameOf(entry.metadata)} is left of a cluster that is not connected`]
        : entryProblems(entry, outbox, { server, sources });
    }),
    ...outboxes.flatMap((outbox) => {
      const own = inOutboxes.filter(({ metadata }) => metadata.namespace === outbox.namespace);
      return [
        ...missing(outbox, sources, own),
        ...copyProblems(outbox, sources, { server, isTaken: own.some((one) => !isEntry(one)) }),
      ];
    }),
  ];
}

function entryProblems(
  entry: Raw,
  outbox: Outbox,
  { server, sources }: { readonly server: Server; readonly sources: readonly Raw[] },
): readonly string[] {
  const [key, from = ""] = [nameOf(entry.metadata), sourceOf(entry)];
  const source = byName(sources, from);
  const offered = offeredTo(source, outbox);
  if (offered === "unread") return [];
  if (offered.length === 0) {
    if (!isTombstone(entry)) return [`${key} has data of ${from} without consent`];
    const isRead = agentsIn(server).some(({ namespace }) => namespace === outbox.namespace);
    return isRead ? [`${key} stays after its cluster has acted`] : [];
  }
  const found = {
    uid: mark(entry, "outbox-uid", "labels"),
    projects: mark(entry, "sync-to-projects"),
    isTombstone: isTombstone(entry),
    data: entry.data ?? {},
  };
  const expected = {
    uid: source?.metadata.uid,
    projects: offered.join(),
    isTombstone: false,
    data: source?.spec?.data ?? {},
  };
  return isEqual(found, expected) ? [] : [`${key} has not what ${from} offers`];
}

/** What is offered and not there; a Secret of others may have the name. */
function missing(outbox: Outbox, sources: readonly Raw[], own: readonly Raw[]): readonly string[] {
  if (own.some((one) => !isEntry(one))) return [];
  return sources
    .filter((source) => isOffered(source, outbox))
    .map(({ metadata }) => nameOf(metadata))
    .filter((key) => !own.some((entry) => sourceOf(entry) === key))
    .map((key) => `${outbox.namespace} lacks ${key}`);
}

function isOffered(source: Raw, outbox: Outbox): boolean {
  const offered = offeredTo(source, outbox);
  return offered !== "unread" && offered.length > 0;
}

function copyProblems(
  outbox: Outbox,
  sources: readonly Raw[],
  { server, isTaken }: { readonly server: Server; readonly isTaken: boolean },
): readonly string[] {
  const agent = agentsIn(server).find(({ namespace }) => namespace === outbox.namespace);
  if (agent === undefined) return [];
  const copies = Object.values(agent.copies);
  const kept = copies.flatMap(({ from, uid, data }) => {
    const source = byName(sources, from);
    const offered = offeredTo(source, outbox);
    if (offered === "unread") return [];
    if (offered.length === 0) return [`${outbox.cluster} has data of ${from} without consent`];
    const isCurrent = uid === source?.metadata.uid && isEqual(data, source.spec?.data ?? {});
    return isCurrent || isTaken ? [] : [`${outbox.cluster} has an old copy of ${from}`];
  });
  const wanted = sources.filter((source) => isOffered(source, outbox) && !isTaken);
  const absent = wanted
    .map(({ metadata }) => nameOf(metadata))
    .filter((key) => !copies.some(({ from }) => from === key));
  return [...kept, ...absent.map((key) => `${outbox.cluster} has no copy of ${key}`)];
}
