import { type EndpointToken, parseEndpointToken } from "../../api/endpoint-token.ts";
import { resources } from "../../api/resources.ts";
import { reconcileEndpointToken } from "../endpoint-token.ts";
import { indexes } from "../stores.ts";
import { requesterIndexers } from "./owned-access-key.ts";
import type { WatchedKind } from "./watched-kind.ts";

/** DirectClusterEndpointTokens. */
export function endpointTokenKind(): WatchedKind<EndpointToken> {
  return {
    listOptions: { resource: resources.endpointTokens },
    parse: parseEndpointToken,
    indexers: { ...requesterIndexers, [indexes.uid]: ({ metadata }) => [metadata.uid] },
    enqueue({ key, before, after }, enqueuer) {
      enqueuer.queues.token.add(key, "high");
      enqueuer.forgetDeleted(before, after);
      if (before !== undefined && after === undefined) enqueuer.revocations.vanished(before);
      enqueuer.grantsOf(before, after);
    },
    countedAs: (token) => token,
    reconciler: {
      controller: "directclusterendpointtoken",
      queue: "token",
      workers: ({ workers }) => workers,
      reconcile: reconcileEndpointToken,
    },
  };
}
