import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ObservedAccessKey } from "../../../src/api/owned-access-key.ts";
import { activityInterval, dueActivity } from "../../../src/domain/access-key/last-activity.ts";

type Used = Pick<ObservedAccessKey, "spec" | "lastActivity">;

const base = { disabled: false, groups: [], scope: "none" } as const;
const idle = (ttl: number, lastActivity?: string): Used => ({
  spec: { ...base, ttl, ttlAfterLastActivity: true },
  ...(lastActivity === undefined ? {} : { lastActivity }),
});
const lasting = (lastActivity?: string): Used => ({
  spec: { ...base, ttl: 60, ttlAfterLastActivity: false },
  ...(lastActivity === undefined ? {} : { lastActivity }),
});
const at = Date.parse("2026-01-01T00:00:00Z");

describe("the interval between writes is", () => {
  test.each<[string, Used, number]>([
    ["at least a second", idle(5), 1_000],
    ["a twentieth of the idle ttl", idle(3600), 180_000],
    ["at most ten minutes", idle(86_400), 600_000],
    ["ten minutes if the ttl does not depend on it", lasting(), 600_000],
    ["ten minutes if the key does not expire", idle(0), 600_000],
  ])("%s", (_rule, key, ms) => {
    expect(activityInterval(key)).toBe(ms);
  });
});

describe("a use is", () => {
  test.each<[string, Used, number, string | undefined]>([
    ["written if none is recorded", lasting(), at + 1, "2026-01-01T00:00:00Z"],
    [
      "written if the recorded one is older than the interval",
      lasting("2026-01-01T00:00:00Z"),
      at + 600_000,
      "2026-01-01T00:10:00Z",
    ],
    [
      "not written if the recorded one is newer than the interval",
      lasting("2026-01-01T00:00:00Z"),
      at + 599_999,
      undefined,
    ],
    [
      "not written if it is earlier than the recorded one",
      lasting("2026-01-01T00:00:00Z"),
      at - 3_600_000,
      undefined,
    ],
    ["written if the recorded one is invalid", lasting("yesterday"), at, "2026-01-01T00:00:00Z"],
  ])("%s", (_rule, key, usedAt, expected) => {
    expect(dueActivity(key, usedAt)).toBe(expected);
  });

  test("written often enough that a key in use does not expire, and never decreases", () => {
    const uses = fc.array(fc.integer({ min: 1, max: 5_000 }), { maxLength: 100 });
    fc.assert(
      fc.property(fc.integer({ min: 10, max: 100_000 }), uses, (ttl, gaps) => {
        let [now, standing] = [at, at];
        for (const gap of gaps) {
          now += gap;
          expect(now).toBeLessThan(standing + ttl * 1000);
          const due = dueActivity(idle(ttl, new Date(standing).toISOString()), now);
          if (due === undefined) continue;
          expect(Date.parse(due)).toBeGreaterThanOrEqual(standing);
          standing = Date.parse(due);
        }
      }),
    );
  });
});
