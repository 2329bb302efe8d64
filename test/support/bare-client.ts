import { performance } from "node:perf_hooks";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { type Caller, connect, type Connection } from "./cluster-connection.ts";

/** Parallel writes of the bare client, and of the controller. */
export const concurrency = 16;

/** One request; the body is JSON, a PATCH is a JSON merge patch (RFC 7386). */
export interface BareRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  readonly by?: Caller;
}

/** Creates an object. */
export const post = (path: string, body: object): BareRequest => ({ method: "POST", path, body });

/** Replaces an object. */
export const put = (path: string, body: object): BareRequest => ({ method: "PUT", path, body });

/** Merges a change into an object. */
export const patch = (path: string, body: object): BareRequest => ({ method: "PATCH", path, body });

/** Deletes an object or a collection. */
export const remove = (path: string): BareRequest => ({ method: "DELETE", path });

/** A keep-alive client that only sends and receives: its rate is the upper limit for any client. */
export interface BareClient {
  /** Returns the body; throws on every status except 2xx. */
  send(request: BareRequest): Promise<string>;
  /** Like `send`; returns the object in the body. */
  ask(request: BareRequest): Promise<unknown>;
  /** The object at a path. */
  get(path: string): Promise<unknown>;
  /**
   * Sends requests number 0 to `count - 1`, 16 at a time; returns the milliseconds that this took.
   */
  pour(
    count: number,
    requestOf: (index: number) => BareRequest,
    onAnswer?: (body: string, index: number) => void,
  ): Promise<number>;
  /**
   * Watches a collection from now on, narrowed by a query such as `labelSelector=x`. Passes on
   * every line with its time of arrival on the clock of `performance`. Resolves when the response
   * has started; the returned function ends the watch.
   */
  watch(path: string, onLine: OnLine, query?: string): Promise<() => void>;
  close(): Promise<void>;
}

type OnLine = (line: string, at: number) => void;

/** Connects as the user of a kubeconfig, or to its cluster with another bearer token. */
export async function bareClient(kubeconfig: string, token?: string): Promise<BareClient> {
  const { pool, headers } = await connect(kubeconfig);
  const connection = {
    pool,
    headers: token === undefined ? headers : ["authorization", `Bearer ${token}`],
  };
  const send = (request: BareRequest): Promise<string> => sendBare(connection, request);
  const ask = async (request: BareRequest): Promise<unknown> => JSON.parse(await send(request));
  const get = (path: string): Promise<unknown> => ask({ method: "GET", path });
  return {
    send,
    ask,
    get,
    async pour(count, requestOf, onAnswer = () => {}) {
      const began = performance.now();
      let next = 0;
      const writer = async (): Promise<void> => {
        for (let index = next++; index < count; index = next++)
          onAnswer(await send(requestOf(index)), index);
      };
      await Promise.all(Array.from({ length: concurrency }, writer));
      return performance.now() - began;
    },
    async watch(path, onLine, query = "") {
      const listed = recordAt(await get(`${path}?limit=1`), "metadata");
      const from = `watch=1&resourceVersion=${stringAt(listed, "resourceVersion") ?? ""}`;
      return watchBare(connection, `${path}?${from}&${query}`, onLine);
    },
    close: () => pool.destroy(),
  };
}

async function sendBare(
  { pool, headers }: Connection,
  { method, path, body, by }: BareRequest,
): Promise<string> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const answer = await pool.request({
    method,
    path,
    headers: [
      ...headers,
      ...impersonation(by),
      ...(body === undefined ? [] : ["content-type", type]),
    ],
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.body.text();
  if (answer.statusCode >= 300)
    throw new Error(`${method} ${path}: ${answer.statusCode} ${text.slice(0, 300)}`);
  return text;
}

function impersonation({ user, groups = [] }: Caller = {}): readonly string[] {
  return [
    ...(user === undefined ? [] : ["impersonate-user", user]),
    ...groups.flatMap((group) => ["impersonate-group", group]),
  ];
}

async function watchBare(
  { pool, headers }: Connection,
  path: string,
  onLine: OnLine,
): Promise<() => void> {
  const ended = new AbortController();
  const { statusCode, body } = await pool.request({
    method: "GET",
    path,
    headers: [...headers],
    signal: ended.signal,
    bodyTimeout: 0,
  });
  if (statusCode !== 200) throw new Error(`watch ${path}: ${statusCode} ${await body.text()}`);
  const follow = async (): Promise<void> => {
    let rest = "";
    body.setEncoding("utf8");
    for await (const chunk of body) {
      const at = performance.now();
      const lines = `${rest}${String(chunk)}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) onLine(line, at);
    }
  };
  // It fails when it is stopped, and with the API server, which the next request reports.
  follow().catch(() => {});
  return () => ended.abort();
}
