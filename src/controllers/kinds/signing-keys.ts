import { ownObjects } from "../../api/names.ts";
import { type Key, keyOf } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import { type ObservedSigningKeys, parseSigningKeys } from "../../tokens/signing-keys.ts";
import type { Enqueuer } from "../enqueuer.ts";
import { reconcileSigningKeys } from "../signing-keys.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

/** The only key of the signing keys queue. */
const signingKeysKey: Key = "signing-keys";

/** The Secret of the signing keys, in Latchkey's own namespace. */
export function signingKeysKind({ namespace }: KindContext): WatchedKind<ObservedSigningKeys> {
  return {
    listOptions: {
      resource: resources.secrets,
      namespace,
      fieldSelector: `metadata.name=${ownObjects.signingKeys}`,
    },
    parse: parseSigningKeys,
    isPublished: true,
    enqueue: (_, enqueuer) => enqueue(enqueuer),
    enqueueAll: async (enqueuer) => enqueue(enqueuer),
    reconciler: {
      controller: "signingkeys",
      queue: "signingKeys",
      workers: () => 1,
      reconcile: (_, deps) => reconcileSigningKeys(deps),
    },
  };
}

function enqueue({ queues, stores }: Enqueuer): void {
  queues.signingKeys.add(signingKeysKey, "high");
  for (const { metadata } of stores.tokens.values()) queues.token.add(keyOf(metadata), "low");
}
