import type { Key } from "../api/object.ts";
import type { WorkQueue } from "../kube/queue.ts";

/** The queue of each kind of reconcile, with the controller name for logs and metrics. */
const controllers = {
  sharedSecret: "sharedsecret",
  copy: "copy",
  key: "ownedaccesskey",
  token: "directclusterendpointtoken",
  grant: "requestergrant",
  signingKeys: "signingkeys",
  connectorData: "connectordata",
  revokedTokens: "revokedtokens",
} as const;

/** The name of a queue. */
export type QueueName = keyof typeof controllers;

/** One queue for each kind of reconcile. */
export type Queues<Q = KeyQueue> = Readonly<Record<QueueName, Q>>;

/** What decisions do with a queue. */
export type KeyQueue = Pick<WorkQueue, "add" | "addAt" | "retry" | "depth">;

/** Creates every queue. */
export function createQueues<Q>(create: (controller: string) => Q): Queues<Q> {
  return {
    sharedSecret: create(controllers.sharedSecret),
    copy: create(controllers.copy),
    key: create(controllers.key),
    token: create(controllers.token),
    grant: create(controllers.grant),
    signingKeys: create(controllers.signingKeys),
    connectorData: create(controllers.connectorData),
    revokedTokens: create(controllers.revokedTokens),
  };
}

/** The only key of the queue of revoked tokens. */
export const revokedTokensKey: Key = "revoked-tokens";
