import { type Key, keyOf } from "../../api/object.ts";
import type { ReportItem, ReportObject } from "../../api/report.ts";
import { resources } from "../../api/resources.ts";
import { nameOf, quoted, reportObject } from "../report-object.ts";
import type { Source } from "../sync/copy.ts";
import { type ConnectedCluster, isWithdrawn, offerTo } from "./consents.ts";
import { clusterObject } from "./explain-cluster.ts";

/** What decides what connected clusters are offered. */
interface Consents {
  readonly sources: ReadonlyMap<Key, Source>;
  /** By their names. */
  readonly clusters: ReadonlyMap<string, ConnectedCluster>;
}

/**
 * What each connected cluster gains and loses if the consents change: an item for each SharedSecret
 * that a cluster is offered before or after, and in another way.
 */
export function offerChanges(before: Consents, after: Consents): readonly ReportItem[] {
  const names = [...new Set([...before.clusters.keys(), ...after.clusters.keys()])].toSorted();
  const keys = [...new Set([...before.sources.keys(), ...after.sources.keys()])].toSorted();
  return names.flatMap((name) =>
    keys.flatMap((key) => {
      const former = projectsOf(before.sources.get(key), before.clusters.get(name));
      return (
        changeOf({ key, name, former }, after.sources.get(key), after.clusters.get(name)) ?? []
      );
    }),
  );
}

/** The projects for which a cluster is offered a source; undefined if it is not. */
function projectsOf(
  source: Source | undefined,
  cluster: ConnectedCluster | undefined,
): readonly string[] | undefined {
  const offer = source && cluster && offerTo(source, cluster);
  return offer?.kind === "offered" ? offer.projects : undefined;
}

/** What a cluster was offered of a source. */
interface FormerOffer {
  readonly key: Key;
  readonly name: string;
  readonly former: readonly string[] | undefined;
}

function changeOf(
  { key, name, former }: FormerOffer,
  source: Source | undefined,
  cluster: ConnectedCluster | undefined,
): ReportItem | undefined {
  const [namespace = "", own = ""] = key.split("/");
  const object = reportObject(resources.sharedSecrets.kind, { namespace, name: own });
  const item = itemIn(name, object);
  const projects = projectsOf(source, cluster);
  if (projects !== undefined) {
    const text = projects.map(quoted).join(", ");
    if (former === undefined)
      return item("create", `gains ${nameOf(object)} for its projects ${text}`);
    const isSame =
      former.length === projects.length && former.every((one) => projects.includes(one));
    if (isSame) return undefined;
    const instead = former.map(quoted).join(", ");
    return item("replace", `has ${nameOf(object)} for its projects ${text} instead of ${instead}`);
  }
  if (former === undefined) return undefined;
  const isLost = source === undefined || cluster === undefined || isWithdrawn(source, cluster);
  return isLost
    ? item("delete", `loses ${nameOf(object)}, and the copies there are removed`)
    : item("release", `keeps its copies of ${nameOf(object)}, which is invalid`);
}

function itemIn(name: string, source: ReportObject) {
  return (state: ReportItem["state"], predicate: string): ReportItem => ({
    object: clusterObject(name),
    source,
    state,
    reason: "OfferChanged",
    causes: [],
    message: `Cluster "${name}" ${predicate}.`,
  });
}

/** The consents of sources, by their keys. */
export function sourcesByKey(sources: readonly Source[]): Consents["sources"] {
  return new Map(sources.map((source) => [keyOf(source.secret.metadata), source]));
}
