import { performance } from "node:perf_hooks";
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

/** A keep-alive client that only sends and receives: its rate is the upper limit for any client. */
export interface BareClient {
  /** Returns the body; throws on every status except 2xx. */
  send(request: BareRequest): Promise<string>;
  /**
   * Sends requests number 0 to `count - 1`, 16 at a time; returns the milliseconds that this took.
   */
  pour(
    count: number,
    requestOf: (index: number) => BareRequest,
    onAnswer?: (body: string, index: number) => void,
  ): Promise<number>;
  /** Passes on every line of a watch with its time of arrival on the clock of `performance`. */
  watch(path: string, onLine: (line: string, at: number) => void): Watch;
  close(): Promise<void>;
}

/** An open watch. */
export interface Watch {
  /** Resolves when the response of the API server has started. */
  readonly opened: Promise<void>;
  readonly stop: () => void;
}

/** Connects as the user of a kubeconfig, or to its cluster with another bearer token. */
export async function bareClient(kubeconfig: string, token?: string): Promise<BareClient> {
  const { pool, headers } = await connect(kubeconfig);
  const connection = {
    pool,
    headers: token === undefined ? headers : ["authorization", `Bearer ${token}`],
  };
  const send = (request: BareRequest): Promise<string> => sendBare(connection, request);
  return {
    send,
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
    watch: (path, onLine) => watchBare(connection, path, onLine),
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

function watchBare(
  { pool, headers }: Connection,
  path: string,
  onLine: (line: string, at: number) => void,
): Watch {
  const ended = new AbortController();
  const opened = Promise.withResolvers<void>();
  const follow = async (): Promise<void> => {
    const answer = await pool.request({
      method: "GET",
      path,
      headers: [...headers],
      signal: ended.signal,
      bodyTimeout: 0,
    });
    if (answer.statusCode !== 200)
      throw new Error(`watch ${path}: ${answer.statusCode} ${await answer.body.text()}`);
    opened.resolve();
    let rest = "";
    answer.body.setEncoding("utf8");
    for await (const chunk of answer.body) {
      const at = performance.now();
      const lines = `${rest}${String(chunk)}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) onLine(line, at);
    }
  };
  follow().catch((error: unknown) => {
    if (!ended.signal.aborted) opened.reject(error);
  });
  return { opened: opened.promise, stop: () => ended.abort() };
}
