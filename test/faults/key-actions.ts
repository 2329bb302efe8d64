import { setTimeout as pause } from "node:timers/promises";
import jsonPatch from "fast-json-patch";
import { isTrueAt, recordAt, stringAt } from "../../src/api/parse.ts";
import { webhookPaths } from "../../src/domain/webhook/webhook-paths.ts";
import { admin, type Answer, type Caller } from "../support/cluster-connection.ts";
import type { InProcessBackend } from "./in-process-backend.ts";
import type { ProxiedCluster } from "../support/proxied-cluster.ts";

/**
 * A user presents a key, to kube-apiserver by default, until its last use is recorded; `username`
 * is whom the key acts as.
 */
export interface Use {
  readonly use: {
    readonly key: string;
    readonly path: string;
    readonly username: string;
    readonly through?: "gateway";
  };
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
 * Runs a change that needs a webhook or a gateway: repeatedly, while the time advances, as a user would retry
 * after a failure.
 */
export async function performKeyAction(
  backend: InProcessBackend,
  cluster: ProxiedCluster,
  change: Use | Admission,
): Promise<void> {
  if ("use" in change) return untilRecorded(backend, cluster, change.use);
  return again(backend, () => tryToApply(backend, cluster, change.admit));
}

/** Fails if another instant than that of a use is recorded. */
async function untilRecorded(
  backend: InProcessBackend,
  cluster: ProxiedCluster,
  use: Use["use"],
): Promise<void> {
  const recorded = async () =>
    stringAt((await cluster.arrange({ method: "GET", path: use.path })).status, "lastActivity");
  const present = use.through === "gateway" ? presentToGateway : presentToWebhook;
  const [before, began] = [await recorded(), backend.wallClock()];
  await again(backend, async () => {
    await present(backend, use);
    return (await recorded()) !== before;
  });
  const at = Date.parse((await recorded()) ?? "");
  // It has whole seconds.
  if (!(at > began - 1_000 && at <= backend.wallClock()))
    throw new Error(
      `lastActivity is not the time of the use, but ${at - began} ms after its start`,
    );
}

async function presentToWebhook(backend: InProcessBackend, { key }: Use["use"]): Promise<void> {
  await backend.askWebhook(webhookPaths.tokenReview, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token: key },
  });
}

/** Fails if the answer is neither that of the API server to the user of the key, nor temporary. */
async function presentToGateway(
  backend: InProcessBackend,
  { key, username }: Use["use"],
): Promise<void> {
  const answer = await backend.askGateway(key);
  if (answer === undefined || temporary.includes(answer.status)) return;
  // A gateway that has just started may not know the key yet.
  if (answer.status === 401 && !answer.hadAccepted) return;
  const user = stringAt(recordAt(recordAt(answer.object, "status"), "userInfo"), "username");
  if (answer.status !== 201 || user !== username)
    throw new Error(`the gateway answers ${answer.status} as ${user} to a key of ${username}`);
}

/** The cache is not current, or the API server cannot be reached. */
const temporary = [502, 503, 504];

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
