import type { Condition, Reason } from "../../api/conditions.ts";
import { annotations, labels } from "../../api/names.ts";
import { keyOf, type Metadata, refOf } from "../../api/object.ts";
import { parseLatchkeyMetadata } from "../../api/parse.ts";
import { parseResourceQuota, type ObservedResourceQuota } from "../../api/resource-quota.ts";
import { resources } from "../../api/resources.ts";
import { isSame } from "../../domain/plan/merge-patch.ts";
import { forgetRepairsIn } from "../../domain/plan/repairs.ts";
import { quotaRelief, type QuotaRelief } from "../../domain/sync/quota-relief.ts";
import { syncIndexers, syncIndexes } from "../../domain/sync/sync-objects.ts";
import {
  isPermitted,
  namesProject,
  projectOf,
  readNamespace,
  targetIn,
} from "../../domain/sync/obstacles.ts";
import type { Change } from "../../kube/informer/store.ts";
import type { Enqueuer } from "../enqueuer.ts";
import { failureAt } from "../failures.ts";
import type { SyncState } from "../sync-state.ts";
import { gainedOrLost, type KindContext, type WatchedKind } from "./watched-kind.ts";

/** Namespaces: their project, and whether they accept copies. */
export function namespaceKind(options: KindContext): WatchedKind<Metadata> {
  return {
    listOptions: { resource: resources.namespaces, metadataOnly: true },
    isReadOnly: true,
    parse: (raw) => readNamespace(parseLatchkeyMetadata(raw), options),
    indexers: syncIndexers.namespaces,
    enqueue,
    says: ({ key, before, after }) => {
      const projects = [before, after].map((namespace) => {
        const project = namespace && projectOf(namespace);
        return project === undefined ? [] : [project];
      });
      const about = { kind: "Namespace", object: key };
      return gainedOrLost("project of a Namespace changed", about, projects);
    },
  };
}

function enqueue({ before, after }: Change<Metadata>, enqueuer: Enqueuer): void {
  const { queues, stores } = enqueuer;
  const name = (after ?? before)?.name ?? "";
  // Policies, Pod Security and webhooks select namespaces by labels, of which the store only keeps
  // Latchkey's own, so any change may end the cause of a rejection.
  if (before !== undefined && after !== undefined) retryRefused(name, enqueuer);
  if (before !== undefined && before.uid !== after?.uid) forget(name, enqueuer);
  if (!concernsSync(before, after)) return;
  const states = [before, after].filter((namespace) => namespace !== undefined);
  for (const source of stores.sharedSecrets.values()) {
    // The status counts the namespaces of a project that accept no copies.
    if (states.some((namespace) => namesProject(source, projectOf(namespace) ?? "")))
      enqueuer.status(source);
    if (states.some((namespace) => isPermitted(source, namespace)))
      enqueuer.target(targetIn(name, source), "high");
  }
  for (const { secret } of stores.sharedSecrets.by(syncIndexes.namespace, name))
    queues.sharedSecret.add(keyOf(secret.metadata), "high");
  for (const store of [stores.copies, stores.placeholders, stores.unmanagedSecrets]) {
    for (const key of store.keysBy(syncIndexes.namespace, name)) queues.copy.add(key, "high");
  }
}

/** What was contested in a namespace that is gone is not so in the next one of its name. */
function forget(namespace: string, { memory }: SyncState): void {
  forgetRepairsIn(namespace, memory.repairs);
  const failures = memory.failures.copy;
  for (const target of memory.failedTargets.get(namespace) ?? []) {
    const { contestedUntil: _, ...history } = failures.get(target) ?? {};
    if ("since" in history) failures.set(target, history);
  }
}

/** Whether a change of a namespace affects the copies that it receives. */
function concernsSync(before: Metadata | undefined, after: Metadata | undefined): boolean {
  const relevant = (namespace: Metadata | undefined): unknown =>
    namespace && {
      project: namespace.labels[labels.project],
      sync: namespace.annotations[annotations.sync],
      from: namespace.annotations[annotations.syncFrom],
      allow: namespace.annotations[annotations.allowCopyKeys],
      deleting: namespace.deletionTimestamp !== undefined,
      uid: namespace.uid,
    };
  return !isSame(relevant(before), relevant(after));
}

/** ResourceQuotas that limit what Latchkey writes; at most eight numbers of each are kept. */
export function resourceQuotaKind(): WatchedKind<ObservedResourceQuota> {
  return {
    listOptions: { resource: resources.resourceQuotas },
    isReadOnly: true,
    parse: parseResourceQuota,
    enqueue: ({ key, before, after }, enqueuer) =>
      retryWithin(refOf(key).namespace ?? "", quotaRelief(before, after), enqueuer),
  };
}

/** The words in kube-apiserver's error about an exceeded quota. */
const quotaWords = "exceeded quota";
const accessRefusals: ReadonlySet<string> = new Set<Reason>(["AccessRejected", "ApplyFailed"]);

/**
 * Retries all Secrets, Roles and RoleBindings of a namespace that the API server rejected: the
 * cause may have ended.
 */
function retryRefused(namespace: string, leader: SyncState): void {
  retry(namespace, { words: "", secrets: Infinity, access: Infinity }, leader);
}

/**
 * Retries as many of the objects that a quota rejected as now fit; objects that were rejected for
 * another reason keep their backoff.
 */
function retryWithin(namespace: string, relief: QuotaRelief, leader: SyncState): void {
  retry(namespace, { ...relief, words: quotaWords }, leader);
}

function retry(
  namespace: string,
  { words, secrets, access }: QuotaRelief & { readonly words: string },
  leader: SyncState,
): void {
  const { queues, stores, memory } = leader;
  const targets =
    secrets === 0
      ? []
      : [...(memory.failedTargets.get(namespace) ?? [])].filter((target) =>
          failureAt("copy", target, leader)?.message.includes(words),
        );
  for (const target of targets.slice(0, secrets)) queues.copy.retry(target);
  const sources =
    access === 0
      ? []
      : stores.sharedSecrets
          .by(syncIndexes.namespace, namespace)
          .filter(({ secret }) => refusalIn(secret.conditions)?.includes(words));
  for (const { secret } of sources.slice(0, access))
    queues.sharedSecret.retry(keyOf(secret.metadata));
}

/** Why the Roles and RoleBindings of a SharedSecret could not be written, from its status. */
function refusalIn(conditions: readonly Condition[]): string | undefined {
  return conditions.find(
    ({ type, status, reason }) =>
      type === "AccessApplied" && status === "False" && accessRefusals.has(reason),
  )?.message;
}
