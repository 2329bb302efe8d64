import type { Key } from "../api/object.ts";
import type { WorkQueue } from "../kube/queue/work-queue.ts";

/** The queue of each kind of reconcile, with the name of its controller in logs and metrics. */
export const controllers = {
  sharedSecret: "sharedsecret",
  copy: "copy",
  source: "datasource",
  key: "ownedaccesskey",
  token: "directclusterendpointtoken",
  grant: "requestergrant",
  signingKeys: "signingkeys",
  connectorData: "connectordata",
  revokedTokens: "revokedtokens",
  clusterReport: "clusterreport",
  outbox: "outbox",
} as const;

/** The name of a queue. */
export type QueueName = keyof typeof controllers;

/** One queue for each kind of reconcile. */
export type Queues<Q = KeyQueue> = Readonly<Record<QueueName, Q>>;

/** What decisions do with a queue. */
export type KeyQueue = Pick<WorkQueue, "add" | "addAt" | "retry" | "depth">;

/** Creates something for every queue. */
export function createQueues<Q>(create: (name: QueueName) => Q): Queues<Q> {
  return {
    sharedSecret: create("sharedSecret"),
    copy: create("copy"),
    source: create("source"),
    key: create("key"),
    token: create("token"),
    grant: create("grant"),
    signingKeys: create("signingKeys"),
    connectorData: create("connectorData"),
    revokedTokens: create("revokedTokens"),
    clusterReport: create("clusterReport"),
    outbox: create("outbox"),
  };
}

/** The only key of the queue of revoked tokens. */
export const revokedTokensKey: Key = "revoked-tokens";
