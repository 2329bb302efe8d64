import { ownObjects } from "../../api/names.ts";
import { keyOf } from "../../api/object.ts";
import { resources } from "../../api/resources.ts";
import { type ObservedSigningKeys, parseSigningKeys } from "../../tokens/signing-keys.ts";
import type { Enqueuer } from "../enqueuer.ts";
import { signingKeysKey, signingKeysReconciler } from "../signing-keys.ts";
import type { KindContext, WatchedKind } from "./watched-kind.ts";

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
    reconciler: signingKeysReconciler,
  };
}

function enqueue({ queues, stores }: Enqueuer): void {
  queues.signingKeys.add(signingKeysKey, "high");
  for (const { metadata } of stores.tokens.values()) queues.token.add(keyOf(metadata), "low");
}
