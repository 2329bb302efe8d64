import { expect, test } from "vitest";
import {
  caAfterChange,
  caAfterComparison,
  caAfterConfirmation,
  type CaKnowledge,
  formerCa,
  formerCaInUse,
  formerCaText,
  isSignedBySame,
  noCaKnowledge,
  parseFormerCa,
} from "../../../src/domain/webhook/ca-change.ts";

const [a, b, c] = ["a".repeat(64), "b".repeat(64), "c".repeat(64)];

const inUse = (parts: Partial<CaKnowledge>): CaKnowledge => ({
  ...noCaKnowledge,
  current: [a],
  ...parts,
});

test.each<[string, Parameters<typeof formerCa>[0], readonly string[]]>([
  [
    "nothing was seen before",
    { current: [a], recorded: [], observed: [], confirmed: undefined },
    [],
  ],
  [
    "the same was seen before",
    { current: [a], recorded: [], observed: [a], confirmed: undefined },
    [],
  ],
  [
    "another was seen before",
    { current: [b], recorded: [], observed: [a], confirmed: undefined },
    [a],
  ],
  [
    "another is on record",
    { current: [b], recorded: [a], observed: [b], confirmed: undefined },
    [a],
  ],
  [
    "the record is older than what was seen",
    { current: [c], recorded: [a], observed: [b], confirmed: undefined },
    [a],
  ],
  [
    "a renewal keeps the former one",
    { current: [b, a], recorded: [], observed: [a], confirmed: undefined },
    [],
  ],
  [
    "the one on record is back",
    { current: [a], recorded: [a], observed: [b], confirmed: undefined },
    [],
  ],
  [
    "kube-apiserver has shown that it knows the new one",
    { current: [b], recorded: [a], observed: [a], confirmed: b },
    [],
  ],
  [
    "it has shown that it knows the former one of a bundle",
    { current: [c, b], recorded: [a], observed: [], confirmed: b },
    [a],
  ],
])("the former CA where %s", (_rule, history, former) => {
  expect(formerCa(history)).toEqual(former);
});

test("an annotation names fingerprints, and what is none is left out", () => {
  expect(parseFormerCa(formerCaText([a, b]))).toEqual([a, b]);
  for (const text of [undefined, "", "garbage", `${a}0`, a.toUpperCase()])
    expect(parseFormerCa(text)).toEqual([]);
});

test.each<{
  readonly rule: string;
  readonly known: CaKnowledge;
  readonly found: readonly string[];
  readonly recorded?: { readonly before?: readonly string[]; readonly after?: readonly string[] };
  readonly expected: Pick<CaKnowledge, "observed" | "confirmed">;
}>([
  {
    rule: "the first certificates come without a record",
    known: noCaKnowledge,
    found: [a],
    expected: { observed: [], confirmed: undefined },
  },
  {
    rule: "the first certificates come with a record",
    known: noCaKnowledge,
    found: [b],
    recorded: { after: [a] },
    expected: { observed: [a], confirmed: undefined },
  },
  {
    rule: "another CA signs",
    known: inUse({}),
    found: [b],
    expected: { observed: [a], confirmed: undefined },
  },
  {
    rule: "another CA signs, and the Secret names a former one",
    known: inUse({}),
    found: [b],
    recorded: { after: [c] },
    expected: { observed: [a], confirmed: undefined },
  },
  {
    rule: "the CA changes twice before kube-apiserver trusts one of them",
    known: inUse({ current: [b], observed: [a] }),
    found: [c],
    expected: { observed: [a], confirmed: undefined },
  },
  {
    rule: "the CA changes after kube-apiserver has trusted the one before",
    known: inUse({ current: [b], observed: [a], confirmed: b }),
    found: [c],
    expected: { observed: [b], confirmed: undefined },
  },
  {
    rule: "the same CA signs, and kube-apiserver trusts it",
    known: inUse({ observed: [b], confirmed: a }),
    found: [a],
    expected: { observed: [b], confirmed: a },
  },
  {
    rule: "another replica puts a former CA on record",
    known: inUse({}),
    found: [a],
    recorded: { after: [b] },
    expected: { observed: [b], confirmed: undefined },
  },
  {
    rule: "the record is removed",
    known: inUse({ observed: [b] }),
    found: [a],
    recorded: { before: [b] },
    expected: { observed: [], confirmed: undefined },
  },
])("what is known of the CA where $rule", ({ known, found, recorded, expected }) => {
  const { before = [], after = [] } = recorded ?? {};
  expect(caAfterChange(known, { current: found, recorded: { before, after } })).toEqual({
    ...known,
    ...expected,
    current: found,
  });
});

test.each<[string, CaKnowledge, readonly string[]]>([
  ["what was published where nothing was seen", inUse({}), [b]],
  ["what was seen", inUse({ observed: [c] }), [c]],
  ["nothing else once it was compared", inUse({ isCompared: true }), []],
])("the CA before this process is %s", (_rule, known, observed) => {
  expect(caAfterComparison(known, [b])).toEqual({ ...known, observed, isCompared: true });
});

test("a client certificate of the CA that signs ends the change", () => {
  const changed = inUse({ current: [b, c], observed: [a] });
  expect(formerCaInUse(changed, [])).toEqual([a]);
  expect(formerCaInUse(caAfterConfirmation(changed), [a])).toEqual([]);
  expect(formerCaInUse(noCaKnowledge, [a])).toEqual([]);
});

test("two bundles are signed by the same CA when their first certificates are the same", () => {
  expect(
    [noCaKnowledge, inUse({}), inUse({ current: [b, a] })].map((known) =>
      isSignedBySame(known, [a, c]),
    ),
  ).toEqual([false, true, false]);
});
