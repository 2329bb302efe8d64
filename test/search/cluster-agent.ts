import {
  type ClusterReport,
  reportKey,
  reportText,
} from "../../src/domain/outbox/cluster-report.ts";
import { reportName, reportNumberOf } from "../../src/domain/outbox/outbox-names.ts";
import { mark } from "../specification/consent.ts";
import { isEntry, isTombstone, sourceOf } from "./outboxes.ts";
import { isEqual, type Raw, type Texts } from "../specification/raw.ts";
import { type Handled, type Server, userWrite } from "./server.ts";
import { objectsOf } from "../specification/stored.ts";

/*
 * The agent of a connected cluster, as far as the central cluster can tell: it reads its outbox,
 * acts upon what it has read, and reports; anything may happen in between. It is an object of the
 * kind `agents` with the name of its outbox, which no restore of the central etcd changes.
 */

/** An entry of an outbox, as an agent has read it. */
interface Read {
  readonly uid: string;
  readonly from: string;
  readonly version: string;
  readonly isWithdrawn: boolean;
  readonly data: Texts;
}

/** What a connected cluster has of a SharedSecret. */
export interface Copies {
  readonly uid: string;
  readonly from: string;
  readonly data: Texts;
}

/** The agent of a cluster: both by the name of the entry in the outbox. */
export interface Agent {
  readonly namespace: string;
  readonly seen: Readonly<Record<string, Read>>;
  readonly copies: Readonly<Record<string, Copies>>;
}

/** The agents of all connected clusters that have one. */
export function agentsIn(server: Server): readonly Agent[] {
  return objectsOf(server, "agents").map(agentOf);
}

function agentOf({ metadata, data = {} }: Raw): Agent {
  const seen: Agent["seen"] = JSON.parse(data["seen"] ?? "{}");
  const copies: Agent["copies"] = JSON.parse(data["copies"] ?? "{}");
  return { namespace: metadata.name, seen, copies };
}

const steps = { reads, acts, reports } as const;

/** What agents may do next. */
export function agentActions(server: Server): readonly string[] {
  return agentsIn(server).flatMap(({ namespace }) =>
    Object.keys(steps)
      .filter((what) => agentStep(server, namespace, what)?.change !== undefined)
      .map((what) => `agent ${namespace} ${what}`),
  );
}

/** What an agent does; undefined if it does nothing. */
export function agentStep(server: Server, namespace: string, what: string): Handled | undefined {
  const agent = agentsIn(server).find((one) => one.namespace === namespace);
  const [, step] = Object.entries(steps).find(([name]) => name === what) ?? [];
  return agent === undefined ? undefined : step?.(agent, server);
}

function stored(server: Server, { namespace, seen, copies }: Agent): Handled {
  const data = { seen: JSON.stringify(seen), copies: JSON.stringify(copies) };
  return userWrite(server, "agents", { metadata: { name: namespace }, data });
}

/** Without its namespace, the API server refuses to list the outbox: nothing is heard. */
function reads(agent: Agent, server: Server): Handled | undefined {
  if (!server.objects.has(`namespaces/${agent.namespace}`)) return undefined;
  const isRead = (secret: Raw) =>
    isEntry(secret) && mark(secret, "outbox-uid", "labels") !== undefined;
  const entries = objectsOf(server, "secrets").filter(
    (secret) => secret.metadata.namespace === agent.namespace && isRead(secret),
  );
  const seen = entries.map((entry) => [entry.metadata.name, readOf(entry)] as const);
  return stored(server, { ...agent, seen: Object.fromEntries(seen.toSorted(byName)) });
}

function readOf(entry: Raw): Read {
  return {
    uid: mark(entry, "outbox-uid", "labels") ?? "",
    from: sourceOf(entry) ?? "",
    version: entry.metadata.resourceVersion,
    isWithdrawn: isTombstone(entry),
    data: entry.data ?? {},
  };
}

/** What is missing in the outbox means nothing. */
function acts(agent: Agent, server: Server): Handled {
  const copies = new Map(Object.entries(agent.copies));
  for (const [name, { uid, from, isWithdrawn, data }] of Object.entries(agent.seen))
    if (isWithdrawn) copies.delete(name);
    else copies.set(name, { uid, from, data });
  return stored(server, { ...agent, copies: Object.fromEntries([...copies].sort(byName)) });
}

function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  return one < other ? -1 : 1;
}

/** Writes the first report that says something else by now. */
function reports(agent: Agent, server: Server): Handled | undefined {
  const configMaps = objectsOf(server, "configmaps").filter(
    ({ metadata }) => metadata.namespace === agent.namespace,
  );
  for (const { metadata, data } of configMaps) {
    const text = reportText(reportOf(agent, metadata.name));
    const { namespace, name } = metadata;
    if (data?.[reportKey] !== text)
      return userWrite(server, "configmaps", {
        metadata: { ...(namespace === undefined ? {} : { namespace }), name },
        data: { [reportKey]: text },
      });
  }
  return undefined;
}

/** What a report of this name says: its sources are those whose uid has its number. */
function reportOf({ seen, copies }: Agent, name: string): ClusterReport {
  const isIn = ({ uid }: { readonly uid: string }) => reportName(reportNumberOf(uid)) === name;
  const read = Object.entries(seen).filter(([, one]) => isIn(one));
  const isDone = ([at, { isWithdrawn }]: readonly [string, Read]) => isWithdrawn && !copies[at];
  const isSynced = ([at, { isWithdrawn, uid, data }]: readonly [string, Read]) =>
    !isWithdrawn && copies[at]?.uid === uid && isEqual(copies[at].data, data);
  const well = { desired: 1, synced: 1, conflicts: 0, failed: 0 };
  return {
    sources: new Map(
      read.filter(isSynced).map(([, { uid, version }]) => [uid, { seen: version, ...well }]),
    ),
    done: new Map(read.filter(isDone).map(([, { uid, version }]) => [uid, version])),
    unknown: new Map(
      Object.entries(copies)
        .filter(([at, one]) => seen[at] === undefined && isIn(one))
        .map(([, { uid, from }]) => [uid, from]),
    ),
  };
}
