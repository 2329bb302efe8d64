import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { targets } from "./targets.ts";
import { runs } from "../support/property-runs.ts";

/** SEED= sets the seed; `make fuzz` runs for a configured time. */
const seed = Number(process.env.SEED || 12);
const { numRuns } = runs(500);

/** A run that does not end is stopped after this time, many times what a slow machine needs. */
const limitMs = 600_000;

describe(`untrusted input (SEED=${seed})`, () => {
  test.each(targets)(
    "$name",
    async ({ property }) => {
      await fc.assert(property(), { seed, numRuns });
    },
    limitMs,
  );
});

test("an input that breaks a target is found", async () => {
  const broken = fc.property(fc.string(), (text) => expect(text.length).toBeLessThan(5));
  await expect(async () => fc.assert(broken, { seed, numRuns })).rejects.toThrow("Property failed");
});
