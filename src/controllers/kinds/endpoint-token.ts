import { type EndpointToken, parseEndpointToken } from "../../api/endpoint-token.ts";
import { resources } from "../../api/resources.ts";
import { endpointTokenReconciler } from "../endpoint-token.ts";
import { noteVanished } from "../revocations.ts";
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
      if (before !== undefined && after === undefined) noteVanished(before, enqueuer);
      enqueuer.grantsOf(before, after);
    },
    countedAs: (token) => token,
    reconciler: endpointTokenReconciler,
  };
}
