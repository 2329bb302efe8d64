import type { WorkQueue } from "../kube/queue.ts";

/** One queue for each kind of reconcile. */
export interface Queues {
  readonly sharedSecret: WorkQueue;
  readonly copy: WorkQueue;
  readonly key: WorkQueue;
  readonly token: WorkQueue;
  readonly grant: WorkQueue;
  readonly signingKeys: WorkQueue;
  readonly connectorData: WorkQueue;
  readonly revokedTokens: WorkQueue;
}

/** Creates every queue, with the controller name for logs and metrics. */
export function createQueues(create: (controller: string) => WorkQueue): Queues {
  return {
    sharedSecret: create("sharedsecret"),
    copy: create("copy"),
    key: create("ownedaccesskey"),
    token: create("directclusterendpointtoken"),
    grant: create("requestergrant"),
    signingKeys: create("signingkeys"),
    connectorData: create("connectordata"),
    revokedTokens: create("revokedtokens"),
  };
}
