import { labels } from "../../api/names.ts";
import { parseLatchkeyMetadata } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { copiedSource, type UnmanagedSecret } from "../../domain/sync/copy.ts";
import { isObservedWhole } from "../../domain/sync/placeholder.ts";
import { candidatesFor, syncIndexers } from "../../domain/sync/sync-objects.ts";
import type { Stores } from "../stores.ts";
import { enqueueSecret } from "./copy.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/**
 * Secrets without Latchkey's label that are no placeholders, as metadata: those at a target of a
 * SharedSecret, and those whose annotation says that they are a copy. Targets follow from namespaces
 * and SharedSecrets, so Secrets are listed after these.
 */
export function unmanagedSecretKind({ stores }: KindContext): WatchedKind<UnmanagedSecret> {
  return {
    listOptions: {
      resource: resources.secrets,
      labelSelector: `!${labels.sourceUid},!${labels.sharedSecretName}`,
      metadataOnly: true,
    },
    listedAfter: [resources.namespaces, resources.sharedSecrets],
    isReadOnly: true,
    parse: (raw) => parseUnmanaged(raw, stores()),
    indexers: syncIndexers.unmanagedSecrets,
    enqueue: enqueueSecret,
    enqueueAll: ({ queues, stores: { unmanagedSecrets }, yielder }) =>
      yielder.forEach(unmanagedSecrets.keys(), (key) => queues.copy.add(key, "low")),
  };
}

function parseUnmanaged(raw: unknown, stores: Stores): UnmanagedSecret | undefined {
  const metadata = parseLatchkeyMetadata(raw);
  if (isObservedWhole(metadata)) return undefined;
  if (copiedSource(metadata) !== undefined) return { metadata };
  return candidatesFor(metadata, stores).length === 0 ? undefined : { metadata };
}
