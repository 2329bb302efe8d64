import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { annotations } from "../../../src/api/names.ts";
import {
  candidateOutcome,
  rankedCandidates,
  duplicateOf,
  isSameKey,
  type KeyCandidate,
  mostOfOneIndex,
} from "../../../src/domain/access-key/duplicate-key.ts";

const plain = "0123456789abcdef".padEnd(64, "0");
const bound = `0123456789abcdef.${"f".repeat(64)}`;

interface Given {
  readonly second?: number;
  readonly keyDigest?: string;
  readonly user?: string;
  readonly requester?: string;
}

function claim(
  uid: string,
  { second = 0, keyDigest = plain, user = "alice", requester = `requester of ${uid}` }: Given = {},
): KeyCandidate {
  return {
    metadata: {
      name: `n-${uid}`,
      uid,
      creationTimestamp: `2026-01-01T00:00:0${second}Z`,
      annotations: { [annotations.requester]: requester },
    },
    spec: { user, disabled: false, ttlAfterLastActivity: false, groups: [], scope: "none" },
    keyDigest,
  };
}

const uids = (claims: readonly KeyCandidate[]): readonly string[] =>
  claims.map(({ metadata }) => metadata.uid);

describe("rankedCandidates", () => {
  test.each<[string, readonly KeyCandidate[], readonly string[]]>([
    [
      "puts the older object first",
      [claim("a", { second: 2 }), claim("b", { second: 1 })],
      ["b", "a"],
    ],
    ["puts the lower uid first if the ages are equal", [claim("b"), claim("a")], ["a", "b"]],
    [
      "puts a bound digest before a plain key, regardless of age",
      [claim("a"), claim("b", { second: 2, keyDigest: bound })],
      ["b", "a"],
    ],
    [
      "puts the older of two bound digests first",
      [claim("a", { second: 2, keyDigest: bound }), claim("b", { keyDigest: bound })],
      ["b", "a"],
    ],
    [
      "keeps the four oldest objects of a requester",
      [5, 4, 3, 2, 1].map((second) => claim(`${second}`, { second, requester: "eve" })),
      ["1", "2", "3", "4"],
    ],
    [
      "drops the fifth object of a requester, bound or not",
      [1, 2, 3, 4, 5].map((second) =>
        claim(`${second}`, { second, requester: "eve", keyDigest: second === 5 ? bound : plain }),
      ),
      ["1", "2", "3", "4"],
    ],
    ["is empty without objects", [], []],
  ])("%s", (_rule, claims, order) => {
    expect(uids(rankedCandidates(claims))).toEqual(order);
  });
});

describe("isSameKey", () => {
  test.each<[string, KeyCandidate, KeyCandidate, boolean]>([
    ["is true for equal digests", claim("a"), claim("b", { user: "bob" }), true],
    [
      "is false for different digests",
      claim("a"),
      claim("b", { keyDigest: plain.replace(/0$/, "1") }),
      false,
    ],
    [
      "is true for a bound digest of the same user",
      claim("a", { keyDigest: bound }),
      claim("b", { keyDigest: bound }),
      true,
    ],
    [
      "is false for a bound digest that was copied to another user",
      claim("a", { keyDigest: bound }),
      claim("b", { keyDigest: bound, user: "eve" }),
      false,
    ],
    [
      "is false for a bound digest and a plain key",
      claim("a"),
      claim("b", { keyDigest: bound }),
      false,
    ],
  ])("%s", (_rule, one, other, same) => {
    expect([isSameKey(one, other), isSameKey(other, one)]).toEqual([same, same]);
  });
});

describe("duplicateOf", () => {
  const older = claim("a", { requester: "eve" });

  test.each<[string, KeyCandidate, readonly KeyCandidate[], ReturnType<typeof duplicateOf>]>([
    ["is undefined for the only object of an index", older, [older], undefined],
    ["is undefined for the older object", older, [claim("b", { second: 1 })], undefined],
    [
      "is undefined for a bound digest with an older copy for another user",
      claim("b", { second: 1, keyDigest: bound }),
      [claim("a", { keyDigest: bound, user: "eve" })],
      undefined,
    ],
    [
      "names the older object of the same requester",
      claim("b", { second: 1, requester: "eve" }),
      [older],
      { kind: "duplicate", by: "n-a" },
    ],
    [
      "does not name the older object of another requester",
      claim("b", { second: 1 }),
      [older],
      { kind: "duplicate" },
    ],
    [
      "reports the fifth object of a requester",
      claim("e", { second: 1, requester: "eve" }),
      ["a", "b", "c", "d"].map((uid) => claim(uid, { requester: "eve", keyDigest: bound })),
      { kind: "over-limit" },
    ],
    [
      "ignores the fifth object of another requester",
      claim("f", { second: 2 }),
      [
        ...["a", "b", "c", "d"].map((uid) => claim(uid, { requester: "eve", keyDigest: bound })),
        claim("e", { second: 1, requester: "eve" }),
      ],
      undefined,
    ],
  ])("%s", (_rule, own, others, duplicate) => {
    expect(duplicateOf(own, others)).toEqual(duplicate);
  });
});

describe("candidateOutcome", () => {
  const own = claim("own", { second: 5 });
  const isSame = (other: KeyCandidate): boolean => isSameKey(own, other);
  const [older, younger] = [claim("a"), claim("z", { second: 6 })];

  test.each<[string, readonly KeyCandidate[], ReturnType<typeof candidateOutcome>]>([
    [
      "is free if no other object has the key",
      [claim("b", { keyDigest: bound })],
      { kind: "free" },
    ],
    [
      "returns the older object that owns the key",
      [younger, older],
      { kind: "duplicate", by: older },
    ],
    ["reports a newer object that would lose the key", [younger], { kind: "newer-duplicate" }],
    [
      "reports a requester over the limit",
      ["a", "b", "c", "d"].map((uid) => claim(uid, { requester: "requester of own" })),
      { kind: "over-limit" },
    ],
    ["ignores the object itself", [own], { kind: "free" }],
  ])("%s", (_rule, sameIndex, outcome) => {
    expect(candidateOutcome(own, sameIndex, isSame)).toEqual(outcome);
  });

  test("is free if the newer object has the plain key, which has lower precedence", () => {
    const plainKeyOfBoth = (): boolean => true;
    expect(candidateOutcome(claim("own", { keyDigest: bound }), [younger], plainKeyOfBoth)).toEqual(
      {
        kind: "free",
      },
    );
  });
});

const claims = fc.uniqueArray(
  fc.record({
    second: fc.integer({ min: 0, max: 3 }),
    keyDigest: fc.constantFrom(plain, bound, plain.replace(/0$/, "1")),
    user: fc.constantFrom("alice", "eve"),
    requester: fc.constantFrom("alice", "eve", "bob"),
    uid: fc.string({ minLength: 1 }),
  }),
  { selector: ({ uid }) => uid, minLength: 1, maxLength: 12 },
);

test("assigns every key of an index exactly one owner and counts at most four objects of each requester", () => {
  fc.assert(
    fc.property(claims, (given) => {
      const all = given.map(({ uid, ...rest }) => claim(uid, rest));
      const holders = all.filter((own) => duplicateOf(own, all) === undefined);
      const counted = rankedCandidates(all);
      for (const own of counted)
        expect(holders.filter((holder) => isSameKey(own, holder))).toHaveLength(1);
      for (const holder of holders) expect(counted).toContain(holder);
      for (const requester of ["alice", "eve", "bob"]) {
        expect(
          counted.filter(
            ({ metadata }) => metadata.annotations[annotations.requester] === requester,
          ).length,
        ).toBeLessThanOrEqual(mostOfOneIndex);
      }
      expect(
        all.every(
          (own) =>
            JSON.stringify(
              duplicateOf(
                own,
                all.filter((other) => other !== own),
              ),
            ) === JSON.stringify(duplicateOf(own, all)),
        ),
      ).toBe(true);
    }),
  );
});
