import { apiVersion, components, labels } from "../../api/names.ts";
import { refOf } from "../../api/object.ts";
import { listAt, parseLatchkeyMetadata, recordAt, stringAt } from "../../api/parse.ts";
import { resources } from "../../api/resources.ts";
import type { ObservedConnectorSecret } from "../../domain/access-key/connector-data.ts";
import { connectorDataReconciler } from "../connector-data.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/** Secrets with the connector data of keys, in Latchkey's own namespace; reconciled by name. */
export function connectorDataKind({
  namespace,
}: KindContext): WatchedKind<ObservedConnectorSecret> {
  return {
    listOptions: {
      resource: resources.secrets,
      namespace,
      labelSelector: `${labels.component}=${components.connectorData}`,
      metadataOnly: true,
    },
    parse: (raw) => ({ metadata: parseLatchkeyMetadata(raw), owner: ownerOf(raw) }),
    enqueue: ({ key }, { queues }) => queues.connectorData.add(refOf(key).name, "high"),
    enqueueAll: async ({ queues, stores }) => {
      for (const key of stores.connectorData.keys())
        queues.connectorData.add(refOf(key).name, "low");
    },
    reconciler: connectorDataReconciler,
  };
}

/** The key in the owner references of a Secret. */
function ownerOf(raw: unknown): ObservedConnectorSecret["owner"] {
  const owner = listAt(recordAt(raw, "metadata"), "ownerReferences").find(
    (reference) =>
      stringAt(reference, "kind") === resources.ownedAccessKeys.kind &&
      stringAt(reference, "apiVersion") === apiVersion,
  );
  const [name, uid] = [stringAt(owner, "name"), stringAt(owner, "uid")];
  return name === undefined || uid === undefined ? undefined : { name, uid };
}
