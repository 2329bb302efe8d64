import { randomBytes } from "node:crypto";
import { expect, inject } from "vitest";
import { isTrueAt, listAt, stringsAt } from "../../src/api/parse.ts";
import {
  admin,
  connect,
  get,
  mergePatch,
  post,
  remove,
  send,
  type Answer,
  type Ask,
  type Caller,
  type Connection,
} from "./cluster-connection.ts";

import { eventually } from "./eventually.ts";

export { admin, patchTypes, type Answer, type Ask, type Caller } from "./cluster-connection.ts";

let connected: Promise<Connection> | undefined;

/** A service account of latchkey-system with the groups of its token. */
export function latchkeyAccount(
  name:
    | "latchkey-controller"
    | "latchkey-webhook"
    | "latchkey-gateway"
    | "latchkey-direct-endpoint"
    | "latchkey-direct-authorizer"
    | "latchkey-cluster-agent",
): Caller {
  return {
    user: `system:serviceaccount:latchkey-system:${name}`,
    groups: [
      "system:serviceaccounts",
      "system:serviceaccounts:latchkey-system",
      "system:authenticated",
    ],
  };
}

/** A name that no other test uses. */
export function unique(prefix: string): string {
  return `${prefix}-${randomBytes(5).toString("hex")}`;
}

/** Sends one request to the control plane of the test run as the caller. */
export async function ask(caller: Caller, request: Ask): Promise<Answer> {
  connected ??= connect(inject("controlPlane").adminKubeconfig);
  return send(await connected, caller, request);
}

/** A response with this code and, if it is rejected, with this text in the message. */
export function answered(code: number, refusal: string): object {
  return code < 300 ? { code } : { code, message: expect.stringContaining(refusal) };
}

/** Sends a request as the administrator; throws if it is rejected. */
export async function arrange(request: Ask): Promise<Answer> {
  const answer = await ask(admin, request);
  if (answer.code >= 300)
    throw new Error(`${request.method} ${request.path}: ${answer.code} ${answer.message}`);
  return answer;
}

const deleteOptions = { apiVersion: "v1", kind: "DeleteOptions" };

/** Requests by what they do. */
export const request = {
  get,
  create: post,
  replace: (path: string, body: unknown): Ask => ({ method: "PUT", path, body }),
  merge: mergePatch,
  delete: remove,
};

/** The same, sent. */
function clientOf(sent: (request: Ask) => Promise<Answer>) {
  return {
    get: (path: string) => sent(request.get(path)),
    create: (path: string, body: unknown) => sent(request.create(path, body)),
    replace: (path: string, body: unknown) => sent(request.replace(path, body)),
    merge: (path: string, body: unknown) => sent(request.merge(path, body)),
    delete: (path: string) => sent(request.delete(path)),
  };
}

/** The requests of a caller; each returns the response, also if it is rejected. */
export function as(caller: Caller): ReturnType<typeof clientOf> {
  return clientOf((asked) => ask(caller, asked));
}

/** The requests of the administrator; each throws if it is rejected, but for `find`. */
export const api = {
  ...clientOf(arrange),
  /** The response to a GET, including 404. */
  find: (path: string): Promise<Answer> => ask(admin, request.get(path)),
  /** Deletes an object and keeps its dependents, without an owner. */
  orphan: (path: string): Promise<Answer> =>
    arrange({ ...request.delete(path), body: { ...deleteOptions, propagationPolicy: "Orphan" } }),
};

/** Gets an object, changes it and replaces it, with retries on a conflict. */
export async function replace(
  caller: Caller,
  path: string,
  change: (object: Answer) => unknown,
): Promise<Answer> {
  for (;;) {
    const answer = await as(caller).replace(path, change(await api.get(path)));
    if (answer.code !== 409) return answer;
  }
}

/** Creates a ClusterRole with these rules and binds it to the subject; returns its name. */
export async function allow(
  subject: { kind: "User" | "Group"; name: string },
  rules: readonly Record<string, readonly string[]>[],
): Promise<string> {
  const name = unique("policy-test");
  await api.create(`/apis/${rbac}/v1/clusterroles`, { metadata: { name }, rules });
  await bind(subject, name);
  return name;
}

const rbac = "rbac.authorization.k8s.io";

/** Waits until a SubjectAccessReview says that the subject may do the first thing of a rule. */
async function isAllowed(
  { kind, name, namespace }: { kind: "User" | "Group"; name: string; namespace?: string },
  rule: unknown,
): Promise<void> {
  const first = (field: string) => stringsAt(rule, field)[0];
  const [resource, subresource] = (first("resources") ?? "").split("/");
  const resourceAttributes = {
    group: first("apiGroups"),
    resource,
    subresource,
    name: first("resourceNames"),
    verb: first("verbs"),
    namespace,
  };
  const subject = kind === "User" ? { user: name } : { user: unique("member"), groups: [name] };
  const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  const body = { spec: { ...subject, resourceAttributes } };
  await eventually(async () => isTrueAt((await api.create(path, body)).status, "allowed"), {
    what: `${name} to be allowed what was granted`,
  });
}

/**
 * Binds a ClusterRole to the subject in the whole cluster, or in one namespace, and waits until the
 * API server has seen it.
 */
export async function bind(
  subject: { kind: "User" | "Group"; name: string },
  clusterRole: string,
  namespace?: string,
): Promise<void> {
  const body = {
    metadata: { name: unique("policy-test") },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: clusterRole },
    subjects: [{ apiGroup: rbac, ...subject }],
  };
  const place =
    namespace === undefined ? "clusterrolebindings" : `namespaces/${namespace}/rolebindings`;
  await api.create(`/apis/${rbac}/v1/${place}`, body);
  const role = await api.find(`/apis/${rbac}/v1/clusterroles/${clusterRole}`);
  const rule = listAt(role, "rules").find((each) => stringsAt(each, "resources").length > 0);
  const where = namespace === undefined ? {} : { namespace };
  if (rule !== undefined) await isAllowed({ ...subject, ...where }, rule);
}

/** Creates a namespace with a unique name. */
export async function makeNamespace(): Promise<string> {
  const name = unique("policy");
  await api.create("/api/v1/namespaces", { metadata: { name } });
  return name;
}
