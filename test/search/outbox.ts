import { outboxName } from "../../src/domain/outbox/outbox-names.ts";
import * as sync from "./consent.ts";
import type { Basis } from "./leader.ts";
import type { PlannedWrite } from "./machine.ts";
import { isEqual, nameOf, type Raw } from "./raw.ts";
import { objectsOf, type Server } from "./server.ts";

/*
 * What an outbox has, over objects as the API server stores them: from docs/connected-clusters.md.
 * The names of its Secrets are those of src.
 */

/** What decides about an outbox, as a cache or the API server has it. */
interface Sides {
  readonly sources: readonly Raw[];
  readonly namespaces: readonly Raw[];
  /** The Secrets that connect clusters. */
  readonly clusters: readonly Raw[];
}

/** Whether a Secret is one of an outbox. */
export function isOfOutbox(secret: Raw | undefined): boolean {
  return sync.mark(secret, "outbox-uid", "labels") !== undefined;
}

/** Data only with both consents, and no data taken away that is offered. */
export function plannedProblems(
  writes: readonly PlannedWrite[],
  basis: Basis,
  live: Server,
): readonly string[] {
  const sides = {
    sources: basis("sharedSecrets"),
    namespaces: basis("namespaces"),
    clusters: basis("clusters"),
  };
  return writes.flatMap(({ verb, key, object, plural }) => {
    const existing = sync.byName(basis("outboxes"), key);
    if (plural !== "secrets" || !(isOfOutbox(existing) || isOfOutbox(object))) return [];
    const from = sync.mark(hasData(object) ? object : existing, "source") ?? "";
    const source = sync.byName(sides.sources, from);
    const isOffered = source !== undefined && offers(source, key, sides);
    if (verb !== "delete" && hasData(object))
      return isOffered && isEqual(object?.data, source.spec?.data)
        ? []
        : [`${key}: data of ${from} without both consents`];
    if (isOffered) return [`${key}: data is removed that is offered`];
    const uid = sync.mark(object ?? existing, "outbox-uid", "labels");
    const isUnseen =
      source === undefined && live.objects.get(`sharedsecrets/${from}`)?.metadata.uid === uid;
    return isUnseen && connection(key, sides) !== undefined
      ? [`${key}: is withdrawn, and ${from} exists`]
      : [];
  });
}

/** What is wrong in outboxes at rest. */
export function outboxProblems(server: Server): readonly string[] {
  const secrets = objectsOf(server, "secrets");
  const sides = {
    sources: objectsOf(server, "sharedsecrets"),
    namespaces: objectsOf(server, "namespaces"),
    clusters: secrets.filter(({ metadata }) => metadata.namespace === "latchkey-clusters"),
  };
  const stale = secrets.filter(isOfOutbox).flatMap((secret) => {
    const key = nameOf(secret.metadata);
    const source = sync.byName(sides.sources, sync.mark(secret, "source"));
    const mayStay = source !== undefined && offers(source, key, sides);
    return hasData(secret) && !mayStay ? [`${key} has data without both consents`] : [];
  });
  const outboxes = sides.namespaces.filter(({ metadata }) => metadata.name.startsWith(prefix));
  const missing = sides.sources.flatMap((source) =>
    outboxes.flatMap(({ metadata }) => {
      const { name, namespace = "" } = source.metadata;
      const key = `${metadata.name}/${outboxName({ namespace, name })}`;
      const secret = sync.byName(secrets, key);
      if (!offers(source, key, sides)) return [];
      const isCurrent =
        isEqual(secret?.data, source.spec?.data) &&
        sync.mark(secret, "outbox-uid", "labels") === source.metadata.uid;
      return isCurrent ? [] : [`${key} is not the offer of ${nameOf(source.metadata)}`];
    }),
  );
  return [...stale, ...missing];
}

const prefix = "latchkey-cluster-";

function hasData(secret: Raw | undefined): boolean {
  return Object.keys(secret?.data ?? {}).length > 0;
}

/** The Secret that connects the cluster of an outbox. */
function connection(key: string, { namespaces, clusters }: Sides): Raw | undefined {
  const [outbox = ""] = key.split("/");
  const uid = sync.mark(sync.byName(namespaces, outbox), "cluster-uid");
  const cluster = outbox.slice(prefix.length);
  return clusters.find(
    (secret) => sync.mark(secret, "cluster", "labels") === cluster && secret.metadata.uid === uid,
  );
}

/** Whether a source offers its data in the outbox of this Secret. */
function offers(source: Raw, key: string, sides: Sides): boolean {
  const cluster = connection(key, sides);
  if (cluster === undefined || sync.isDeleting(source) || !sync.isValid(source)) return false;
  const named = listOf(source, "sync-to-clusters");
  const letIn = listOf(cluster, "projects");
  return (
    named.includes(sync.mark(cluster, "cluster", "labels") ?? "") &&
    listOf(source, "sync-to-projects").some((project) => letIn.includes(project))
  );
}

function listOf(object: Raw, name: string): readonly string[] {
  const items = (sync.mark(object, name) ?? "").split(",").map((item) => item.trim());
  return items.filter((item) => item !== "");
}
