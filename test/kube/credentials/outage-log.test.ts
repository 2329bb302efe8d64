import { describe, expect, test } from "vitest";
import { OutageLog } from "../../../src/kube/credentials/outage-log.ts";
import type { ServerAnswer } from "../../../src/kube/credentials/server-answers.ts";
import { recordingLog } from "../../support/recording-log.ts";
import { TestClock } from "../../support/test-clock.ts";

const accepted: ServerAnswer = { kind: "accepted" };
const silent: ServerAnswer = { kind: "silent", cause: "ECONNREFUSED" };
const refused: ServerAnswer = { kind: "refused", cause: "401" };

/** Notes answers, of which a number is a pause in seconds; each failure is also logged. */
function play(...events: readonly (ServerAnswer | number)[]) {
  const [clock, log] = [new TestClock(), recordingLog()];
  const outages = new OutageLog(clock, log);
  const quiet = outages.quiet(log);
  for (const event of events)
    if (typeof event === "number") clock.advance(event * 1000);
    else {
      outages.note(event, "https://a");
      if (event.kind !== "accepted") quiet.warn({ code: "Network" }, "request failed");
    }
  return { quiet, lines: () => log.lines.map(({ level, message }) => `${level} ${message}`) };
}

const away = "warn the API server serves no request";
const back = "info the API server serves requests again";
const failed = "warn request failed";
const detail = "debug request failed";

describe("an API server that is away is said once", () => {
  test.for<[string, readonly (ServerAnswer | number)[], readonly string[]]>([
    [
      "at its second failure, with the rest as details",
      [silent, silent, 1, silent, 9, silent, accepted, accepted],
      [failed, away, detail, detail, detail, back],
    ],
    [
      "also if it refuses",
      [refused, refused, silent, accepted],
      [failed, away, detail, detail, back],
    ],
    ["and not for one failure alone", [silent, accepted, silent, accepted], [failed, failed]],
    [
      "and not again within ten seconds of its end",
      [silent, silent, accepted, 9, silent, silent, silent, accepted],
      [failed, away, detail, back, detail, detail, detail],
    ],
    [
      "but after ten seconds, if it goes on",
      [silent, silent, accepted, 9, silent, silent, 2, silent, accepted],
      [failed, away, detail, back, detail, detail, away, detail, back],
    ],
  ])("%s", ([, events, lines]) => {
    expect(play(...events).lines()).toEqual(lines);
  });

  test.for<[string, string | undefined, "debug" | "warn"]>([
    ["that server, which it names", "https://a", "debug"],
    ["the server of the process", undefined, "debug"],
    ["another server", "https://b", "warn"],
  ])("and a failure of a request to %s is a line of its level", ([, server, level]) => {
    for (const after of [[], [accepted]] as const) {
      const { quiet, lines } = play(silent, silent, ...after);
      quiet.warn({ code: "Network", ...(server !== undefined && { server }) }, "watch interrupted");
      expect(lines().at(-1)).toBe(`${level} watch interrupted`);
    }
  });

  test("and hides no warning about anything else", () => {
    const { quiet, lines } = play(silent, silent);
    quiet.warn({ why: "a certificate ends" }, "other");
    quiet.error({ code: "Network" }, "lost");
    expect(lines().slice(-2)).toEqual(["warn other", "error lost"]);
  });
});
