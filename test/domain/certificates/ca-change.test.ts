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
} from "../../../src/domain/certificates/ca-change.ts";

const [a, b, c] = ["a".repeat(64), "b".repeat(64), "c".repeat(64)];

const inUse = (parts: Partial<CaKnowledge>): CaKnowledge => ({
  ...noCaKnowledge,
  current: [a],
  ...parts,
});

test.each<[string, Parameters<typeof formerCa>[0], readonly string[]]>([
  [
    "no CA was observed before",
    { current: [a], recorded: [], observed: [], confirmed: undefined },
    [],
  ],
  [
    "the same CA was observed before",
    { current: [a], recorded: [], observed: [a], confirmed: undefined },
    [],
  ],
  [
    "another CA was observed before",
    { current: [b], recorded: [], observed: [a], confirmed: undefined },
    [a],
  ],
  [
    "another CA is recorded",
    { current: [b], recorded: [a], observed: [b], confirmed: undefined },
    [a],
  ],
  [
    "the recorded CA is older than the observed one",
    { current: [c], recorded: [a], observed: [b], confirmed: undefined },
    [a],
  ],
  [
    "a renewal keeps the former CA in the bundle",
    { current: [b, a], recorded: [], observed: [a], confirmed: undefined },
    [],
  ],
  [
    "the recorded CA is current again",
    { current: [a], recorded: [a], observed: [b], confirmed: undefined },
    [],
  ],
  [
    "kube-apiserver has presented a certificate of the new CA",
    { current: [b], recorded: [a], observed: [a], confirmed: b },
    [],
  ],
  [
    "kube-apiserver has presented a certificate of the former CA of a bundle",
    { current: [c, b], recorded: [a], observed: [], confirmed: b },
    [a],
  ],
])("the former CA if %s", (_rule, history, former) => {
  expect(formerCa(history)).toEqual(former);
});

test("parses the fingerprints of an annotation and ignores invalid entries", () => {
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
    rule: "the first certificates have no record",
    known: noCaKnowledge,
    found: [a],
    expected: { observed: [], confirmed: undefined },
  },
  {
    rule: "the first certificates have a record",
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
    rule: "another CA signs, and the Secret records a former one",
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
    rule: "the CA changes after kube-apiserver has trusted the previous one",
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
    rule: "another replica records a former CA",
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
])("what is known of the CA if $rule", ({ known, found, recorded, expected }) => {
  const { before = [], after = [] } = recorded ?? {};
  expect(caAfterChange(known, { current: found, recorded: { before, after } })).toEqual({
    ...known,
    ...expected,
    current: found,
  });
});

test.each<[string, CaKnowledge, readonly string[]]>([
  ["the published CA if none was observed", inUse({}), [b]],
  ["the observed CA", inUse({ observed: [c] }), [c]],
  ["nothing else after the first comparison", inUse({ isCompared: true }), []],
])("the CA before this process is %s", (_rule, known, observed) => {
  expect(caAfterComparison(known, [b])).toEqual({ ...known, observed, isCompared: true });
});

test("a client certificate of the signing CA confirms the change", () => {
  const changed = inUse({ current: [b, c], observed: [a] });
  expect(formerCaInUse(changed, [])).toEqual([a]);
  expect(formerCaInUse(caAfterConfirmation(changed), [a])).toEqual([]);
  expect(formerCaInUse(noCaKnowledge, [a])).toEqual([]);
});

test("two bundles with the same first certificate are signed by the same CA", () => {
  expect(
    [noCaKnowledge, inUse({}), inUse({ current: [b, a] })].map((known) =>
      isSignedBySame(known, [a, c]),
    ),
  ).toEqual([false, true, false]);
});
