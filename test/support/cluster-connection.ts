import { Pool, type Dispatcher } from "undici";
import { loadCredentials } from "../../src/kube/credentials/load-credentials.ts";
import { systemClock } from "../../src/runtime/clock.ts";

/** The user of a request: the administrator, or a user whom the administrator impersonates. */
export interface Caller {
  user?: string;
  groups?: readonly string[];
  uid?: string;
  /** Extra fields of the user: values by key. */
  extra?: Readonly<Record<string, readonly string[]>>;
}

/** A response of the API server: an object, or a metav1.Status with a message. */
export interface Answer {
  code: number;
  /** Warnings in the headers of the response (RFC 7234, Warning). */
  warnings?: readonly string[];
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

/** A request: JSON unless a content type is set. */
export interface Ask {
  method: Dispatcher.HttpMethod;
  path: string;
  body?: unknown;
  type?: string;
}

/** An administrator's connection to an API server. */
export interface Connection {
  pool: Pool;
  headers: readonly string[];
}

/** Media types of the three patches (Kubernetes API reference, Patch). */
export const patchTypes = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** Reads an object or a list. */
export const get = (path: string): Ask => ({ method: "GET", path });

/** Creates an object. */
export const post = (path: string, body: unknown): Ask => ({ method: "POST", path, body });

/** Merges a change into an object. */
export const mergePatch = (path: string, body: unknown): Ask => ({
  method: "PATCH",
  path,
  body,
  type: patchTypes.merge,
});

/** Deletes an object. */
export const remove = (path: string): Ask => ({ method: "DELETE", path });

/** The administrator, in system:masters. */
export const admin: Caller = {};

/** Connects as the current user of a kubeconfig. */
export async function connect(kubeconfig: string): Promise<Connection> {
  const source = { kubeconfig, env: process.env };
  const { server, tls, authorization } = await loadCredentials(source, systemClock);
  const header = await authorization();
  return {
    pool: new Pool(server, { allowH2: false, connect: tls }),
    headers: header === undefined ? [] : ["authorization", header],
  };
}

/** Sends one request as the caller. */
export async function send(
  { pool, headers }: Connection,
  caller: Caller,
  request: Ask,
): Promise<Answer> {
  const { method, path, body, type = "application/json" } = request;
  const response = await pool.request({
    method,
    path,
    headers: [
      ...headers,
      ...impersonation(caller),
      ...(body === undefined ? [] : ["content-type", type]),
    ],
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.body.text();
  // kube-apiserver answers plain text where a filter before the API fails.
  const answer: Answer = text.startsWith("{") ? JSON.parse(text) : { message: text };
  return {
    ...answer,
    code: response.statusCode,
    warnings: warningsIn(response.headers["warning"]),
  };
}

/** Sends requests as the administrator; throws if one is rejected. */
export function arranging(connection: Connection): (request: Ask) => Promise<Answer> {
  return async (request) => {
    const answer = await send(connection, admin, request);
    if (answer.code < 300) return answer;
    throw new Error(`${request.method} ${request.path}: ${answer.code} ${answer.message}`);
  };
}

function warningsIn(header: string | string[] | undefined): readonly string[] {
  const headers = header === undefined ? [] : Array.isArray(header) ? header : [header];
  return headers.map((text) => (/^299 - "(.*)"$/.exec(text)?.[1] ?? text).replaceAll('\\"', '"'));
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
