import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  parseRevocationSeq,
  revocationSeqText,
  seqOrder,
} from "../../../src/domain/endpoint-token/revocation-seq.ts";

const most = 999_999_999_999_999;
const anySeq = fc.record({ epoch: fc.nat({ max: most }), n: fc.nat({ max: most }) });

describe("a seq", () => {
  test.each<[string, number, number]>([
    ["0.0", 0, 0],
    ["1.20", 1, 20],
    ["999999999999999.999999999999999", most, most],
  ])("%s is read and written", (text, epoch, n) => {
    expect(parseRevocationSeq(text)).toEqual({ epoch, n });
    expect(revocationSeqText({ epoch, n })).toBe(text);
  });

  test.each([
    ...["", ".", "1", "1.", ".1", "1.2.3", "01.1", "1.01", "-1.1", "1.-1", "+1.1", " 1.1", "1.1 "],
    ...["1.1\n", "1,1", "1e3.1", "0x1.1", "a.b", "1.1a", "NaN.1", "Infinity.1", "١.١"],
    ...["1000000000000000.1", "1.1000000000000000"],
  ])("is not %j", (text) => {
    expect(parseRevocationSeq(text)).toBeUndefined();
  });
});

describe("a list", () => {
  test.each<[string, string | undefined, string, string]>([
    ["is newer than none", undefined, "0.0", "newer"],
    ["is newer with a higher n", "1.9", "1.10", "newer"],
    ["is newer with a higher epoch and a lower n", "1.10", "2.0", "newer"],
    ["is the same with the same seq", "1.10", "1.10", "same"],
    ["is older with a lower n", "1.10", "1.9", "older"],
    ["is older with a lower epoch and a higher n", "2.0", "1.10", "older"],
  ])("%s: %s, then %s", (_rule, current, candidate, order) => {
    const seq = parseRevocationSeq(candidate) ?? { epoch: -1, n: -1 };
    expect(seqOrder(current === undefined ? undefined : parseRevocationSeq(current), seq)).toBe(
      order,
    );
  });

  test("is newer than another exactly if the other is older", () => {
    fc.assert(
      fc.property(anySeq, anySeq, (one, other) => {
        expect(seqOrder(one, other) === "newer").toBe(seqOrder(other, one) === "older");
        expect(seqOrder(one, one)).toBe("same");
      }),
    );
  });
});
