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

describe("of the objects of one index", () => {
  test.each<[string, readonly KeyCandidate[], readonly string[]]>([
    ["the older comes first", [claim("a", { second: 2 }), claim("b", { second: 1 })], ["b", "a"]],
    ["of two as old the one with the lower uid does", [claim("b"), claim("a")], ["a", "b"]],
    [
      "a bound digest comes before one that is not, whatever its age",
      [claim("a"), claim("b", { second: 2, keyDigest: bound })],
      ["b", "a"],
    ],
    [
      "the older of two bound ones comes first",
      [claim("a", { second: 2, keyDigest: bound }), claim("b", { keyDigest: bound })],
      ["b", "a"],
    ],
    [
      "four of a requester count, the oldest",
      [5, 4, 3, 2, 1].map((second) => claim(`${second}`, { second, requester: "eve" })),
      ["1", "2", "3", "4"],
    ],
    [
      "the fifth of a requester does not count, bound or not",
      [1, 2, 3, 4, 5].map((second) =>
        claim(`${second}`, { second, requester: "eve", keyDigest: second === 5 ? bound : plain }),
      ),
      ["1", "2", "3", "4"],
    ],
    ["there may be none", [], []],
  ])("%s", (_rule, claims, order) => {
    expect(uids(rankedCandidates(claims))).toEqual(order);
  });
});

describe("two objects have one key", () => {
  test.each<[string, KeyCandidate, KeyCandidate, boolean]>([
    ["with one digest", claim("a"), claim("b", { user: "bob" }), true],
    [
      "not with two digests",
      claim("a"),
      claim("b", { keyDigest: plain.replace(/0$/, "1") }),
      false,
    ],
    [
      "with one bound digest for one user",
      claim("a", { keyDigest: bound }),
      claim("b", { keyDigest: bound }),
      true,
    ],
    [
      "not with a bound digest that was copied for another user",
      claim("a", { keyDigest: bound }),
      claim("b", { keyDigest: bound, user: "eve" }),
      false,
    ],
    [
      "not that anybody knew, when one digest is bound",
      claim("a"),
      claim("b", { keyDigest: bound }),
      false,
    ],
  ])("%s", (_rule, one, other, same) => {
    expect([isSameKey(one, other), isSameKey(other, one)]).toEqual([same, same]);
  });
});

describe("an object", () => {
  const older = claim("a", { requester: "eve" });

  test.each<[string, KeyCandidate, readonly KeyCandidate[], ReturnType<typeof duplicateOf>]>([
    ["alone holds its key", older, [older], undefined],
    ["holds its key against a younger one", older, [claim("b", { second: 1 })], undefined],
    [
      "holds its key against an older copy for another user",
      claim("b", { second: 1, keyDigest: bound }),
      [claim("a", { keyDigest: bound, user: "eve" })],
      undefined,
    ],
    [
      "learns the name of an older one of its requester",
      claim("b", { second: 1, requester: "eve" }),
      [older],
      { kind: "duplicate", by: "n-a" },
    ],
    [
      "learns no name of another requester's",
      claim("b", { second: 1 }),
      [older],
      { kind: "duplicate" },
    ],
    [
      "is the fifth of its requester",
      claim("e", { second: 1, requester: "eve" }),
      ["a", "b", "c", "d"].map((uid) => claim(uid, { requester: "eve", keyDigest: bound })),
      { kind: "over-limit" },
    ],
    [
      "is not kept out by the fifth of another",
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

describe("a write that puts a key into an object", () => {
  const own = claim("own", { second: 5 });
  const isSame = (other: KeyCandidate): boolean => isSameKey(own, other);
  const [older, younger] = [claim("a"), claim("z", { second: 6 })];

  test.each<[string, readonly KeyCandidate[], ReturnType<typeof candidateOutcome>]>([
    ["takes nothing from anybody", [claim("b", { keyDigest: bound })], { kind: "free" }],
    [
      "finds the older object that holds the key",
      [younger, older],
      { kind: "duplicate", by: older },
    ],
    ["would take the key from a younger object", [younger], { kind: "newer-duplicate" }],
    [
      "is one too many",
      ["a", "b", "c", "d"].map((uid) => claim(uid, { requester: "requester of own" })),
      { kind: "over-limit" },
    ],
    ["does not count itself", [own], { kind: "free" }],
  ])("%s", (_rule, sameIndex, outcome) => {
    expect(candidateOutcome(own, sameIndex, isSame)).toEqual(outcome);
  });

  test("takes nothing from a younger digest that is not bound: that one is known to come after it", () => {
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

test("every key of an index has exactly one holder, whoever asks, and no requester has more than four contenders", () => {
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
