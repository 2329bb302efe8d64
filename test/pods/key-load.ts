import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { admin, arranging, type Connection, get, send } from "../support/cluster-connection.ts";
import { postKey } from "../support/latchkey-objects.ts";

/** Creates keys of one user; returns their plain texts. */
export async function makeKeys(
  connection: Connection,
  { user, count }: { readonly user: string; readonly count: number },
): Promise<readonly string[]> {
  const texts = Array.from({ length: count }, () => randomBytes(24).toString("hex"));
  const arrange = arranging(connection);
  for (let made = 0; made < count; made += 20)
    await Promise.all(
      texts
        .slice(made, made + 20)
        .map((key, index) => arrange(postKey(`load-${made + index}`, { user, key }))),
    );
  return texts;
}

/** Sends a request with a key; returns the code of the response, with the message of a refusal. */
export async function requestWith({ pool }: Connection, key: string): Promise<string> {
  const headers = ["authorization", `Bearer ${key}`];
  const request = get("/api/v1/namespaces/default");
  const { code, message } = await send({ pool, headers }, admin, request);
  return code === 200 ? "200" : `${code} ${message}`;
}

/** Requests that are sent until they are stopped, which returns how many had each result. */
export interface KeyLoad {
  stop(): Promise<Readonly<Record<string, number>>>;
}

/** Uses keys in turn, so many times a second. */
export function useKeys(
  connection: Connection,
  texts: readonly string[],
  perSecond: number,
): KeyLoad {
  const results: Record<string, number> = {};
  let isStopped = false;
  const use = async (key: string) => {
    const result = await requestWith(connection, key).catch(String);
    results[result] = (results[result] ?? 0) + 1;
  };
  const running = (async () => {
    const sent: Promise<void>[] = [];
    for (let turn = 0; !isStopped; turn++) {
      sent.push(use(texts[turn % texts.length] ?? ""));
      await pause(1_000 / perSecond);
    }
    await Promise.all(sent);
    return results;
  })();
  return {
    stop() {
      isStopped = true;
      return running;
    },
  };
}
