import * as sync from "../specification/consent.ts";
import type { Basis } from "./leader.ts";
import type { Clusters, Committed, Judge, PlannedWrite } from "./state.ts";
import { isEntry, isTombstone, offeredTo, type Outbox, outboxesOf } from "./outboxes.ts";
import { isEqual, isJsonObject, nameOf, type Raw, type Texts } from "../specification/raw.ts";
import { secretProblems, sidesOf, targetsOf } from "../specification/rest.ts";
import { objectsOf } from "../specification/stored.ts";
import type { Server } from "./server.ts";
import { specification } from "./specification.ts";

/*
 * What must hold in a connected cluster, and of every write of its agent, from
 * docs/connected-clusters.md: copies there follow the rules at home with other marks. Calls no code
 * of src.
 */

const cluster = "east";
const group = "management.service/";

/** A Secret of a connected cluster with the marks that it would have at home. */
function asAtHome(secret: Raw): Raw {
  const { labels = {}, annotations = {} } = secret.metadata;
  const copyOf = annotations[`${group}copy-of`];
  const own = copyOf?.startsWith(`${cluster}//`) ? copyOf.slice(cluster.length + 2) : "of others";
  return {
    ...secret,
    metadata: {
      ...secret.metadata,
      labels: renamed(labels, "outbox-uid", "source-uid"),
      annotations: {
        ...renamed(annotations, "cluster-sync-error", "sync-error"),
        ...(copyOf === undefined ? {} : { [`${group}copy-of`]: own }),
      },
    },
  };
}

/** Texts in which one mark has the name of another, which is of a Latchkey of the cluster. */
function renamed(texts: Texts, from: string, to: string): Texts {
  const { [`${group}${from}`]: value, [`${group}${to}`]: _, ...others } = texts;
  return value === undefined ? others : { ...others, [`${group}${to}`]: value };
}

/** Judges what an agent plans and what it writes, by what it has seen. */
export const agentSpecification: Judge = {
  planned: (writes, basis, live) => [
    ...specification.planned(writes, basis, live),
    ...writes.flatMap((write) =>
      write.plural === "secrets"
        ? withdrawalProblems(write, basis, live)
        : reportProblems(write, basis),
    ),
  ],
  committed: (write) =>
    write.place === "central" ? centralProblems(write) : connectedWriteProblems(write),
};

function seenSecrets(basis: Basis): readonly Raw[] {
  return ["copies", "placeholders", "unmanagedSecrets"].flatMap((kind) => basis(kind));
}

/** What an agent has not seen is neither withdrawn nor gone, nor is what no tombstone withdraws. */
function withdrawalProblems(
  { key, object }: PlannedWrite,
  basis: Basis,
  live: Server,
): readonly string[] {
  const before = sync.byName(seenSecrets(basis), key);
  const from = sync.copiedFrom(before);
  const keeps = sync.copiedFrom(object) === from && isEqual(object?.data, before?.data);
  if (from === undefined || keeps) return [];
  const seen = sync.byName(basis("sharedSecrets"), from);
  const problem = [`${key}: nothing withdraws ${from}`];
  if (seen === undefined) return problem;
  const entry = objectsOf(live, "secrets").find(
    ({ metadata }) =>
      metadata.namespace === `latchkey-cluster-${cluster}` &&
      metadata.resourceVersion === seen.metadata.resourceVersion,
  );
  const isLeft = entry !== undefined && !isTombstone(entry) && !sync.isOffered(seen);
  return isLeft ? problem : [];
}

/** A report names a source done once no copy is left. */
function reportProblems({ key, object }: PlannedWrite, basis: Basis): readonly string[] {
  const text: unknown = JSON.parse(object?.data?.["report.json"] ?? "{}");
  const done = isJsonObject(text) && isJsonObject(text["done"]) ? text["done"] : {};
  return seenSecrets(basis)
    .filter((secret) => sync.copiedFrom(secret) !== undefined)
    .filter((secret) => Object.hasOwn(done, sync.mark(secret, "source-uid", "labels") ?? ""))
    .map(({ metadata }) => `${key}: ${nameOf(metadata)} is left of what is done`);
}

/** An agent writes nothing but the data of its reports in the central cluster. */
function centralProblems({ call, before, after }: Committed): readonly string[] {
  const ref = "ref" in call ? call.ref : call.object.metadata;
  const id = `${call.resource.plural}/${nameOf(ref)}`;
  const [existing, left] = [before, after].map(({ objects }) => objects.get(id));
  const isReport = id.startsWith(`configmaps/latchkey-cluster-${cluster}/report-`);
  const kept = ({ metadata }: Raw) => ({ ...metadata, resourceVersion: "" });
  const isKept = existing !== undefined && left && isEqual(kept(existing), kept(left));
  return isReport && isKept ? [] : [`an agent writes ${id}: ${call.verb}`];
}

function connectedWriteProblems(write: Committed): readonly string[] {
  const atHome = (server: Server): Server => ({
    ...server,
    objects: new Map([...server.objects].map(([id, object]) => [id, readAs(id, object)])),
  });
  const [before, after] = [atHome(write.before), atHome(write.after)];
  return specification.committed({ ...write, before, after });
}

function readAs(id: string, object: Raw): Raw {
  return id.startsWith("secrets/") ? asAtHome(object) : object;
}

/** What is wrong in the connected cluster at rest, and in what its agent has to answer. */
export function connectedProblems({ server, connected }: Clusters): readonly string[] {
  if (connected.objects.size === 0) return [];
  const secrets = objectsOf(server, "secrets");
  const outbox = outboxesOf(
    secrets.filter(({ metadata }) => metadata.namespace === "latchkey-clusters"),
    objectsOf(server, "namespaces"),
  ).find((one) => one.cluster === cluster);
  if (outbox === undefined) return [];
  const sources = sidesOf(server).sources.map((source) => offered(source, outbox));
  const sides = {
    sources,
    namespaces: objectsOf(connected, "namespaces"),
    secrets: objectsOf(connected, "secrets").map(asAtHome),
  };
  return [
    ...sides.secrets.flatMap((secret) => secretProblems(secret, sides)),
    ...sources.flatMap((source) =>
      [...targetsOf(source, sides)]
        .filter(([, state]) => state === "missing" && !sync.isPaused(source))
        .map(([at]) => `${at} does not exist`),
    ),
    ...secrets
      .filter((secret) => isEntry(secret) && sync.mark(secret, "withdrawn") !== undefined)
      .filter(({ metadata }) => metadata.namespace === outbox.namespace)
      .map(({ metadata }) => `${nameOf(metadata)} stays after its cluster has acted`),
  ].map((problem) => `${cluster}: ${problem}`);
}

/** A SharedSecret as it is for a connected cluster: what is not offered names no project. */
function offered(source: Raw, outbox: Outbox): Raw {
  const projects = offeredTo(source, outbox);
  if (projects === "unread") return source;
  const { metadata } = source;
  const annotations = { ...metadata.annotations, [`${group}sync-to-projects`]: projects.join() };
  return { ...source, metadata: { ...metadata, annotations } };
}
