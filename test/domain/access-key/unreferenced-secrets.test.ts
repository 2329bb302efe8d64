import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  unreferencedProblem,
  unreferencedLimits,
  unreferencedSecrets,
  type WrittenSecret,
} from "../../../src/domain/access-key/unreferenced-secrets.ts";

const now = 10 ** 12;
const written = (count: number, user: string, age = 0): readonly WrittenSecret[] =>
  Array.from({ length: count }, (_, index) => ({
    name: `${user}-${index}-${age}`,
    user,
    writtenAt: now - age,
  }));

describe("a Secret counts", () => {
  test.each<[string, number, boolean, number]>([
    ["from its write", 0, false, 1],
    ["for three minutes", 179_999, false, 1],
    ["not after three minutes", 180_000, false, 0],
    ["not once a key references it", 0, true, 0],
  ])("%s", (_rule, age, isClaimed, expected) => {
    expect(unreferencedSecrets(written(1, "alice", age), () => isClaimed, now)).toHaveLength(
      expected,
    );
  });
});

describe("another Secret is", () => {
  test.each<[string, readonly WrittenSecret[], string | undefined]>([
    ["allowed without others", [], undefined],
    ["allowed below the limit of the user", written(15, "alice"), undefined],
    ["rejected at the limit of the user", written(16, "alice"), "16 requests of this user"],
    ["allowed at the limit of another user", written(16, "bob"), undefined],
    [
      "rejected at the total limit",
      [...written(16, "bob"), ...written(16, "carol")],
      "32 requests with connector data",
    ],
  ])("%s", (_rule, unclaimed, because) => {
    expect(
      (unreferencedProblem(unclaimed, "alice") ?? "in order").includes(because ?? "in order"),
    ).toBe(true);
  });

  test("never allowed beyond the limits in any order of requests", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("alice", "bob", "carol", "dave"), { maxLength: 100 }),
        (users) => {
          const standing: WrittenSecret[] = [];
          for (const [index, user] of users.entries())
            if (unreferencedProblem(standing, user) === undefined)
              standing.push({ name: String(index), user, writtenAt: now });
          expect(standing.length).toBeLessThanOrEqual(unreferencedLimits.all);
          for (const user of users)
            expect(standing.filter((secret) => secret.user === user).length).toBeLessThanOrEqual(
              unreferencedLimits.perUser,
            );
        },
      ),
    );
  });
});

test("three replicas together stay below 100", () => {
  expect(3 * unreferencedLimits.all).toBeLessThan(100);
});
