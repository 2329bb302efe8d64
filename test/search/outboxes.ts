import {
  byName,
  clustersOf,
  isDeleting,
  isValid,
  mark,
  fits,
  projectsOf,
} from "../specification/consent.ts";
import { nameOf, type Raw } from "../specification/raw.ts";

/*
 * What the outboxes of connected clusters mean, over objects as the API server stores them: from
 * docs/connected-clusters.md. Calls no code of src.
 */

const prefix = "latchkey-cluster-";

/** The outbox of a connected cluster, and the projects that its administrator lets in. */
export interface Outbox {
  readonly cluster: string;
  readonly namespace: string;
  readonly letIn: readonly string[];
}

/** Whether an object with this key is in the namespace of an outbox, whosever it is. */
export function isInOutbox(key: string): boolean {
  return key.startsWith(prefix) && key.includes("/");
}

/** The outboxes of the clusters that are connected, from their Secrets and all namespaces. */
export function outboxesOf(
  clusters: readonly Raw[],
  namespaces: readonly Raw[],
): readonly Outbox[] {
  return clusters.flatMap((secret) => {
    const cluster = mark(secret, "cluster", "labels") ?? "";
    const namespace = byName(namespaces, `${prefix}${cluster}`);
    const isItsOwn = mark(namespace, "cluster-uid") === secret.metadata.uid;
    if (namespace === undefined || isDeleting(namespace) || !isItsOwn) return [];
    return [{ cluster, namespace: namespace.metadata.name, letIn: letIn(secret) }];
  });
}

function letIn(secret: Raw): readonly string[] {
  const list = itemsOf(mark(secret, "projects"));
  return list.some((item) => item.includes("*") && item !== "*") ? [] : list;
}

function itemsOf(list = ""): readonly string[] {
  return list
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/** The projects in a cluster that a SharedSecret is offered to; "unread" if that cannot be read. */
export function offeredTo(source: Raw | undefined, { cluster, letIn: open }: Outbox) {
  if (source === undefined || isDeleting(source)) return [];
  if (source.followed?.state === "withdrawn") return [];
  const clusters = clustersOf(source);
  const projects = projectsOf(source);
  const common = open.includes("*")
    ? projects
    : open.filter((project) => projects?.some((glob) => fits(project, glob)));
  const mayName = clusters?.some((name) => name === cluster || name === "*") ?? true;
  if (!mayName) return [];
  if (!isValid(source)) return projects === undefined || common?.length !== 0 ? "unread" : [];
  return common ?? [];
}

/** Whether a Secret is one that Latchkey keeps in an outbox; agents read only those with the label. */
export function isEntry(secret: Raw): boolean {
  return isInOutbox(nameOf(secret.metadata)) && secret.type === "management.service/outbox";
}

/** Whether an entry says that its source is withdrawn. */
export function isTombstone(secret: Raw): boolean {
  return mark(secret, "withdrawn") !== undefined && Object.keys(secret.data ?? {}).length === 0;
}

/** The SharedSecret that an entry is of. */
export function sourceOf(secret: Raw | undefined): string | undefined {
  return mark(secret, "source");
}
