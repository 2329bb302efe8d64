import { labels } from "../../api/names.ts";
import { resources } from "../../api/resources.ts";
import type { ObservedCopy } from "../../domain/sync/copy.ts";
import { syncIndexers } from "../../domain/sync/sync-objects.ts";
import { observedCopy } from "../../tokens/observed-data.ts";
import { enqueueSecret } from "./copy.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/**
 * Secrets that ask to be filled and are not: metadata and a digest of their data. Once they are
 * filled, they have the label of copies.
 */
export function placeholderKind({ digestOf }: KindContext): WatchedKind<ObservedCopy> {
  return {
    listOptions: {
      resource: resources.secrets,
      labelSelector: `${labels.sharedSecretName},!${labels.sourceUid}`,
    },
    parse: (raw) => observedCopy(raw, digestOf),
    indexers: syncIndexers.placeholders,
    enqueue: enqueueSecret,
    enqueueAll: ({ queues, stores: { placeholders }, yielder }) =>
      yielder.forEach(placeholders.keys(), (key) => queues.copy.add(key, "low")),
  };
}
