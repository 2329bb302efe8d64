import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  mostSigningKeys,
  planKeyRotation,
  publishedBeforeMs,
  type RotatedKey,
} from "../../../src/domain/endpoint-token/key-rotation.ts";

const hour = 3_600_000;
const day = 24 * hour;
const config = { signingKeyRotation: 30 * day, maximumTokenTtl: 86_400 };
/** A day and the difference of clocks. */
const kept = day + 300_000;
const start = Date.parse("2026-01-01T00:00:00Z");

const key = (kid: string, state: RotatedKey["state"], since = start): RotatedKey => ({
  kid,
  state,
  since,
});
const plan = (keys: readonly RotatedKey[], after: number, isRequested = false) => {
  const rotation = planKeyRotation(keys, { config, now: start + after, isRequested });
  return {
    ...rotation,
    keys: rotation.keys.map(({ kid, state, since }) => `${kid} ${state} ${since - start}`),
    nextAt: rotation.nextAt - start,
  };
};

describe("signing keys", () => {
  it("stay while their time has not come", () => {
    expect(plan([key("a", "signing")], 30 * day - 1)).toEqual({
      keys: ["a signing 0"],
      publishes: false,
      isChange: false,
      nextAt: 30 * day,
    });
  });

  it.each([
    ["by schedule", 30 * day, false],
    ["on request", hour, true],
  ])("get a successor that is published before it signs, %s", (_what, after, isRequested) => {
    expect(plan([key("a", "signing")], after, isRequested)).toEqual({
      keys: ["a signing 0"],
      publishes: true,
      isChange: true,
      nextAt: after + publishedBeforeMs,
    });
  });

  it("are replaced by their successor once verifiers know it", () => {
    const keys = [key("a", "signing"), key("b", "next")];
    expect(plan(keys, publishedBeforeMs - 1)).toMatchObject({
      isChange: false,
      nextAt: publishedBeforeMs,
    });
    expect(plan(keys, publishedBeforeMs)).toEqual({
      keys: [`a retired ${publishedBeforeMs}`, `b signing ${publishedBeforeMs}`],
      publishes: false,
      isChange: true,
      nextAt: publishedBeforeMs + kept,
    });
  });

  it("are published until the last token that they signed has expired", () => {
    const keys = [key("a", "retired"), key("b", "signing")];
    expect(plan(keys, kept - 1)).toMatchObject({ isChange: false, nextAt: kept });
    expect(plan(keys, kept)).toEqual({
      keys: ["b signing 0"],
      publishes: false,
      isChange: true,
      nextAt: 30 * day,
    });
  });

  it("that are requested wait for the one that is published already", () => {
    const keys = [key("a", "signing"), key("b", "next")];
    expect(plan(keys, 1_000, true)).toMatchObject({ isChange: false, nextAt: publishedBeforeMs });
    expect(plan(keys, publishedBeforeMs, true)).toMatchObject({
      keys: [`a retired ${publishedBeforeMs}`, `b signing ${publishedBeforeMs}`],
      publishes: true,
      nextAt: 2 * publishedBeforeMs,
    });
  });

  it("that are requested wait while there are ten, until the oldest has ended", () => {
    const retired = Array.from({ length: mostSigningKeys - 1 }, (_, at) =>
      key(`r${at}`, "retired", start + at),
    );
    const keys = [...retired, key("a", "signing")];
    expect(plan(keys, hour, true)).toMatchObject({
      publishes: false,
      isChange: false,
      nextAt: kept,
    });
    expect(plan(keys, kept, true)).toMatchObject({ publishes: true, isChange: true });
  });

  it("rotate on request alone if the schedule is off", () => {
    const off = { ...config, signingKeyRotation: 0 };
    const at = (isRequested: boolean) =>
      planKeyRotation([key("a", "signing")], {
        config: off,
        now: start + 1_000 * day,
        isRequested,
      });
    expect(at(false)).toMatchObject({ isChange: false, nextAt: Infinity });
    expect(at(true)).toMatchObject({ isChange: true, publishes: true });
  });

  it("never sign before verifiers know them, and are known for as long as their tokens live", () => {
    const step = fc.record({
      ms: fc.oneof(fc.integer({ min: 0, max: 120_000 }), fc.integer({ min: 0, max: 40 * day })),
      isRequested: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let [now, made] = [start, 1];
        let keys: readonly RotatedKey[] = [key("0", "signing", now)];
        const published = new Map([["0", -Infinity]]);
        const lastSigned = new Map([["0", now]]);
        for (const { ms, isRequested } of steps) {
          now += ms;
          const rotation = planKeyRotation(keys, { config, now, isRequested });
          keys = rotation.publishes
            ? [...rotation.keys, key(String(made), "next", now)]
            : rotation.keys;
          if (rotation.publishes) published.set(String(made++), now);
          const signing = keys.filter(({ state }) => state === "signing");
          expect(signing).toHaveLength(1);
          expect(keys.filter(({ state }) => state === "next").length).toBeLessThanOrEqual(1);
          expect(keys.length).toBeLessThanOrEqual(mostSigningKeys);
          const [{ kid } = { kid: "" }] = signing;
          expect(now - (published.get(kid) ?? now)).toBeGreaterThanOrEqual(publishedBeforeMs);
          lastSigned.set(kid, now);
          const needed = [...lastSigned].flatMap(([signer, at]) =>
            at + day > now ? [signer] : [],
          );
          expect(keys.map((each) => each.kid)).toEqual(expect.arrayContaining(needed));
          expect(rotation.nextAt).toBeGreaterThan(now);
        }
      }),
    );
  });
});
