import { performance } from "node:perf_hooks";
import { recordAt, stringAt } from "../../src/api/parse.ts";
import { ownPath, parsed, tokenRequest } from "../support/bench-objects.ts";
import { repeated } from "../support/measured-run.ts";
import type { RunningServer } from "./bench-fixture.ts";
import { getThrough, type Ways } from "./gateway-ways.ts";
import { latencyRow, type Row, row } from "./report.ts";

/** Unknown keys, more at a time than the gateway lets wait. */
export async function garbageRow(
  { http2 }: Ways,
  { readings }: Pick<RunningServer, "readings">,
  requests: number,
): Promise<Row> {
  let sent = 0;
  const client = async (): Promise<void> => {
    while (sent < requests) {
      sent += 1;
      const authorization = `Bearer garbage-${sent}-${"x".repeat(40)}`;
      await getThrough({ ...http2, authorization }, "/api", 401);
    }
  };
  const end = await readings.begin();
  const began = performance.now();
  await Promise.all(Array.from({ length: 400 }, client));
  const seconds = (performance.now() - began) / 1000;
  const { cpuSeconds } = await end();
  return row("unknown keys, 400 at a time, HTTP/2", [sent / seconds, "/s"], {
    note: `${((cpuSeconds * 1e6) / sent).toFixed(0)} us of the gateway; each waits 100 ms`,
  });
}

/** POST of a token to its answer with `status.token`. */
export async function mintRow({ http1 }: Ways, tokens: number): Promise<Row> {
  const times = await repeated(tokens, async (token) => {
    const began = performance.now();
    const { statusCode, body } = await http1.pool.request({
      method: "POST",
      path: http1.prefix + ownPath("directclusterendpointtokens"),
      headers: { authorization: http1.authorization, "content-type": "application/json" },
      body: JSON.stringify(tokenRequest(`posted-${token}`, "").body),
    });
    const answer = parsed(await body.text());
    const minted = stringAt(recordAt(answer, "status"), "token") !== undefined;
    if (statusCode !== 201 || !minted)
      throw new Error(`POST of a token: ${statusCode}, ${minted ? "a" : "no"} token`);
    return performance.now() - began;
  });
  return latencyRow("POST of a token to its answer with status.token", times);
}
