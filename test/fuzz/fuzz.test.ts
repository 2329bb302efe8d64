import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { targets } from "./targets.ts";

/** SEED= sets the seed, FUZZ_RUNS= the number of runs; `make fuzz` runs for a configured time. */
const seed = Number(process.env.SEED ?? 12);
const numRuns = Number(process.env.FUZZ_RUNS ?? 500);

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
