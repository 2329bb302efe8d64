import { randomBytes } from "node:crypto";
import { KubeConfig } from "@kubernetes/client-node";
import { Pool, type Dispatcher } from "undici";
import { expect, inject } from "vitest";

/** Who asks: the administrator, or whom the administrator impersonates. */
export interface Caller {
  user?: string;
  groups?: readonly string[];
  uid?: string;
  /** Extra of the user: values by key. */
  extra?: Readonly<Record<string, readonly string[]>>;
}

/** What the API server says: an object, or a metav1.Status with a message. */
export interface Answer {
  code: number;
  message: string;
  metadata: {
    name?: string;
    resourceVersion?: string;
    annotations?: Record<string, string>;
    labels?: Record<string, string>;
    finalizers?: string[];
    [field: string]: unknown;
  };
  spec?: Record<string, unknown>;
  status?: unknown;
  [field: string]: unknown;
}

/** One request: JSON unless a content type is given. */
export interface Ask {
  method: Dispatcher.HttpMethod;
  path: string;
  body?: unknown;
  type?: string;
}

/** Media types of the three patches (Kubernetes API reference, Patch). */
export const patchTypes = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** The administrator, in system:masters. */
export const admin: Caller = {};

/** A service account of latchkey-system with the groups it has when it logs in. */
export function latchkeyAccount(name: "latchkey-controller" | "latchkey-webhook" | "latchkey-gateway"): Caller {
  return {
    user: `system:serviceaccount:latchkey-system:${name}`,
    groups: ["system:serviceaccounts", "system:serviceaccounts:latchkey-system", "system:authenticated"],
  };
}

/** A name nobody else uses. */
export function unique(prefix: string): string {
  return `${prefix}-${randomBytes(5).toString("hex")}`;
}

/** Sends one request to the control plane of the test run as the caller. */
export async function ask(caller: Caller, { method, path, body, type = "application/json" }: Ask): Promise<Answer> {
  const { pool, headers } = await connection();
  const response = await pool.request({
    method,
    path,
    headers: [...headers, ...impersonation(caller), ...(body === undefined ? [] : ["content-type", type])],
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const answer: Answer = JSON.parse(await response.body.text());
  return { ...answer, code: response.statusCode };
}

/** What a test expects of an answer: its code, and of a refusal what its message says. */
export function answered(code: number, refusal: string): object {
  return code < 300 ? { code } : { code, message: expect.stringContaining(refusal) };
}

/** Sends a request as the administrator; throws when it is refused. */
export async function arrange(request: Ask): Promise<Answer> {
  const answer = await ask(admin, request);
  if (answer.code >= 300) throw new Error(`${request.method} ${request.path}: ${answer.code} ${answer.message}`);
  return answer;
}

/** Gets an object, changes it and puts it back, again when somebody else was faster. */
export async function replace(caller: Caller, path: string, change: (object: Answer) => unknown): Promise<Answer> {
  for (;;) {
    const object = await arrange({ method: "GET", path });
    const answer = await ask(caller, { method: "PUT", path, body: change(object) });
    if (answer.code !== 409) return answer;
  }
}

/** Makes a ClusterRole with these rules and binds it to the subject; both have the name that is answered. */
export async function allow(
  subject: { kind: "User" | "Group"; name: string },
  rules: readonly Record<string, readonly string[]>[],
): Promise<string> {
  const name = unique("policy-test");
  const api = "/apis/rbac.authorization.k8s.io/v1";
  await arrange({ method: "POST", path: `${api}/clusterroles`, body: { metadata: { name }, rules } });
  await bind(subject, name);
  return name;
}

/** Binds a ClusterRole to the subject in the whole cluster, or in one namespace. */
export async function bind(
  subject: { kind: "User" | "Group"; name: string },
  clusterRole: string,
  namespace?: string,
): Promise<void> {
  const group = "rbac.authorization.k8s.io";
  const body = {
    metadata: { name: unique("policy-test") },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: clusterRole },
    subjects: [{ apiGroup: group, ...subject }],
  };
  const place = namespace === undefined ? "clusterrolebindings" : `namespaces/${namespace}/rolebindings`;
  await arrange({ method: "POST", path: `/apis/${group}/v1/${place}`, body });
}

/** Makes a namespace of a unique name. */
export async function makeNamespace(): Promise<string> {
  const name = unique("policy");
  await arrange({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name } } });
  return name;
}

let connected: Promise<{ pool: Pool; headers: string[] }> | undefined;

function connection(): Promise<{ pool: Pool; headers: string[] }> {
  connected ??= connect();
  return connected;
}

async function connect(): Promise<{ pool: Pool; headers: string[] }> {
  const config = new KubeConfig();
  config.loadFromFile(inject("controlPlane").adminKubeconfig);
  const { headers = {}, ca, cert, key } = await credentials(config);
  const pool = new Pool(config.getCurrentCluster()?.server ?? "", { allowH2: false, connect: { ca, cert, key } });
  return { pool, headers: Object.entries(headers).flatMap(([name, value]) => [name, String(value)]) };
}

async function credentials(config: KubeConfig) {
  const options: Parameters<KubeConfig["applyToHTTPSOptions"]>[0] = { headers: {} };
  await config.applyToHTTPSOptions(options);
  return options;
}

function impersonation({ user, groups = [], uid, extra = {} }: Caller): string[] {
  return [
    ...(user === undefined ? [] : ["impersonate-user", user]),
    ...(uid === undefined ? [] : ["impersonate-uid", uid]),
    ...groups.flatMap((group) => ["impersonate-group", group]),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.flatMap((value) => [`impersonate-extra-${encodeURIComponent(key)}`, value]),
    ),
  ];
}
