import { labels } from "../../api/names.ts";
import type { Metadata } from "../../api/object.ts";
import { parseLatchkeyMetadata } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import { indexes } from "../stores.ts";
import { indexedBy, type WatchedKind } from "./watched-kind.ts";

/** ClusterRoles that the scope of a key may name as a role. */
export function scopeRoleKind(): WatchedKind<Metadata> {
  return {
    listOptions: {
      resource: resources.clusterRoles,
      labelSelector: labels.scopeRole,
      metadataOnly: true,
    },
    isReadOnly: true,
    parse: parseLatchkeyMetadata,
    indexers: { [indexes.scopeRole]: (role) => indexedBy(role.labels[labels.scopeRole]) },
    enqueue(_, { queues, stores }) {
      for (const key of stores.keys.keys()) queues.key.add(key, "low");
    },
  };
}
