import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { frontWays, requestTextOf, type WayFixture } from "../support/front-ways.ts";
import { askRaw } from "../support/raw-client.ts";
import { rawSession } from "../support/raw-http2.ts";
import { fieldRows, type FrameRow } from "./raw-frames.ts";
import { streamRows } from "./raw-streams.ts";

describe.each(frontWays)("a client of the $name", (way) => {
  const requestText = requestTextOf(way);
  const frameRows = [...fieldRows(way), ...streamRows(way)];

  let gateway: WayFixture;
  beforeAll(async () => {
    gateway = await way.start();
  });
  afterAll(() => gateway.close());

  const allowed = [
    ...["host", "connection", "authorization", "impersonate-user", "impersonate-group"],
    ...["x-forwarded-for", "content-length", "transfer-encoding"],
    ...way.extras.map(([name]) => name),
  ];

  describe("raw HTTP/2: it", () => {
    it.each(frameRows.map((row) => [row.rule, row] as const))("%s", async (_rule, row) => {
      gateway.recorder.forget();
      const became = await outcomeOf(row);
      // A request on a new connection works, and comes behind all that the other could cause.
      const next = await askRaw(gateway, requestText("GET /next"));
      const recorded = gateway.recorder.requests.filter(({ target }) => target !== "/next");
      expect(next.statuses).toEqual([200]);
      expect(became).toBe(row.becomes);
      expect(recorded).toHaveLength(row.forwarded);
      expect(
        gateway.recorder.malformed.filter((text) => !/ended inside a request/.test(text)),
      ).toEqual([]);
      for (const { fields, body } of recorded) {
        expect(fields.filter(([name]) => !allowed.includes(name))).toEqual([]);
        expect(fields.filter(([name]) => name === "impersonate-user")).toEqual([
          ["impersonate-user", "alice"],
        ]);
        expect(fields.filter(([name]) => name === "authorization")).toEqual([
          ["authorization", "Bearer own-0"],
        ]);
        expect(body.toString()).toBe(row.body ?? "");
      }
      expect(gateway.inFlight.counts()).toEqual({ answer: 0, stream: 0, upgrade: 0 });
    });
  });

  async function outcomeOf({ frames, later, becomes, acknowledges = true }: FrameRow) {
    const session = await rawSession(gateway, { acknowledges });
    // The settings of both sides are known before the first request.
    await session.until(() => session.frames().length > 1, 100);
    session.write(...frames);
    if (later !== undefined) {
      const hasPart = () =>
        gateway.recorder.connections.some((connection) => /hello$/.test(connection.text()));
      await session.until(hasPart);
      session.write(...later);
    }
    const outcome = (): FrameRow["becomes"] => {
      const { status, resetCode } = session.stream(1);
      if (session.isClosed() || session.goawayCode() !== undefined) return "goaway";
      return status ?? (resetCode === undefined ? "nothing" : "reset");
    };
    await session.until(() => outcome() !== "nothing", becomes === "nothing" ? 100 : 5_000);
    await session.until(() => session.stream(1).isWhole, typeof becomes === "number" ? 500 : 0);
    const found = outcome();
    session.destroy();
    await session.until(() => session.isClosed());
    return found;
  }
});
