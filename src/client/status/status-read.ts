import { annotations, labels } from "../../api/names.ts";
import { type Metadata, keyOf } from "../../api/object.ts";
import { parseLatchkeyMetadata, recordAt, stringMapAt } from "../../api/parse.ts";
import type { ReportItem, ReportObject, SyncState } from "../../api/report.ts";
import { type Resource, resources } from "../../api/resources.ts";
import { targetCounts } from "../../domain/object-state.ts";
import { reportObject } from "../../domain/report-object.ts";
import { clusterList } from "../../domain/sync/option-items.ts";
import type { Clock, PassiveClock } from "../../runtime/clock.ts";
import { isCentral, readAgentCopies, type AgentCopy } from "../cluster/agent-copies.ts";
import { clusterItem } from "../cluster/cluster-item.ts";
import { type ReadCluster, readNamedClusters } from "../cluster/read-clusters.ts";
import type { Cluster } from "../connection/cluster.ts";
import { connectedItems, agentCopyItem } from "../explain/connected-items.ts";
import { policyItems } from "../explain/policy-items.ts";
import { plainItem, withMissing } from "../report.ts";
import { type Readable, readWith, rightText } from "../missing-right.ts";
import { findObjects } from "../objects/find-objects.ts";
import { readableByName } from "../objects/listing.ts";
import {
  lifetimeStatus,
  type LifetimeStatus,
  sourceStatus,
  type StatusReport,
  type SourceStatus,
} from "./status-report.ts";

/** What a report is about. */
export interface StatusSelection {
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
  /** Seconds to the end of a key that count as soon. */
  readonly endsWithin: number;
}

/** Reads the items of an installation that are shown. */
export type ReadPolicies = (
  cluster: Cluster,
  isConnected: boolean,
) => Promise<readonly ReportItem[]>;

const policiesEveryMs = 60_000;

/**
 * Reads the policies of the Latchkey in this namespace that are not its own, at most once a minute:
 * there are many. In a connected cluster, reads what its agent needs.
 */
export function policyReader(namespace: string, clock: Clock): ReadPolicies {
  let last: { readonly readAt: number; readonly found: readonly ReportItem[] } | undefined;
  return async (cluster, isConnected) => {
    if (isConnected) {
      const items = await connectedItems({ cluster, namespace, clock }, false);
      return items.filter(
        ({ object, state }) => state !== "ok" || object.kind === resources.leases.kind,
      );
    }
    const now = clock.monotonic();
    if (last === undefined || now - last.readAt >= policiesEveryMs) {
      const found = await policyItems(cluster, namespace);
      last = { readAt: now, found: found.filter(({ state }) => state === "problem") };
    }
    return last.found;
  };
}

/** Dependencies of {@link readStatus}. */
interface StatusDeps {
  readonly cluster: Cluster;
  readonly clock: PassiveClock;
  readonly policies: ReadPolicies;
}

/** Reads the objects that the user may read; the report says what is left out. */
export async function readStatus(
  { namespace, endsWithin }: StatusSelection,
  { cluster, clock, policies }: StatusDeps,
): Promise<StatusReport> {
  if (!(await isCentral(cluster))) return readConnected(namespace, cluster, policies);
  const notVisible: ReportItem[] = [];
  const hide = (object: ReportObject, message: string): void =>
    void notVisible.push(plainItem(object, ["unknown", "Forbidden"], message));
  const read = (resource: Resource, place?: string) =>
    readVisible({ resource, namespace: place }, cluster, (message) =>
      hide({ kind: resource.kind, namespace: place }, message),
    );
  const { ownedAccessKeys, endpointTokens } = resources;
  const sources = await read(resources.sharedSecrets, namespace);
  const keys = await read(ownedAccessKeys);
  const tokens = await read(endpointTokens);
  const copies = sources.length === 0 ? new Map() : await copiesByUid(cluster);
  if (copies === undefined)
    hide(
      { kind: resources.secrets.kind },
      "you may not list Secrets in all namespaces, so targets are counted, not named",
    );
  const now = clock.now();
  const clusters = await clustersOf(sources, cluster);
  for (const right of clusters.missing)
    hide(
      { kind: right.resource.kind, namespace: right.namespace, name: right.name },
      `you may not ${rightText(right)}, so connected clusters are not shown`,
    );
  const lifetimes = (resource: Resource, found: readonly unknown[]) =>
    byEnd(found.map((raw) => lifetimeStatus(resource, raw, now)));
  return {
    sharedSecrets: sources.map((raw) => sourceStatus(raw, copies)),
    keys: lifetimes(ownedAccessKeys, keys).filter(
      ({ state, endsIn = Infinity }) => state !== "ok" || endsIn <= endsWithin,
    ),
    tokens: lifetimes(endpointTokens, tokens),
    clusters: clusters.found.map((observed) => clusterItem(observed, now)),
    policies: await policies(cluster, false),
    notVisible,
    isConnected: false,
  };
}

/** The same where no SharedSecrets are served: their copies, and what the agent needs. */
async function readConnected(
  namespace: string | undefined,
  cluster: Cluster,
  policies: ReadPolicies,
): Promise<StatusReport> {
  const copies = await readAgentCopies(cluster, namespace);
  return {
    sharedSecrets: connectedSources(copies.found),
    keys: [],
    tokens: [],
    clusters: [],
    policies: await policies(cluster, true),
    notVisible: withMissing({ found: [], missing: copies.missing }),
    isConnected: true,
  };
}

/** The connected clusters that SharedSecrets name; none is read if none is named. */
function clustersOf(
  sources: readonly unknown[],
  cluster: Cluster,
): Promise<Readable<readonly ReadCluster[]>> {
  const names = sources.flatMap((raw) => {
    const marks = stringMapAt(recordAt(raw, "metadata"), "annotations");
    const list = clusterList(marks[annotations.syncToClusters]);
    return list.kind === "entries" ? list.entries : [];
  });
  return names.length === 0
    ? Promise.resolve({ found: [], missing: [] })
    : readNamedClusters(names, cluster);
}

async function readVisible(
  wanted: { readonly resource: Resource; readonly namespace: string | undefined },
  cluster: Cluster,
  say: (note: string) => void,
): Promise<readonly unknown[]> {
  const { resource } = wanted;
  const found = await findObjects(wanted, { cluster, terminal: { say } });
  return found.kind === "list"
    ? cluster.list(resource, found.namespace)
    : readableByName(cluster, resource, found.refs);
}

/** Without those that have expired: what is not ready first, then what ends first. */
function byEnd(found: readonly LifetimeStatus[]): readonly LifetimeStatus[] {
  const rank = ({ state, endsIn = Infinity }: LifetimeStatus): number =>
    state === "problem" ? -Infinity : endsIn;
  return found
    .filter(({ reason }) => reason !== "Expired")
    .toSorted((one, other) => (rank(one) < rank(other) ? -1 : Number(rank(one) > rank(other))));
}

/**
 * The metadata of the copies of all SharedSecrets by the uid of their source; undefined if the user
 * may not list Secrets of all namespaces.
 */
async function copiesByUid({
  select,
}: Cluster): Promise<ReadonlyMap<string, readonly Metadata[]> | undefined> {
  const resource = resources.secrets;
  const { found, missing } = await readWith(
    { verb: "list", resource },
    () => select({ resource, labelSelector: labels.sourceUid, metadataOnly: true }),
    [],
  );
  if (missing.length > 0) return undefined;
  const copies = found.map(parseLatchkeyMetadata);
  return Map.groupBy(copies, (copy) => copy.labels[labels.sourceUid] ?? "");
}

/** The SharedSecrets of the central cluster, by what their copies in a connected cluster say. */
function connectedSources(copies: readonly AgentCopy[]): readonly SourceStatus[] {
  return [...Map.groupBy(copies, ({ source }) => keyOf(source)).values()].map((own) =>
    connectedSource(own),
  );
}

const targets: ReadonlyMap<string, SyncState> = new Map([
  ["ok", "synced"],
  ["problem", "failed"],
  ["unknown", "pending"],
]);

function connectedSource(copies: readonly AgentCopy[]): SourceStatus {
  const secrets = copies.map((copy): ReportItem => {
    const item = agentCopyItem(copy);
    return { ...item, target: targets.get(item.state) };
  });
  const count = (target: SyncState) => secrets.filter((item) => item.target === target).length;
  const [synced, failed, pending] = [count("synced"), count("failed"), count("pending")];
  const object = reportObject(resources.sharedSecrets.kind, copies[0]?.source ?? { name: "" });
  const summary = `${synced} of ${secrets.length} copies here are current`;
  return {
    ...plainItem(object, failed > 0 ? ["problem", "NotCurrent"] : ["ok", "CopyFound"], summary),
    targets: { ...targetCounts({}), synced, failed, pending },
    summary,
    secrets,
    said: "",
    areNamed: true,
    clusters: [],
  };
}
