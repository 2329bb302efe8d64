import { annotations, labels } from "../../api/names.ts";
import { keyOf, type Metadata } from "../../api/object.ts";
import { parseLatchkeyMetadata } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { isSame } from "../../domain/plan/merge-patch.ts";
import { syncIndexers } from "../../domain/sync/sync-objects.ts";
import {
  isPermitted,
  namesProject,
  projectOf,
  readNamespace,
  targetIn,
} from "../../domain/sync/sync-target.ts";
import type { Change } from "../../kube/store.ts";
import type { Enqueuer } from "../enqueuer.ts";
import { retryRefused } from "../refused-objects.ts";
import { indexes } from "../stores.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/** Namespaces: their project, and whether they accept copies. */
export function namespaceKind(options: KindContext): WatchedKind<Metadata> {
  return {
    listOptions: { resource: resources.namespaces, metadataOnly: true },
    isReadOnly: true,
    parse: (raw) => readNamespace(parseLatchkeyMetadata(raw), options),
    indexers: syncIndexers.namespaces,
    enqueue,
  };
}

function enqueue({ before, after }: Change<Metadata>, enqueuer: Enqueuer): void {
  const { queues, stores } = enqueuer;
  const name = (after ?? before)?.name ?? "";
  // Policies, Pod Security and webhooks select namespaces by labels, of which the store only keeps
  // Latchkey's own, so any change may end the cause of a rejection.
  if (before !== undefined && after !== undefined) retryRefused(name, enqueuer);
  if (!concernsSync(before, after)) return;
  const states = [before, after].filter((namespace) => namespace !== undefined);
  for (const source of stores.sharedSecrets.values()) {
    // The status counts the namespaces of a project that accept no copies.
    if (states.some((namespace) => namesProject(source, projectOf(namespace) ?? "")))
      enqueuer.status(source);
    if (states.some((namespace) => isPermitted(source, namespace)))
      enqueuer.target(targetIn(name, source), "high");
  }
  for (const { secret } of stores.sharedSecrets.by(indexes.namespace, name))
    queues.sharedSecret.add(keyOf(secret.metadata), "high");
  for (const store of [stores.copies, stores.placeholders, stores.unmanagedSecrets]) {
    for (const key of store.keysBy(indexes.namespace, name)) queues.copy.add(key, "high");
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
