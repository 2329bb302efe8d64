import { expect, test } from "vitest";
import { formerCa, formerCaText, parseFormerCa } from "../../../src/domain/webhook/ca-change.ts";

const [a, b, c] = ["a".repeat(64), "b".repeat(64), "c".repeat(64)];

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
