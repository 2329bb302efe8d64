import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bytesFor, frontWays, requestTextOf, type WayFixture } from "../support/front-ways.ts";
import { askRaw, rawConnection } from "../support/raw-client.ts";
import type { RecordedRequest } from "../support/upstream-recorder.ts";
import { framingRows, type RawRow } from "./raw-framing.ts";
import { headRows } from "./raw-heads.ts";

describe.each(frontWays)("a client of the $name", (way) => {
  const requestText = requestTextOf(way);
  let gateway: WayFixture;
  beforeAll(async () => {
    gateway = await way.start();
  });
  afterAll(() => gateway.close());

  /** What a client may send to the API server; everything else is the gateway's. */
  const fromClient = ["accept", "content-type", "content-length", "transfer-encoding"];

  describe.each([
    ["framing", framingRows],
    ["head", headRows],
  ])("raw HTTP/1.1, %s: it", (_what, rows) => {
    it.each(rows.map((row) => [row.rule, { ...row, bytes: bytesFor(way, row.bytes) }] as const))(
      "%s",
      async (_rule, row) => {
        gateway.recorder.forget();
        const answer = await answerTo(row);
        // A request on a new connection works, and comes behind all that the other could cause.
        const next = await askRaw(gateway, requestText("GET /next"));
        const recorded = gateway.recorder.requests.filter(({ target }) => target !== "/next");
        expect(next.statuses).toEqual([200]);
        expect(answer.statuses).toEqual(row.answers);
        expect(gateway.recorder.malformed.filter((text) => !isUnfinished(row, text))).toEqual([]);
        expect(recorded).toHaveLength(row.forwarded);
        for (const request of recorded) expectOurs(request, row);
        expect(answer.isClosed).toBe(row.then === undefined && !(row.stays ?? row.forwarded === 1));
        expect(gateway.inFlight.counts()).toEqual({ answer: 0, stream: 0, upgrade: 0 });
      },
    );
  });

  async function answerTo(row: RawRow) {
    const connection = await rawConnection(gateway);
    connection.write(row.bytes);
    if (row.then !== undefined) await connection.until(() => false, 50);
    if (row.then === "end") connection.socket.end();
    const answer = await connection.until(
      ({ statuses, isClosed }) =>
        row.then !== undefined ||
        isClosed ||
        (row.answers.length > 0 && statuses.length >= row.answers.length && isToStay(row)),
    );
    if (row.then === undefined) await connection.until(({ isClosed }) => isClosed, 20);
    connection.destroy();
    return row.then === undefined ? connection.answer() : { ...answer, isClosed: false };
  }

  function isToStay({ stays, forwarded, answers }: RawRow): boolean {
    return stays ?? (forwarded === 1 || answers.length === 0);
  }

  /** What was never a whole request may end in the middle. */
  function isUnfinished({ forwarded }: RawRow, problem: string): boolean {
    return forwarded === 0 && problem.startsWith("the connection ended inside a request");
  }

  function expectOurs({ fields, body }: RecordedRequest, row: RawRow): void {
    const own = fields.filter(([name]) => !fromClient.includes(name));
    expect(own).toEqual([
      ["host", `127.0.0.1:${gateway.recorder.port}`],
      ["connection", "keep-alive"],
      ["authorization", "Bearer own-0"],
      ["impersonate-user", "alice"],
      ["impersonate-group", "devs"],
      ...way.extras.map(([name, value]) => [name, expect.stringMatching(value)]),
      ["x-forwarded-for", "127.0.0.1"],
    ]);
    expect(body.toString()).toBe(row.body ?? "");
  }
});
