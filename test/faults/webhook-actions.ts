import { setTimeout as pause } from "node:timers/promises";
import jsonPatch from "fast-json-patch";
import { isTrueAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { webhookPaths } from "../../src/domain/webhook/webhook-paths.ts";
import { admin, type Answer, type Caller } from "../support/cluster-connection.ts";
import type { InProcessBackend } from "./in-process-backend.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

/** A user presents a key until its last use is recorded. */
export interface Use {
  readonly use: { readonly key: string; readonly path: string };
}

/**
 * A user applies a key with connector data; the test sends the request to the webhook that
 * kube-apiserver would send.
 */
export interface Admission {
  readonly admit: {
    readonly by: Caller;
    readonly collection: string;
    readonly name: string;
    readonly spec: object;
    readonly object: object;
  };
}

/**
 * Runs a change that needs a webhook: repeatedly, while the time advances, as a user would retry
 * after a failure.
 */
export async function performWithWebhook(
  backend: InProcessBackend,
  cluster: ProxiedCluster,
  change: Use | Admission,
): Promise<void> {
  if ("use" in change) {
    const { key, path } = change.use;
    const recorded = async () =>
      stringAt((await cluster.arrange({ method: "GET", path })).status, "lastActivity");
    const before = await recorded();
    const review = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token: key },
    };
    return again(backend, async () => {
      await backend.askWebhook(webhookPaths.tokenReview, review);
      return (await recorded()) !== before;
    });
  }
  return again(backend, () => tryToApply(backend, cluster, change.admit));
}

async function tryToApply(
  backend: InProcessBackend,
  cluster: ProxiedCluster,
  { by, collection, name, spec, object }: Admission["admit"],
): Promise<boolean> {
  const found = await cluster.ask(admin, { method: "GET", path: `${collection}/${name}` });
  const stored = found.code === 200 ? found : undefined;
  const { code: _, message: __, ...old }: Partial<Answer> = stored ?? {};
  const wanted = {
    ...object,
    ...(stored === undefined ? { metadata: { name } } : old),
    spec: { ...recordAt(stored, "spec"), ...spec },
  };
  const request = {
    uid: "r",
    operation: stored === undefined ? "CREATE" : "UPDATE",
    userInfo: { username: by.user },
    object: wanted,
    oldObject: stored === undefined ? null : old,
  };
  const answer = await backend.askWebhook(webhookPaths.connectorData, {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request,
  });
  const response = recordAt(answer, "response");
  if (!isTrueAt(response, "allowed")) return false;
  const patch = stringAt(response, "patch");
  const operations: jsonPatch.Operation[] =
    patch === undefined ? [] : JSON.parse(Buffer.from(patch, "base64").toString("utf8"));
  const body: unknown = jsonPatch.applyPatch(structuredClone(wanted), operations).newDocument;
  // Only the requester may change the identity of a key, and has no permission to update it; a
  // requester that is an administrator as well has it.
  const both: Caller = { ...by, groups: [...(by.groups ?? []), "system:masters"] };
  const sent =
    stored === undefined
      ? await cluster.ask(by, { method: "POST", path: collection, body })
      : await cluster.ask(both, { method: "PUT", path: `${collection}/${name}`, body });
  return sent.code === 200 || sent.code === 201;
}

async function again(backend: InProcessBackend, isDone: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await isDone()); tries += 1) {
    if (tries > 600) throw new Error("the webhook never does what it is asked for");
    await backend.startMissing();
    await pause(10);
    // A webhook that has just started needs real time, to list and to open its watches; with a
    // clock far ahead, new objects look old.
    if (tries > 200) await backend.jump();
  }
}
